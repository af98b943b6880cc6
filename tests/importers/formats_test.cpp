// SPDX-License-Identifier: Apache-2.0
// The list of formats, and what the importers say they read.
#include "importers/formats.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

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

}  // namespace
}  // namespace minnow
