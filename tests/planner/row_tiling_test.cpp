// SPDX-License-Identifier: Apache-2.0
// Row tiling: chains of convolutions computed some rows at a time are equal to the same kernels over whole images, close to plain loops, in
// less memory.
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "base/format.h"
#include "graph/expr.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::random_tensor;

struct Window {
  int64_t kernel = 1, stride = 1, pad = 0, dilation = 1;
};

/// Convolutions of an image, one after the other.
class ConvChain {
 public:
  explicit ConvChain(const Shape& shape) : graph_(std::make_unique<Graph>()), builder_(*graph_) {
    ValueType type = ValueType::tensor(DType::f32);
    type.dims = std::vector<Dim>();
    for (int64_t size : shape) type.dims->push_back(Dim{size, ""});
    input = at = builder_.wrap(&graph_->add_input("x", type));
    channels_ = shape[1];
  }
  /// max(conv(x) + added, 0)
  ConvChain& conv(int64_t channels, const Window& w = {}, const Expr& added = {}, bool depthwise = false) {
    const Shape weights{channels, depthwise ? 1 : channels_, w.kernel, w.kernel};
    Exprs inputs{at, builder_.constant(random_tensor(weights, ++seed_)), builder_.constant(random_tensor({channels}, ++seed_))};
    if (added) inputs.push_back(added);
    at = builder_.op("minnow.FusedConv", inputs,
                     {{"pads", Ints{w.pad, w.pad, w.pad, w.pad}},
                      {"strides", Ints{w.stride, w.stride}},
                      {"dilations", Ints{w.dilation, w.dilation}},
                      {"group", depthwise ? channels_ : int64_t{1}},
                      {"activation", std::string("Relu")}});
    channels_ = channels;
    return *this;
  }
  ConvChain& depthwise(const Window& w) { return conv(channels_, w, {}, true); }
  Model model(const std::vector<Expr>& outputs) {
    for (const Expr& y : outputs) graph_->add_output(*y.value());
    return Model::from_graph(std::move(graph_));
  }
  Expr input, at;

 private:
  std::unique_ptr<Graph> graph_;
  GraphBuilder builder_;
  int64_t channels_ = 0;
  unsigned seed_ = 0;
};

/// The part of the arena that row tiling saves; the results are checked, on one and on two threads.
double saved_by_row_tiling(const Model& model, const Shape& shape) {
  const Tensor x = random_tensor(shape, 99);
  SessionOptions plain;
  plain.backends = {"reference"};
  Session reference(model, plain);
  const std::vector<Tensor> wanted = reference.run({x});
  double saved = 1;
  for (int threads : {1, 2}) {
    SCOPED_TRACE(threads);
    SessionOptions low;
    low.memory = "low";  // tiles small images too
    low.threads = threads;
    Session session(model, low), whole(model, low);
    whole.set_profiling(true);  // every node on its own
    const std::vector<Tensor> same = whole.run({x});
    for (int run = 0; run < 2; ++run) {
      const std::vector<Tensor> got = session.run({x});
      EXPECT_EQ(got.size(), wanted.size());
      for (size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(got[k].shape(), wanted[k].shape());
        EXPECT_EQ(0, std::memcmp(got[k].data<float>(), same[k].data<float>(), same[k].bytes()));
        float largest = 1, difference = 0;
        for (int64_t i = 0; i < wanted[k].elements(); ++i) {
          largest = std::max(largest, std::abs(wanted[k].data<float>()[i]));
          difference = std::max(difference, std::abs(got[k].data<float>()[i] - wanted[k].data<float>()[i]));
        }
        EXPECT_LE(difference, 2e-5f * largest);
      }
    }
    const double bytes = static_cast<double>(session.arena_bytes()), all = static_cast<double>(whole.arena_bytes());
    saved = std::min(saved, 1 - bytes / all);
  }
  return saved;
}

TEST(RowTiling, the_first_layers_of_a_network) {
  for (int64_t batch : {1, 3})
    for (int64_t height : {259, 262}) {
      SCOPED_TRACE(height);
      const Shape shape{batch, 3, height, 131};
      ConvChain n(shape);
      n.conv(32, {3, 2, 1}).depthwise({3, 1, 1}).conv(64).depthwise({3, 2, 1}).conv(96).depthwise({3, 1, 1}).conv(40);
      EXPECT_GT(saved_by_row_tiling(n.model({n.at}), shape), 0.3);
    }
}

TEST(RowTiling, borders_strides_and_dilations) {
  struct Case {
    Window window;
    int64_t height, width;
    bool tiled;
  };
  for (const Case& c : {Case{{3, 1, 0}, 67, 65, true}, Case{{3, 2, 0}, 70, 64, true}, Case{{5, 1, 2}, 61, 71, true},
                        Case{{5, 2, 4}, 97, 66, true}, Case{{3, 1, 4, 3}, 64, 66, true}, Case{{3, 2, 1, 2}, 99, 67, false},
                        Case{{3, 1, 1}, 9, 700, true}, Case{{3, 1, 70}, 64, 64, true}}) {
    SCOPED_TRACE(format("{}x{}", c.height, c.width));
    const Shape shape{1, 16, c.height, c.width};
    ConvChain n(shape);
    n.conv(24).depthwise(c.window).conv(48).depthwise({3, 1, 1}).conv(20);
    const double saved = saved_by_row_tiling(n.model({n.at}), shape);
    if (c.tiled)
      EXPECT_GT(saved, 0);
    else
      EXPECT_EQ(saved, 0);
  }
}

TEST(RowTiling, sums_with_other_images_and_values_that_others_read) {
  const Shape shape{2, 16, 66, 63};
  ConvChain n(shape);
  const Expr before = n.conv(32).at;  // is read twice, and is an output
  n.conv(64).depthwise({3, 1, 1}).conv(32, {}, before).conv(48).depthwise({3, 2, 1}).conv(16);
  EXPECT_GT(saved_by_row_tiling(n.model({n.at, before}), shape), 0.2);
}

TEST(RowTiling, sessions_share_a_model) {
  const Shape shape{1, 16, 70, 64};
  ConvChain n(shape);
  n.conv(32).depthwise({3, 1, 1}).conv(48).depthwise({5, 2, 2}).conv(16);
  const Model model = n.model({n.at});
  SessionOptions low;
  low.memory = "low";
  low.threads = 2;
  const Tensor x = random_tensor(shape, 1);
  const Tensor wanted = Session(model, low).run({x})[0];
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Session session(model, low);
      for (int run = 0; run < 5; ++run) {
        const Tensor got = session.run({x})[0];
        EXPECT_EQ(0, std::memcmp(got.data<float>(), wanted.data<float>(), wanted.bytes()));
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(RowTiling, plans_tell_which_images_are_nowhere_whole) {
  const Shape shape{1, 16, 64, 64};
  ConvChain n(shape);
  n.conv(32).depthwise({3, 1, 1}).conv(32);
  SessionOptions low;
  low.memory = "low";
  Session session(n.model({n.at}), low);
  session.run({random_tensor(shape, 1)});
  std::vector<std::string> layouts;
  for (const PlanRow& row : session.plan_report().rows)
    if (row.op == "minnow.FusedConv") layouts.push_back(row.layout);
  EXPECT_EQ(layouts.size(), 3u);
  EXPECT_EQ(layouts[0], "row tiles");
  EXPECT_EQ(layouts[1], "row tiles");
  EXPECT_NE(layouts[2], "row tiles");
}

TEST(RowTiling, callbacks_see_every_value) {
  const Shape shape{1, 16, 64, 64};
  ConvChain n(shape);
  n.conv(32).depthwise({3, 1, 1}).conv(32);
  const Model model = n.model({n.at});
  SessionOptions low;
  low.memory = "low";
  low.threads = 1;
  Session session(model, low);
  const Tensor x = random_tensor(shape, 1);
  const Tensor wanted = session.run({x})[0];
  const size_t bytes = session.arena_bytes();
  size_t seen = 0;
  session.set_callbacks({}, [&](NodeEvent& event) {
    seen += event.output(0).shape() == Shape{1, 32, 64, 64};
    return true;
  });
  const Tensor got = session.run({x})[0];
  EXPECT_GE(seen, 3u);
  EXPECT_GT(session.arena_bytes(), bytes);
  EXPECT_EQ(0, std::memcmp(got.data<float>(), wanted.data<float>(), wanted.bytes()));
}

}  // namespace
}  // namespace minnow
