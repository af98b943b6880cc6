// SPDX-License-Identifier: Apache-2.0
// data/twice_affine: y = (x w + b) w + b, saved by TensorFlow 2 with w = [[1, 2], [3, 4]], b = [0.5, -0.5] as variables.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "importers/formats.h"
#include "ops/evaluate.h"
#include "support/paths.h"

namespace minnow::tensorflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class SavedModel : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::scratch_dir() / "twice_affine";
    fs::remove_all(folder_);
    fs::copy(test::source_dir() / "tests" / "importers" / "tensorflow" / "data" / "twice_affine", folder_, fs::copy_options::recursive);
  }
  std::unique_ptr<Graph> import_folder(const std::string& signature = {}) {
    ImportOptions options;
    options.signature = signature;
    return import_tensorflow((folder_ / "saved_model.pb").string(), options);
  }
  std::string error(const std::string& signature = {}) {
    try {
      import_folder(signature);
    } catch (const Error& found) {
      EXPECT_NE(found.kind(), ErrorKind::internal) << found.what();
      return found.what();
    }
    return {};
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  fs::path folder_;
};

TEST_F(SavedModel, variables_come_from_the_checkpoint_and_names_from_the_signature) {
  const auto graph = import_folder();
  ASSERT_EQ(graph->inputs().size(), 1u);
  EXPECT_EQ(graph->inputs()[0]->name(), "x");
  ASSERT_EQ(graph->outputs().size(), 1u);
  EXPECT_EQ(graph->outputs()[0]->name(), "y");
  const std::vector<float> x = {1, 1};
  const Tensor y = evaluate(OperatorSet::builtin(), *graph, std::vector<Datum>{Datum(Tensor::of_f32({1, 2}, x))})[0].tensor;
  EXPECT_THAT(std::vector<float>(y.data<float>(), y.data<float>() + 2), ElementsAre(21.5f, 30.5f));
}

TEST_F(SavedModel, is_recognized_by_content) {
  const std::string bytes = read(folder_ / "saved_model.pb");
  const Format* format = recognize_format(std::as_bytes(std::span(bytes.data(), bytes.size())));
  ASSERT_TRUE(format);
  EXPECT_EQ(format->name, "tensorflow");
}

TEST_F(SavedModel, errors_say_what_is_missing) {
  EXPECT_THAT(error("other"), HasSubstr("no signature \"other\"; there is \"serving_default\""));
  fs::remove(folder_ / "variables" / "variables.index");
  EXPECT_THAT(error(), HasSubstr("its value is not in the file, nor in a checkpoint beside it"));
}

TEST_F(SavedModel, a_changed_weight_is_noticed) {
  const fs::path path = folder_ / "variables" / "variables.data-00000-of-00001";
  std::string bytes = read(path);
  for (size_t i = 0; i < 24; ++i) bytes[i] ^= 1;  // the variables come first, bookkeeping after them
  write(path, bytes);
  EXPECT_THAT(error(), HasSubstr("has a wrong checksum"));
}

TEST_F(SavedModel, damaged_files_give_an_error_or_a_graph) {
  for (const char* name : {"saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"}) {
    const fs::path path = folder_ / name;
    const std::string whole = read(path);
    const size_t step = std::max<size_t>(1, whole.size() / 100);
    for (size_t at = 0; at < whole.size(); at += step) {
      write(path, whole.substr(0, at));
      error();
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      write(path, changed);
      error();
    }
    write(path, whole);
  }
  EXPECT_EQ(error(), "");
}

}  // namespace
}  // namespace minnow::tensorflow
