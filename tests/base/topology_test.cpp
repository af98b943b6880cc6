// SPDX-License-Identifier: Apache-2.0
#include "base/topology.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/os.h"
#include "support/paths.h"

namespace minnow::os {
namespace {

// A tree as the system's, below the scratch folder.
class TopologyTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(int core, const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root_) / ("cpu" + std::to_string(core)) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  std::vector<Core> read(std::vector<int> allowed) const { return read_cores(allowed, root_); }
  static std::vector<int> first(int count) {
    std::vector<int> numbers(static_cast<size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  const std::string root_ = (test::scratch_dir() / "cpu").string();
};

TEST_F(TopologyTest, without_files_all_are_alike) {
  for (const Core& core : read(first(3))) {
    EXPECT_EQ(core.speed, 1);
    EXPECT_TRUE(core.first);
  }
  EXPECT_TRUE(read({}).empty());
}

TEST_F(TopologyTest, capacities_are_speeds) {
  for (int core = 0; core < 8; ++core) write(core, "cpu_capacity", core < 4 ? "256" : core < 7 ? "768" : "1024");
  const std::vector<Core> cores = read(first(8));
  EXPECT_EQ(cores[0], (Core{0, 0.25, true}));
  EXPECT_EQ(cores[4], (Core{4, 0.75, true}));
  EXPECT_EQ(cores[7], (Core{7, 1, true}));
  // Only cores that the process may use count.
  EXPECT_EQ(read({1, 5}), (std::vector<Core>{{1, 256.0 / 768, true}, {5, 1, true}}));
}

TEST_F(TopologyTest, frequencies_serve_where_capacities_tell_nothing) {
  for (int core = 0; core < 4; ++core) write(core, "cpufreq/cpuinfo_max_freq", core < 2 ? "1800000" : "2400000");
  EXPECT_EQ(read(first(4))[0].speed, 0.75);
  for (int core = 0; core < 4; ++core) write(core, "cpu_capacity", "1024");
  EXPECT_EQ(read(first(4))[0].speed, 0.75);
  // One of an offline core is missing, or nonsense: nothing is known.
  for (const char* nonsense : {"", "0", "-5", "nan", "1e300", "fast"}) {
    write(3, "cpufreq/cpuinfo_max_freq", nonsense);
    EXPECT_EQ(read(first(4))[0].speed, 1) << nonsense;
  }
}

TEST_F(TopologyTest, threads_of_a_core_are_known_by_their_lists) {
  for (int core = 0; core < 4; ++core) write(core, "topology/thread_siblings_list", core % 2 ? "1,3" : "0,2");
  const auto firsts = [&](std::vector<int> allowed) {
    std::vector<int> numbers;
    for (const Core& core : read(allowed))
      if (core.first) numbers.push_back(core.number);
    return numbers;
  };
  EXPECT_EQ(firsts({0, 1, 2, 3}), (std::vector<int>{0, 1}));
  EXPECT_EQ(firsts({2, 3}), (std::vector<int>{2, 3}));  // the others are not this process's, or offline
  EXPECT_EQ(firsts({1, 2, 3}), (std::vector<int>{1, 2}));
  for (int core = 0; core < 4; ++core) write(core, "topology/thread_siblings_list", core < 2 ? "0-1" : "2-3");
  EXPECT_EQ(firsts({0, 1, 2, 3}), (std::vector<int>{0, 2}));
  for (const char* nonsense : {"", "x", "0-", "3-0", "0,", "-1", "0-99999", "99999", "0;1", ",", "0-1-2", "1"}) {
    for (int core = 0; core < 4; ++core) write(core, "topology/thread_siblings_list", nonsense);
    EXPECT_EQ(firsts({0, 1, 2, 3}), (std::vector<int>{0, 1, 2, 3})) << nonsense;
  }
}

TEST_F(TopologyTest, this_machine_has_cores_that_threads_can_stay_on) {
  const std::vector<int> allowed = allowed_cores();
  EXPECT_EQ(cores().size(), allowed.size());
  if (allowed.empty()) GTEST_SKIP() << "the system does not tell which cores there are";
  std::thread([&] {
    const int all = available_cores();
    {
      const OnCores one{std::span(allowed).last(1)};
      EXPECT_EQ(available_cores(), 1);
      const OnCores nothing{std::span<const int>()};
      EXPECT_EQ(available_cores(), 1);
    }
    EXPECT_EQ(available_cores(), all);
    EXPECT_TRUE(stay_on_cores(std::span(allowed).first(1)));
    EXPECT_EQ(available_cores(), 1);
    EXPECT_TRUE(stay_on_cores({}));
    EXPECT_EQ(available_cores(), all);
    const int none[] = {-1, 100000};
    EXPECT_FALSE(stay_on_cores(none));
  }).join();
}

}  // namespace
}  // namespace minnow::os
