// SPDX-License-Identifier: Apache-2.0
// Damaged files give an error or a graph, and nothing else.
#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/paths.h"

namespace minnow::tflite {
namespace {

/// Models with quantized weights, shapes that are computed, recurrent layers and variables, of the corpus and of the fuzzer's seeds.
std::vector<std::string> models() {
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"micro_hello_world_int8", "micro_seanet_strided_slice31", "support_dilated_conv"})
    paths.push_back(test::source_dir() / "tests/fuzz/seeds/tflite" / (std::string(name) + ".tflite"));
  for (const char* name : {"micro_keyword_svdf_int16", "coral_keras_lstm_mnist_ptq", "mlperf_kws_int8"})
    paths.push_back(test::corpus_dir() / "tflite" / name / "model.tflite");
  paths.push_back(test::models_dir() / "tflite/microwake_alexa/model.tflite");
  paths.push_back(test::models_dir() / "tflite/mp_pose_detection/model.tflite");
  return test::contents_of(paths);
}

TEST(TfliteRobust, the_models_themselves_are_right) {
  const std::vector<std::string> all = models();
  EXPECT_GE(all.size(), 3u);
  test::expect_graphs(all, "tflite");
}

TEST(TfliteRobust, every_truncation) { test::expect_errors_or_graphs_of_parts(models(), {}, test::reader_of("tflite")); }

TEST(TfliteRobust, thousands_of_changed_bytes) { test::expect_errors_or_graphs_of_changed(models(), {}, test::reader_of("tflite")); }

}  // namespace
}  // namespace minnow::tflite
