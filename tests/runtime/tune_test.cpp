// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <minnow/tune.h>

#include <cstdio>
#include <fstream>
#include <iomanip>
#include <random>
#include <sstream>
#include <thread>

#include "base/topology.h"
#include "graph/graph.h"
#include "support/operators.h"
#include "support/paths.h"

namespace minnow {
namespace {

// A product that several schemes can compute: [64, 128] by a computed [128, 128].
Model product() {
  auto graph = std::make_unique<Graph>();
  Value& a = graph->add_input("a", ValueType::tensor(DType::f32, Shape{64, 128}));
  Value& b = graph->add_input("b", ValueType::tensor(DType::f32, Shape{128, 128}));
  Node& node = graph->add_node("MatMul", {&a, &b}, 1, {}, "product");
  graph->replace_outputs({node.output(0)});
  return Model::from_graph(std::move(graph));
}

class TuneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_hook([this](std::string_view message) { messages_.emplace_back(message); });
    std::remove(file_.c_str());
  }
  void TearDown() override {
    set_log_hook({});
    std::remove(file_.c_str());
  }
  static Tuning a_tuning(double seconds = 1e-6) {
    Tuning tuning;
    tuning.threads = 1;
    tuning.times = {{"product [64, 128]", "matmul", 1},
                    {"product [64, 128]", "matmul.strassen", seconds},
                    {"product [64, 128]", "matmul.strassen_twice", 3}};
    tuning.shapes = {{64, 128}, {128, 128}};
    return tuning;
  }
  std::string contents() const {
    std::ifstream in(file_, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  // The file's only entry with the hash that its lines have now: FNV-1a and an end of 255.
  static std::string sealed(const std::string& text) {
    const size_t begin = text.find('\n') + 1, end = text.rfind("end ");
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = begin; i < end; ++i) hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001b3;
    std::ostringstream hex;
    hex << std::hex << std::setw(16) << std::setfill('0') << (hash ^ 0xff) * 0x100000001b3;
    return text.substr(0, end) + "end " + hex.str() + "\n";
  }
  std::string scheme(const SessionOptions& options) const {
    Session session(model_, options);
    session.prepare(std::vector<Shape>{{64, 128}, {128, 128}});
    return session.plan_report().rows.at(0).scheme;
  }

  const Model model_ = product();
  const std::string file_ = (test::scratch_dir() / "tuning.txt").string();
  std::vector<std::string> messages_;
};

TEST_F(TuneTest, what_is_saved_decides_later_plans) {
  save_tuning(file_, model_, {}, a_tuning());
  const SessionOptions options = tuned(model_, {}, file_);
  EXPECT_TRUE(messages_.empty());
  EXPECT_EQ(options.threads, 1);
  ASSERT_EQ(options.times.size(), 3u);
  EXPECT_EQ(scheme(options), "matmul.strassen");
  EXPECT_EQ(scheme({}), "matmul");
}

TEST_F(TuneTest, entries_for_other_options_and_shapes_stay_and_equal_ones_are_replaced) {
  save_tuning(file_, model_, {}, a_tuning());
  SessionOptions two;
  two.threads = 2;
  save_tuning(file_, model_, two, a_tuning(2));
  Tuning other = a_tuning();
  other.shapes = {{32, 128}, {128, 128}};
  other.times = {{"product [32, 128]", "matmul", 1}};
  save_tuning(file_, model_, {}, other);
  save_tuning(file_, model_, {}, a_tuning(3e-6));
  const SessionOptions options = tuned(model_, {}, file_);
  ASSERT_EQ(options.times.size(), 4u);
  EXPECT_EQ(options.times[1].node, "product [64, 128]");
  const SessionOptions for_two = tuned(model_, two, file_);
  EXPECT_EQ(for_two.threads, 2);
  EXPECT_EQ(scheme(for_two), "matmul");
  SessionOptions high;
  high.precision = "high";
  EXPECT_TRUE(tuned(model_, high, file_).times.empty());
  ASSERT_EQ(messages_.size(), 1u);
  EXPECT_NE(messages_[0].find("this model with these options"), std::string::npos) << messages_[0];
}

TEST_F(TuneTest, files_of_others_are_ignored_with_one_line) {
  EXPECT_TRUE(tuned(model_, {}, file_).times.empty());
  EXPECT_EQ(messages_.size(), 1u);
  save_tuning(file_, model_, {}, a_tuning());
  const std::string good = contents();
  for (const char* line : {"version ", "machine "}) {
    // As that machine or version would have written it, its hash included.
    std::string text = good;
    text.insert(text.find(line) + std::string(line).size(), "another ");
    messages_.clear();
    write(sealed(text));
    EXPECT_TRUE(tuned(model_, {}, file_).times.empty());
    ASSERT_EQ(messages_.size(), 1u);
    EXPECT_NE(messages_[0].find("this machine and this version"), std::string::npos) << messages_[0];
  }
  EXPECT_EQ(sealed(good), good);
  messages_.clear();
  EXPECT_TRUE(tuned(model_, {}, test::scratch_dir().string()).times.empty());  // a folder
  EXPECT_EQ(messages_.size(), 1u);
}

TEST_F(TuneTest, damaged_files_are_ignored_with_one_line_and_replaced) {
  save_tuning(file_, model_, {}, a_tuning());
  SessionOptions two;
  two.threads = 2;
  save_tuning(file_, model_, two, a_tuning());
  const std::string good = contents();
  std::mt19937 random(1);
  for (size_t round = 0; round < 400; ++round) {
    std::string text = good;
    if (round < 200) {
      text.resize(round * text.size() / 200);
    } else if (round < 390) {
      text[random() % text.size()] = static_cast<char>(random());
    } else {
      text.resize(1000);
      for (char& c : text) c = static_cast<char>(random());
      if (round % 2) text.replace(0, 16, "minnow tuning 2\n");
    }
    if (text == good) continue;
    write(text);
    messages_.clear();
    const SessionOptions options = tuned(model_, {}, file_);
    EXPECT_LE(options.times.size(), 3u);
    if (options.times.empty()) {
      EXPECT_EQ(messages_.size(), 1u) << "round " << round;
    }
  }
  write("some text");
  EXPECT_THROW(check_tuning_file(file_), Error);
  EXPECT_THROW(save_tuning(file_, model_, {}, a_tuning()), Error);
  EXPECT_EQ(contents(), "some text");
  write("minnow tuning 2\nversion");
  save_tuning(file_, model_, {}, a_tuning());
  EXPECT_EQ(tuned(model_, {}, file_).times.size(), 3u);
}

TEST_F(TuneTest, several_writers_leave_a_file_that_can_be_read) {
  std::vector<std::thread> writers;
  for (int i = 1; i <= 4; ++i)
    writers.emplace_back([&, i] {
      SessionOptions options;
      options.threads = i;
      for (int round = 0; round < 20; ++round) save_tuning(file_, model_, options, a_tuning());
    });
  for (std::thread& writer : writers) writer.join();
  size_t found = 0;
  for (int i = 1; i <= 4; ++i) {
    SessionOptions options;
    options.threads = i;
    found += !tuned(model_, options, file_).times.empty();
  }
  EXPECT_GE(found, 1u);
  for (const std::string& message : messages_) EXPECT_EQ(message.find("damaged"), std::string::npos) << message;
}

TEST_F(TuneTest, tuning_measures_and_never_keeps_what_is_slower) {
  const Tensor a = test::pattern({64, 128}), b = test::pattern({128, 128});
  SessionOptions options;
  options.threads = 1;
  const Tuning tuning = tune(model_, options, std::vector<TensorView>{a, b}, 0.05);
  EXPECT_GT(tuning.seconds_tuned, 0);
  EXPECT_LE(tuning.seconds_tuned, tuning.seconds_by_estimate);
  EXPECT_EQ(tuning.threads, 1);
  ASSERT_EQ(tuning.shapes.size(), 2u);
  for (const SchemeTime& time : tuning.times) EXPECT_EQ(time.node, "product [64, 128]");
  save_tuning(file_, model_, options, tuning);
  EXPECT_EQ(tuned(model_, options, file_).times.size(), tuning.times.size());
}

TEST_F(TuneTest, ways_of_power_are_measured_and_remembered) {
  const Tensor a = test::pattern({64, 128}), b = test::pattern({128, 128});
  for (const char* power : {"performance", "balanced", "efficient"}) {
    SessionOptions options;
    options.power = power;
    const Tuning tuning = tune(model_, options, std::vector<TensorView>{a, b}, 0.05);
    EXPECT_GE(tuning.threads, 1);
    EXPECT_GE(tuning.active_wait, 0);
    EXPECT_GT(tuning.cpu_seconds, 0);
    EXPECT_GT(tuning.seconds_tuned, 0);
    save_tuning(file_, model_, options, tuning);
    const SessionOptions later = tuned(model_, options, file_);
    EXPECT_TRUE(later.power.empty());
    EXPECT_EQ(later.threads, tuning.threads);
    EXPECT_NEAR(later.active_wait, tuning.active_wait, 1e-9);
    EXPECT_EQ(later.pin_threads, tuning.pin_threads);
    EXPECT_EQ(later.cores, tuning.cores);
    EXPECT_NO_THROW(scheme(later));
  }
  EXPECT_TRUE(messages_.empty());
  // Without a mode, or with threads named, it is another entry.
  EXPECT_EQ(tuned(model_, {}, file_).threads, 0);
  EXPECT_EQ(messages_.size(), 1u);
}

TEST_F(TuneTest, cores_that_are_not_there_any_more_are_not_taken) {
  SessionOptions options;
  options.power = "performance";
  Tuning tuning = a_tuning();
  tuning.active_wait = 1e-3;
  tuning.pin_threads = true;
  tuning.cores = {0, 4095};
  save_tuning(file_, model_, options, tuning);
  const SessionOptions later = tuned(model_, options, file_);
  EXPECT_EQ(later.cores, os::allowed_cores());
  EXPECT_FALSE(later.pin_threads);
  EXPECT_NEAR(later.active_wait, 1e-3, 1e-9);
  // Nonsense under a hash that is right.
  const std::string good = contents();
  const size_t line = good.find("\nthreads ") + 1, end = good.find('\n', line);
  for (const char* nonsense :
       {"threads", "threads x", "threads -1", "threads 1 ", "threads 1 wait", "threads 1 wait 2000000000 pin 1 cores",
        "threads 1 wait 0 pin 1", "threads 1 wait -1 pin 1 cores", "threads 1 wait 0 pin 1 cores x", "threads 1 wait 0 pin 1 cores 0,1",
        "threads 99999999999 wait 0 pin 1 cores", "threads 1 wait 0 pin 1 cores 99999999999"}) {
    write(sealed(good.substr(0, line) + nonsense + good.substr(end)));
    messages_.clear();
    EXPECT_EQ(tuned(model_, options, file_).power, "performance") << nonsense;
    ASSERT_EQ(messages_.size(), 1u) << nonsense;
    EXPECT_NE(messages_[0].find("damaged"), std::string::npos) << messages_[0];
  }
}

TEST_F(TuneTest, power_says_how_many_threads) {
  EXPECT_TRUE(with_power({}, "performance").pin_threads);
  EXPECT_GE(with_power({}, "efficient").threads, 1);
  SessionOptions three;
  three.threads = 3;
  EXPECT_EQ(with_power(three, "efficient").threads, 3);
  EXPECT_EQ(with_power(three, "balanced").threads, 3);
  EXPECT_THROW(with_power({}, "turbo"), Error);
}

}  // namespace
}  // namespace minnow
