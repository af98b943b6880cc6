// SPDX-License-Identifier: Apache-2.0
// Files that once broke something, each named after its fault. Converting and planning one gives a model, or one sentence that begins with
// the file's name and that any terminal and any language can show.
#include <gtest/gtest.h>
#include <minnow/convert.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "support/paths.h"

namespace minnow {
namespace {

std::vector<std::string> broken_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_dir() / "tests/importers/broken"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_presentable(const std::string& text) {
  EXPECT_EQ(printable(text), text);
  EXPECT_LT(text.size(), 2000u) << text;
}

class BrokenFiles : public testing::TestWithParam<std::string> {};

TEST_P(BrokenFiles, give_a_model_or_a_sentence) {
  ConvertOptions options;
  options.warn = [](std::string_view sentence) { expect_presentable(std::string(sentence)); };
  try {
    const Model model = convert((test::source_dir() / "tests/importers/broken" / GetParam()).string(), options);
    for (const auto* list : {&model.inputs(), &model.outputs()})
      for (const auto& value : *list) EXPECT_EQ(printable(value.name), value.name);
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_NE(error.kind(), ErrorKind::internal) << sentence;
    EXPECT_NE(sentence.find(GetParam() + ": "), std::string::npos) << sentence;
    expect_presentable(sentence);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenFiles, testing::ValuesIn(broken_files()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace minnow
