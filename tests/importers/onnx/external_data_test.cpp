// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/external_data.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "importers/importer.h"
#include "support/onnx_messages.h"
#include "support/operators.h"
#include "support/paths.h"

namespace minnow::onnx {
namespace {

using namespace test::onnx_file;
using test::numbers;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
namespace fs = std::filesystem;

std::string external_tensor(const std::string& name, const std::vector<std::pair<std::string, std::string>>& entries) {
  return message([&](protozero::pbf_writer& w) {
    w.add_int64(field::kTensorDims, 2);
    w.add_int32(field::kTensorDataType, 1);
    w.add_string(field::kTensorName, name);
    for (const auto& entry : entries)  // no structured binding: clang 14 cannot capture one
      w.add_message(field::kTensorExternalData, message([&](protozero::pbf_writer& e) {
                      e.add_string(field::kEntryKey, entry.first);
                      e.add_string(field::kEntryValue, entry.second);
                    }));
    w.add_int32(field::kTensorDataLocation, 1);
  });
}

std::string model_with(const std::vector<std::pair<std::string, std::string>>& entries) {
  return model(GraphParts{.inputs = {value("x")},
                          .outputs = {value("y")},
                          .nodes = {node("Add", {"x", "w"}, {"y"})},
                          .initializers = {external_tensor("w", entries)}});
}

class OnnxExternalData : public testing::Test {
 protected:
  void SetUp() override {
    folder = test::scratch_dir() / "external" / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder / "in" / "sub");
    write(folder / "secret.bin", "01234567");
    const std::vector<float> values = {0, 1, 2, 3};
    write(folder / "in" / "w.bin", bytes_of(values));
    write(folder / "in" / "sub" / "w.bin", bytes_of(values));
  }
  static void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  std::unique_ptr<Graph> import(const std::vector<std::pair<std::string, std::string>>& entries) {
    write(folder / "in" / "model.onnx", model_with(entries));
    return import_onnx((folder / "in" / "model.onnx").string());
  }
  std::vector<double> weights(const std::vector<std::pair<std::string, std::string>>& entries) {
    return numbers(*import(entries)->constants().at(0)->constant());
  }
  fs::path folder;
};

TEST_F(OnnxExternalData, offset_and_length) {
  EXPECT_THAT(weights({{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}}), ElementsAre(2, 3));
  EXPECT_THAT(weights({{"location", "sub/w.bin"}, {"offset", "4"}, {"checksum", "00"}}), ElementsAre(1, 2));
  EXPECT_THAT(weights({{"location", "./w.bin"}}), ElementsAre(0, 1));
}

TEST_F(OnnxExternalData, a_location_must_stay_in_the_folder) {
  for (const char* location :
       {"../secret.bin", "sub/../../secret.bin", "/etc/passwd", "", "\\secret.bin", "C:\\secret.bin", "..\\secret.bin"})
    EXPECT_THAT([&] { import(
                          {{ "location",
                             location }}); }, ThrowsMessage<InvalidModel>(HasSubstr("inside the model's folder")))
        << location;
  EXPECT_THROW(import({{"location", (folder / "in" / "w.bin").string()}}), InvalidModel);
  fs::create_symlink(folder / "secret.bin", folder / "in" / "link.bin");
  EXPECT_THAT([&] { import({{ "location", "link.bin" }}); }, ThrowsMessage<InvalidModel>(HasSubstr("a link out of the model's folder")));
  fs::create_directory_symlink(folder, folder / "in" / "up");
  EXPECT_THROW(import({{"location", "up/secret.bin"}}), InvalidModel);
}

TEST_F(OnnxExternalData, a_piece_must_lie_in_its_file) {
  EXPECT_THAT(
      [&] {
        import({{"location", "w.bin"}, { "offset", "12" }});
      },
      ThrowsMessage<InvalidModel>(HasSubstr("initializer \"w\": its external data is 8 bytes at offset 12 of \"w.bin\", which has 16")));
  EXPECT_THROW(import({{"location", "w.bin"}, {"offset", "18446744073709551615"}}), InvalidModel);
  EXPECT_THROW(import({{"location", "w.bin"}, {"offset", "-4"}}), InvalidModel);
  EXPECT_THROW(import({{"location", "w.bin"}, {"length", "4"}}), InvalidModel);
  EXPECT_THROW(import({{"location", "none.bin"}}), IoError);
}

TEST_F(OnnxExternalData, memory_has_no_folder_unless_one_is_named) {
  const std::string bytes = model_with({{"location", "w.bin"}});
  EXPECT_THAT([&] { import_onnx(as_bytes(bytes), nullptr); }, ThrowsMessage<InvalidModel>(HasSubstr("no folder")));
  ImportOptions options;
  options.external_folder = (folder / "in").string();
  EXPECT_THAT(numbers(*import_onnx(as_bytes(bytes), nullptr, options)->constants().at(0)->constant()), ElementsAre(0, 1));
}

TEST_F(OnnxExternalData, through_a_callback) {
  const std::vector<float> values = {5, 6, 7};
  const std::string bytes = model_with({{"location", "weights/w"}, {"offset", "4"}}), weights = bytes_of(values);
  const ReadCallback read = [&](const std::string& name, uint64_t offset, void* buffer, size_t size) -> size_t {
    const std::string& file = name.empty() ? bytes : weights;
    EXPECT_TRUE(name.empty() || name == "weights/w");
    if (offset >= file.size()) return 0;
    const size_t got = std::min<size_t>(size, file.size() - offset);
    std::memcpy(buffer, file.data() + offset, got);
    return got;
  };
  EXPECT_THAT(numbers(*import_onnx(read)->constants().at(0)->constant()), ElementsAre(6, 7));
  const ReadCallback broken = [](const std::string&, uint64_t, void*, size_t size) { return size + 1; };
  EXPECT_THROW(import_onnx(broken), InvalidArgument);
}

}  // namespace
}  // namespace minnow::onnx
