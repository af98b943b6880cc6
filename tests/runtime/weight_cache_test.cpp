// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/digest.h"
#include "graph/graph.h"
#include "runtime/model.h"
#include "runtime/weight_cache.h"
#include "support/operators.h"
#include "support/paths.h"
#include "support/random.h"

namespace minnow {
namespace {

using test::normal_tensor;
using Header = WeightCache::Header;

// Two convolutions, one of which Winograd's way serves, and a product.
Model network(uint32_t seed = 1) {
  auto graph = std::make_unique<Graph>();
  Value& x = graph->add_input("x", ValueType::tensor(DType::f32, Shape{1, 32, 28, 28}));
  const auto weight = [&](const char* name, const Shape& shape) -> Value* {
    return &graph->add_constant(normal_tensor(shape, seed++), name);
  };
  const Attributes same = {{"pads", Ints{1, 1, 1, 1}}};
  Node& first = graph->add_node("Conv", {&x, weight("w1", {64, 32, 3, 3}), weight("b1", {64})}, 1, same, "first");
  Node& second = graph->add_node("Conv", {first.output(0), weight("w2", {48, 64, 1, 1})}, 1, {}, "second");
  Node& product = graph->add_node("MatMul", {second.output(0), weight("w3", {28, 40})}, 1, {}, "product");
  graph->replace_outputs({product.output(0)});
  return Model::from_graph(std::move(graph));
}

class WeightCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_hook([this](std::string_view message) {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(message);
    });
    std::remove(file_.c_str());
  }
  void TearDown() override {
    set_log_hook({});
    std::remove(file_.c_str());
  }
  SessionOptions options() const {
    SessionOptions options;
    options.weight_cache = file_;
    return options;
  }
  Tensor run(const Model& model, const SessionOptions& with) const {
    Session session(model, with);
    return session.run({x_})[0];
  }
  Tensor run(const Model& model) const { return run(model, options()); }
  testing::AssertionResult is_right(const Tensor& y) const {
    if (y.shape() == expected_.shape() && std::memcmp(y.data(), expected_.data(), y.bytes()) == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the result is another one";
  }
  std::string contents() const {
    std::ifstream in(file_, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }

  // The kilobytes that smaps tells of mappings of the file: "Rss", "Shared_Clean" ...; -1 where it tells nothing.
  long mapped(const std::string& key) const {
    std::ifstream maps("/proc/self/smaps");
    long sum = -1;
    bool ours = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) ours = line.find(file_) != line.npos;
      if (ours && line.starts_with(key + ":")) sum = std::max(sum, 0L) + std::stol(line.substr(key.size() + 1));
    }
    return sum;
  }

  const std::string file_ = (test::scratch_dir() / "packed.weights").string();
  const Tensor x_ = normal_tensor({1, 32, 28, 28}, 99);
  const Tensor expected_ = run(network(), {});
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

TEST_F(WeightCacheTest, what_one_model_packed_the_next_one_maps) {
  EXPECT_TRUE(is_right(run(network())));
  const std::string written = contents();
  ASSERT_GT(written.size(), sizeof(Header));
  const Model second = network(), third = network();
  EXPECT_TRUE(is_right(run(second)));
  EXPECT_TRUE(contents() == written);
  EXPECT_TRUE(is_right(run(third)));
  EXPECT_TRUE(messages_.empty()) << messages_[0];
  if (mapped("Rss") < 0) GTEST_SKIP() << "there is no /proc/self/smaps";
  // Both models have it in memory, and the system one copy for them.
  const long kilobytes = static_cast<long>(written.size() / 1024);
  EXPECT_GE(mapped("Shared_Clean") + mapped("Shared_Dirty"), 2 * (kilobytes - 8));  // dirty: not yet on the disk
  EXPECT_EQ(mapped("Private_Clean") + mapped("Private_Dirty"), 0);
}

TEST_F(WeightCacheTest, other_plans_add_to_the_file) {
  run(network());
  const std::string first = contents();
  SessionOptions high = options();
  high.precision = "high";
  const Tensor y = run(network(), high);
  const std::string both = contents();
  EXPECT_GT(both.size(), first.size());
  EXPECT_TRUE(is_right(run(network())));
  EXPECT_EQ(std::memcmp(run(network(), high).data(), y.data(), y.bytes()), 0);
  EXPECT_TRUE(contents() == both);
  EXPECT_TRUE(messages_.empty());
}

TEST_F(WeightCacheTest, sessions_of_one_model_share_it_and_another_file_is_an_error) {
  const Model model = network();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_TRUE(is_right(run(model))); });
  for (std::thread& thread : threads) thread.join();
  SessionOptions other = options();
  other.weight_cache += ".2";
  try {
    run(model, other);
    FAIL() << "a second file was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    EXPECT_NE(std::string(error.what()).find(file_), std::string::npos) << error.what();
  }
}

TEST_F(WeightCacheTest, writers_at_the_same_time_leave_a_file_that_serves) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      SessionOptions mine = options();
      mine.precision = i % 2 ? "high" : "normal";
      mine.threads = 1;
      for (int round = 0; round < 5; ++round) run(network(), mine);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_right(run(network())));
  EXPECT_TRUE(messages_.empty()) << messages_[0];
}

TEST_F(WeightCacheTest, files_of_others_are_ignored_with_one_line_and_replaced) {
  run(network());
  const std::string good = contents();
  const auto is_replaced = [&](const std::string& bytes, std::string_view why) {
    write(bytes);
    messages_.clear();
    EXPECT_TRUE(is_right(run(network())));
    ASSERT_EQ(messages_.size(), 1u) << why;
    EXPECT_NE(messages_[0].find(why), std::string::npos) << messages_[0];
    EXPECT_EQ(messages_[0].find('\n'), std::string::npos);
    EXPECT_TRUE(contents() == good) << why;
  };
  std::string other = good;
  other[offsetof(Header, build)] ^= 1;
  is_replaced(other, "another build");
  other = good;
  other[offsetof(Header, model)] ^= 1;
  is_replaced(other, "another model");
  is_replaced("", "no file of packed weights");
  is_replaced(good.substr(0, good.size() - 1), "cut off");
  is_replaced(good + "x", "cut off");
  // The same shapes with other weights.
  run(network(2));
  is_replaced(contents(), "another model");
}

TEST_F(WeightCacheTest, files_of_other_kinds_are_not_replaced) {
  for (const std::string_view other : {"some text", "x", "\x08\x0a\x12 as an ONNX model begins"}) {
    write(std::string(other));
    try {
      run(network());
      ADD_FAILURE() << other;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("is not a weight cache and is not overwritten"), std::string::npos) << error.what();
    }
    EXPECT_EQ(contents(), other);
  }
  // Also where it comes while the session lives.
  write("");
  Session session(network(), options());
  write("some text");
  EXPECT_TRUE(is_right(session.run({x_})[0]));
  EXPECT_EQ(contents(), "some text");
  ASSERT_FALSE(messages_.empty());
  EXPECT_NE(messages_.back().find("is not a weight cache"), std::string::npos) << messages_.back();
}

TEST_F(WeightCacheTest, damage_is_found_and_mended) {
  run(network());
  const std::string good = contents();
  Header header;
  std::memcpy(&header, good.data(), sizeof header);
  std::mt19937 random(1);
  for (size_t round = 0; round < 300; ++round) {
    std::string bytes = good;
    if (round < 100)
      bytes.resize(random() % good.size());
    else if (round < 200)
      bytes[sizeof header + random() % (header.index_offset - sizeof header)] ^= static_cast<char>(1 + random() % 255);  // packed forms
    else if (round < 250)
      bytes[header.index_offset + random() % header.index_size] ^= static_cast<char>(1 + random() % 255);
    else
      bytes[sizeof header.magic + random() % (sizeof header - sizeof header.magic)] ^= static_cast<char>(1 + random() % 255);
    write(bytes);
    messages_.clear();
    EXPECT_TRUE(is_right(run(network()))) << "round " << round;
    EXPECT_LE(messages_.size(), 1u) << "round " << round;
    if (!messages_.empty()) {
      EXPECT_TRUE(contents() == good) << "round " << round;
    }
  }
}

TEST_F(WeightCacheTest, a_file_that_begins_otherwise_is_kept) {
  run(network());
  std::string bytes = contents();
  for (size_t i = 0; i < sizeof Header().magic; ++i) {
    bytes[i] ^= 1;
    write(bytes);
    EXPECT_THROW(run(network()), InvalidArgument);
    EXPECT_TRUE(contents() == bytes) << i;
    bytes[i] ^= 1;
  }
}

TEST_F(WeightCacheTest, hostile_numbers_do_no_harm) {
  run(network());
  const std::string good = contents();
  Header header;
  std::memcpy(&header, good.data(), sizeof header);
  const size_t size = good.size();
  const uint64_t numbers[] = {0, 1, 63, 64, size - 1, size, size + 1, uint64_t{1} << 63, ~uint64_t{0} - 63, ~uint64_t{0}};
  const auto is_replaced = [&](size_t place, uint64_t number) {
    std::string bytes = good;
    std::memcpy(bytes.data() + place, &number, sizeof number);
    if (bytes == good) return;
    if (place >= header.index_offset) {  // with the digest that the index then has
      const uint64_t digest = digest_of(std::as_bytes(std::span(bytes)).subspan(header.index_offset, header.index_size));
      std::memcpy(bytes.data() + offsetof(Header, index_digest), &digest, sizeof digest);
    }
    write(bytes);
    messages_.clear();
    EXPECT_TRUE(is_right(run(network()))) << place << " " << number;
    EXPECT_LE(messages_.size(), 1u) << place << " " << number;
    EXPECT_TRUE(contents() != bytes) << place << " " << number;
  };
  for (const uint64_t number : numbers) {
    for (const size_t field : {offsetof(Header, file_size), offsetof(Header, index_offset), offsetof(Header, index_size)})
      is_replaced(field, number);
    for (size_t field = 0; field < 4; ++field) is_replaced(header.index_offset + field * sizeof number, number);
  }
}

TEST_F(WeightCacheTest, where_it_cannot_be_written_is_one_line) {
  SessionOptions nowhere = options();
  nowhere.weight_cache = (test::scratch_dir() / "no such folder" / "packed").string();
  EXPECT_TRUE(is_right(run(network(), nowhere)));
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_NE(messages_[0].find("cannot be written"), std::string::npos) << messages_[0];
  messages_.clear();
  nowhere.weight_cache = test::scratch_dir().string();  // a folder
  EXPECT_TRUE(is_right(run(network(), nowhere)));
  EXPECT_EQ(messages_.size(), 2u);  // that it cannot be read, and that it cannot be replaced
}

}  // namespace
}  // namespace minnow
