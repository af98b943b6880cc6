// SPDX-License-Identifier: Apache-2.0
#include "graph/window.h"

#include <gmock/gmock.h>

namespace minnow::test {
namespace {

using testing::ElementsAre;

/// The geometry of one node with inputs of those shapes.
template <class Geometry>
Geometry window_geometry(std::string_view op, const std::vector<Shape>& shapes, const Attributes& attributes = {}) {
  Graph graph;
  std::vector<Value*> values;
  std::vector<ValueInfo> infos(shapes.size());
  std::vector<const ValueInfo*> pointers;
  for (size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(&graph.add_input("x" + std::to_string(i), {}));
    infos[i].dtype = DType::f32;
    infos[i].shape = shapes[i];
    pointers.push_back(&infos[i]);
  }
  const std::string output[] = {"y"};
  const Node& node = graph.add_node(op, values, output, attributes);
  return Geometry::of(NodeView(node, pointers));
}

TEST(ConvGeometry, resolves_automatic_padding) {
  const Attributes upper{{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 1}}};
  const ConvGeometry conv = window_geometry<ConvGeometry>("Conv", {{2, 6, 5, 4}, {8, 3, 4, 2}}, [&] {
    Attributes all = upper;
    all.set("group", int64_t{2});
    return all;
  }());
  EXPECT_EQ(conv.batch, 2);
  EXPECT_EQ(conv.in_channels_per_group(), 3);
  EXPECT_EQ(conv.out_channels_per_group(), 4);
  EXPECT_THAT(conv.window.output.dims(), ElementsAre(3, 4));
  EXPECT_THAT(conv.window.pad_begin.dims(), ElementsAre(1, 0));  // (3 - 1) * 2 + 4 - 5 = 3 rows, (4 - 1) + 2 - 4 = 1 column
  EXPECT_THAT(conv.window.pad_end.dims(), ElementsAre(2, 1));
  EXPECT_EQ(conv.output_shape(), (Shape{2, 8, 3, 4}));
  EXPECT_EQ(conv.multiply_adds(), 2 * 8 * 12 * 3 * 8);
}

TEST(ConvGeometry, is_the_same_for_all_convolutions) {
  const Attributes attributes{{"pads", Ints{1, 0, 1, 2}}, {"dilations", Ints{1, 2}}};
  const Shape x{1, 3, 6, 6}, w{4, 3, 3, 2}, one{};
  const Shape expected{1, 4, 6, 6};
  for (const char* op : {"Conv", "minnow.FusedConv", "ConvInteger"})
    EXPECT_EQ(window_geometry<ConvGeometry>(op, {x, w}, attributes).output_shape(), expected) << op;
  for (const char* op : {"QLinearConv", "minnow.QuantizedConv"})
    EXPECT_EQ(window_geometry<ConvGeometry>(op, {x, one, one, w, one, one, one, one, {4}}, attributes).output_shape(), expected) << op;
}

TEST(ConvGeometry, tells_the_kinds_that_schemes_ask_for) {
  const ConvGeometry pointwise = window_geometry<ConvGeometry>("Conv", {{1, 8, 7, 7}, {16, 8, 1, 1}});
  EXPECT_TRUE(pointwise.window.is_pointwise());
  EXPECT_FALSE(pointwise.is_depthwise());
  const ConvGeometry strided = window_geometry<ConvGeometry>("Conv", {{1, 8, 7, 7}, {16, 8, 1, 1}}, {{"strides", Ints{2, 2}}});
  EXPECT_FALSE(strided.window.is_pointwise());
  EXPECT_FALSE(strided.window.is_padded());
  const ConvGeometry depthwise = window_geometry<ConvGeometry>("Conv", {{1, 8, 7, 7}, {8, 1, 3, 3}}, {{"group", int64_t{8}}});
  EXPECT_TRUE(depthwise.is_depthwise());
  EXPECT_FALSE(depthwise.window.is_padded());
  EXPECT_TRUE(depthwise.window.is_undilated());
  // Padding that no window reads does not count: with stride 2 the last window ends at place 6 of 6.
  const ConvGeometry spared = window_geometry<ConvGeometry>("Conv", {{1, 1, 6}, {1, 1, 2}}, {{"strides", Ints{2}}, {"pads", Ints{0, 1}}});
  EXPECT_FALSE(spared.window.is_padded());
}

TEST(ConvTransposeGeometry, is_that_of_the_adjoint) {
  const ConvTransposeGeometry conv = window_geometry<ConvTransposeGeometry>(
      "ConvTranspose", {{1, 4, 3, 3}, {4, 2, 3, 3}},
      {{"group", int64_t{2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 0, 0}}, {"output_padding", Ints{0, 1}}});
  EXPECT_EQ(conv.out_channels, 4);
  EXPECT_THAT(conv.window.output.dims(), ElementsAre(3, 3));
  EXPECT_THAT(conv.window.input.dims(), ElementsAre(6, 7));
  EXPECT_EQ(conv.output_shape(), (Shape{1, 4, 6, 7}));
}

TEST(PoolGeometry, counts_a_last_window_that_begins_inside) {
  const auto places = [](int64_t size, int64_t kernel, int64_t stride, Ints pads) {
    return window_geometry<PoolGeometry>(
               "MaxPool", {{1, 1, size}},
               {{"kernel_shape", Ints{kernel}}, {"strides", Ints{stride}}, {"pads", pads}, {"ceil_mode", int64_t{1}}})
        .window.output[0];
  };
  EXPECT_EQ(places(5, 2, 2, {0, 0}), 3);
  EXPECT_EQ(places(5, 2, 3, {0, 1}), 2);  // the third would begin at place 6, in the padding
  EXPECT_EQ(places(4, 3, 3, {1, 1}), 2);
  EXPECT_EQ(window_geometry<PoolGeometry>("GlobalMaxPool", {{2, 3, 4, 5}}).output_shape(), (Shape{2, 3, 1, 1}));
}

}  // namespace
}  // namespace minnow::test
