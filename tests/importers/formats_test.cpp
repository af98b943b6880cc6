// SPDX-License-Identifier: Apache-2.0
// The list of formats, and the importers' descriptions of them.
#include "importers/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/os.h"
#include "graph/model_file.h"
#include "support/paths.h"

namespace minnow {
namespace {

TEST(Formats, operators_are_many_and_each_is_listed_once) {
  const std::map<std::string_view, size_t> least = {{"onnx", 225}, {"tensorflow", 230},  {"tflite", 150},
                                                    {"caffe", 60}, {"torchscript", 200}, {"mnn", 140}};
  size_t listed = 0;
  for (const Format& format : import_formats()) {
    if (!format.operators) continue;
    ++listed;
    std::set<std::string_view> names;
    for (const ForeignOperator& op : format.operators()) EXPECT_TRUE(names.insert(op.name).second) << format.name << " " << op.name;
    ASSERT_TRUE(least.contains(format.name)) << format.name;
    EXPECT_GE(names.size(), least.at(format.name)) << format.name;
    if (format.name != "onnx") continue;
    for (const char* name : {"Conv", "Upsample", "ai.onnx.ml.TreeEnsemble", "com.microsoft.SkipLayerNormalization"})
      EXPECT_TRUE(names.contains(name)) << name;
    for (const std::string_view name : names) EXPECT_FALSE(name.starts_with("minnow.")) << name;
  }
  EXPECT_EQ(listed, least.size());
}

/// Small files of a format, and "model.minnow", which this makes.
std::vector<std::filesystem::path> small_files(std::string_view format) {
  constexpr size_t kMost = 12;
  constexpr uintmax_t kMostBytes = 200'000;
  std::vector<std::filesystem::path> files;
  if (format == "minnow") {
    files = {test::scratch_dir() / "model.minnow"};
    write_model(*parse_graph("graph {\n input x: f32[3]\n const w = f32[3] [1, 2, 3]\n y = Add(x, w)\n output y\n}"), files[0].string());
    return files;
  }
  for (const auto& root : {test::models_dir(), test::corpus_dir()}) {
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string extension = entry.path().extension().string();
      const bool named = extension == "." + std::string(format) || (format == "torchscript" && extension == ".pt") ||
                         (format == "tensorflow" && entry.path().filename() == "frozen.pb");
      if (named && entry.is_regular_file() && entry.file_size() < kMostBytes && files.size() < kMost) files.push_back(entry.path());
    }
  }
  return files;
}

TEST(Formats, no_graph_points_into_memory_that_nobody_keeps_alive) {
  size_t imported = 0, formats = 0;
  for (const Format& format : import_formats()) {
    if (!format.import_memory) continue;
    const size_t before = imported;
    for (const auto& path : small_files(format.name)) {
      const auto file = os::MappedFile::open(path.string());
      std::vector<std::byte> bytes(file->bytes().begin(), file->bytes().end());
      ImportOptions options;
      options.warn = [](std::string_view) {};
      std::unique_ptr<Graph> graph;
      try {
        graph = format.import_memory(bytes, nullptr, options);
      } catch (const Error&) {
        continue;  // of a kind that this test need not know
      }
      const std::string text = to_text(*graph, 1000);
      std::fill(bytes.begin(), bytes.end(), std::byte{0x77});
      EXPECT_EQ(to_text(*graph, 1000), text) << path;
      ++imported;
    }
    formats += imported > before;
  }
  if (!std::filesystem::exists(test::corpus_dir())) GTEST_SKIP() << "no corpus: only some formats were read";
  EXPECT_EQ(formats, 6u);
}

}  // namespace
}  // namespace minnow
