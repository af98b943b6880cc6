// SPDX-License-Identifier: Apache-2.0
// Damaged files give an error or a graph, and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "importers/formats.h"
#include "support/paths.h"

namespace minnow {
namespace {

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

void expect_error_or_graph(const std::string& bytes) {
  ImportOptions options;
  options.warn = [](std::string_view) {};
  try {
    import_mnn(as_bytes(bytes), nullptr, options);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
  }
}

/// Models with packed weights, loops and branches, of the fuzzer's seeds and of the corpus.
std::vector<std::string> models() {
  std::vector<std::string> all;
  const auto add = [&](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (file) all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  for (const char* name : {"weights_8bit", "weights_4bit_blocks", "weights_half", "lstm_loop", "loop", "if", "caffe_mtcnn_det1"})
    add(test::source_dir() / "tests/fuzz/seeds/mnn_reader_fuzz" / (std::string(name) + ".mnn"));
  for (const char* name : {"tf_resnet8", "onnx_aecmos_gru_wq8", "ultraface_rfb_320"}) add(test::corpus_dir() / "mnn" / name / "model.mnn");
  return all;
}

/// No single allocation beyond a small multiple of the file.
struct Limit {
  explicit Limit(size_t file) : before(memory_limit()) { set_memory_limit(file * 16 + (size_t{64} << 20)); }
  ~Limit() { set_memory_limit(before); }
  size_t before;
};

constexpr size_t kLarge = 100000;

TEST(MnnRobust, the_models_themselves_are_right) {
  const std::vector<std::string> all = models();
  EXPECT_GE(all.size(), 7u);
  for (const std::string& whole : all) {
    EXPECT_NO_THROW(import_mnn(as_bytes(whole), nullptr));
    const Format* format = recognize_format(as_bytes(whole));
    ASSERT_TRUE(format);
    EXPECT_EQ(format->name, "mnn");
  }
}

TEST(MnnRobust, every_truncation) {
  for (const std::string& whole : models()) {
    const Limit limit(whole.size());
    const size_t step = std::max<size_t>(1, whole.size() / (whole.size() > kLarge ? 100 : 1000));
    for (size_t size = 0; size < whole.size(); size += step) expect_error_or_graph(whole.substr(0, size));
  }
}

TEST(MnnRobust, ten_thousand_flipped_bytes) {
  for (const std::string& whole : models()) {
    const Limit limit(whole.size());
    std::mt19937 random(7);
    std::string damaged = whole;
    // Structure lies at both ends of a file, weights between; three flips of four hit the ends.
    const size_t edge = std::min<size_t>(whole.size() / 2, 20000), times = whole.size() > kLarge ? 100 : 3000;
    for (size_t i = 0; i < times; ++i) {
      const size_t at = i % 4 == 0 ? random() % whole.size() : i % 4 == 1 ? random() % edge : whole.size() - 1 - random() % edge;
      const char old = damaged[at];
      damaged[at] = static_cast<char>(random());
      expect_error_or_graph(damaged);
      if (i % 3) damaged[at] = old;  // some stay, so that errors meet errors
      if (i % 100 == 99) damaged = whole;
    }
  }
}

}  // namespace
}  // namespace minnow
