// SPDX-License-Identifier: Apache-2.0
// Damaged files give an error or a graph, and nothing else.
#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/paths.h"

namespace minnow::mnn {
namespace {

/// Models with packed weights, loops and branches, of the fuzzer's seeds and of the corpus.
std::vector<std::string> models() {
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"weights_8bit", "weights_4bit_blocks", "weights_half", "lstm_loop", "loop", "if", "caffe_mtcnn_det1"})
    paths.push_back(test::source_dir() / "tests/fuzz/seeds/mnn" / (std::string(name) + ".mnn"));
  for (const char* name : {"tf_resnet8", "onnx_aecmos_gru_wq8", "ultraface_rfb_320"})
    paths.push_back(test::corpus_dir() / "mnn" / name / "model.mnn");
  return test::contents_of(paths);
}

TEST(MnnRobust, the_models_themselves_are_right) {
  const std::vector<std::string> all = models();
  EXPECT_GE(all.size(), 7u);
  test::expect_graphs(all, "mnn");
}

TEST(MnnRobust, every_truncation) { test::expect_errors_or_graphs_of_parts(models(), {}, test::reader_of("mnn")); }

TEST(MnnRobust, thousands_of_changed_bytes) { test::expect_errors_or_graphs_of_changed(models(), {}, test::reader_of("mnn")); }

}  // namespace
}  // namespace minnow::mnn
