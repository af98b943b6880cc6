// SPDX-License-Identifier: Apache-2.0
// Compiled programs and their file, with a compiler that writes down what it is asked.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include <minnow/minnow.h>

#include "backends/gpu/programs.h"
#include "base/error.h"
#include "support/paths.h"

namespace minnow::gpu {
namespace {

struct StubProgram final : Program {
  explicit StubProgram(std::string text) : text(std::move(text)) {}
  std::string binary() const override { return "compiled " + text; }
  const std::string text;  // of the source
};

struct StubCompiler final : Compiler {
  std::unique_ptr<Program> compile(const std::string& source) override {
    ++compiled;
    if (source == "wrong") throw InternalError("it does not compile");
    if (delay) std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    return std::make_unique<StubProgram>(source);
  }
  std::unique_ptr<Program> load(std::span<const std::byte> binary) override {
    ++loaded;
    const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
    if (refuses || !text.starts_with("compiled ")) return nullptr;
    return std::make_unique<StubProgram>(text.substr(9));
  }
  std::atomic<int> compiled{0}, loaded{0};
  bool refuses = false;
  int delay = 0;
};

class KernelCache : public testing::Test {
 protected:
  void SetUp() override {
    std::remove(file.c_str());
    set_log_hook([this](std::string_view message) { messages.emplace_back(message); });
  }
  void TearDown() override {
    set_log_hook({});
    std::remove(file.c_str());
  }
  // A process: makes programs of these sources with the file.
  void start(StubCompiler& compiler, const std::vector<std::string>& sources, const std::string& target = "device 1") {
    Programs programs(compiler, target);
    const auto cache = open_kernel_cache(file);
    std::vector<Programs::Entry*> entries;
    for (const std::string& source : sources) entries.push_back(&programs.entry(source));
    programs.make(entries, cache.get(), 2);
    for (size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(static_cast<const StubProgram&>(*entries[i]->program()).text, sources[i]);
  }
  std::string contents() const {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void write(const std::string& bytes) const { std::ofstream(file, std::ios::binary) << bytes; }
  const std::string file = (test::scratch_dir() / "kernels").string();
  std::vector<std::string> messages;
};

TEST_F(KernelCache, a_second_start_compiles_nothing) {
  StubCompiler first, second, third;
  start(first, {"a", "b", "a"});
  EXPECT_EQ(first.compiled, 2);
  start(second, {"b", "a"});
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.loaded, 2);
  start(third, {"c", "a"});
  EXPECT_EQ(third.compiled, 1);
  StubCompiler fourth;
  start(fourth, {"a", "b", "c"});
  EXPECT_EQ(fourth.compiled, 0);
  EXPECT_TRUE(messages.empty());
}

TEST_F(KernelCache, devices_and_drivers_have_entries_of_their_own) {
  StubCompiler first, second, third;
  start(first, {"a"});
  start(second, {"a"}, "device 1, a newer driver");
  EXPECT_EQ(second.compiled, 1);
  start(third, {"a"});
  EXPECT_EQ(third.compiled, 0);
}

TEST_F(KernelCache, binaries_that_the_driver_refuses_are_compiled_again) {
  StubCompiler first, second;
  start(first, {"a"});
  second.refuses = true;
  start(second, {"a"});
  EXPECT_EQ(second.compiled, 1);
}

TEST_F(KernelCache, programs_of_an_earlier_session_are_added) {
  StubCompiler compiler, other;
  Programs programs(compiler, "device 1");
  Programs::Entry& entry = programs.entry("a");
  programs.make({&entry}, nullptr, 1);
  const auto cache = open_kernel_cache(file);
  programs.make({&entry}, cache.get(), 1);
  EXPECT_EQ(compiler.compiled, 1);
  start(other, {"a"});
  EXPECT_EQ(other.compiled, 0);
}

TEST_F(KernelCache, programs_in_memory_need_neither_a_compiler_nor_a_file) {
  StubCompiler first, second, third;
  start(first, {"a"});
  const std::string bytes = contents();
  std::remove(file.c_str());
  const auto library = kernel_cache_in_memory(std::as_bytes(std::span(bytes)), "the library");
  Programs programs(second, "device 1", library.get());
  programs.make({&programs.entry("a")}, nullptr, 1);
  EXPECT_EQ(second.compiled, 0);
  const auto cache = open_kernel_cache(file);
  programs.make({&programs.entry("a"), &programs.entry("b")}, cache.get(), 1);
  EXPECT_EQ(second.compiled, 1);
  EXPECT_EQ(second.loaded, 1);
  start(third, {"a", "b"});  // the file has only what memory lacks
  EXPECT_EQ(third.compiled, 1);
  EXPECT_TRUE(messages.empty());
}

TEST_F(KernelCache, damaged_memory_is_left_alone) {
  EXPECT_EQ(kernel_cache_in_memory({}, "the library"), nullptr);
  StubCompiler first, second;
  start(first, {"a"});
  std::string bytes = contents();
  bytes[64] ^= 1;  // of the piece
  const auto library = kernel_cache_in_memory(std::as_bytes(std::span(bytes)), "the library");
  Programs programs(second, "device 1", library.get());
  programs.make({&programs.entry("a")}, nullptr, 1);
  EXPECT_EQ(second.compiled, 1);
  bytes.resize(70);
  kernel_cache_in_memory(std::as_bytes(std::span(bytes)), "the library");
  ASSERT_EQ(messages.size(), 2u);
  for (const std::string& message : messages) EXPECT_EQ(message, "the library: it is damaged or cut off; they are not used");
}

TEST_F(KernelCache, damage_is_found_and_mended) {
  StubCompiler first;
  start(first, {"a", "b"});
  const std::string good = contents();
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    if (round % 2)
      bytes.resize(8 + random() % (good.size() - 8));
    else
      bytes[8 + random() % (good.size() - 8)] ^= static_cast<char>(1 + random() % 255);
    write(bytes);
    messages.clear();
    StubCompiler damaged, mended;
    start(damaged, {"a", "b"});
    EXPECT_LE(messages.size(), 1u);
    start(mended, {"a", "b"});
    EXPECT_EQ(mended.compiled, 0) << round;
  }
}

TEST_F(KernelCache, files_of_other_kinds_are_kept) {
  write("some text");
  EXPECT_THROW(open_kernel_cache(file), InvalidArgument);
  EXPECT_EQ(contents(), "some text");
}

TEST_F(KernelCache, a_source_that_does_not_compile_is_an_error_each_time) {
  StubCompiler compiler;
  Programs programs(compiler, "device 1");
  Programs::Entry& wrong = programs.entry("wrong");
  Programs::Entry& right = programs.entry("right");
  for (int i = 0; i < 2; ++i) EXPECT_THROW(programs.make({&wrong, &right}, nullptr, 2), InternalError);
  EXPECT_TRUE(right.program());
}

TEST_F(KernelCache, sessions_that_want_the_same_compile_it_once) {
  StubCompiler compiler;
  compiler.delay = 5;
  Programs programs(compiler, "device 1");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<Programs::Entry*> entries;
      for (const char* source : {"a", "b", "c"}) entries.push_back(&programs.entry(source));
      programs.make(entries, nullptr, 2);
      for (const Programs::Entry* entry : entries) EXPECT_TRUE(entry->program());
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiler.compiled, 3);
}

}  // namespace
}  // namespace minnow::gpu
