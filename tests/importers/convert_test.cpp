// SPDX-License-Identifier: Apache-2.0
// Models that come through a read callback.
#include <gmock/gmock.h>
#include <minnow/convert.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/model_file.h"
#include "support/onnx_messages.h"
#include "support/paths.h"

namespace minnow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// y = x * w, with w in a file of its own.
std::string onnx_bytes() {
  using namespace test::onnx_file;
  GraphParts parts;
  parts.inputs = {value("x", tensor_type(DType::f32, {"3"}))};
  parts.outputs = {value("y", {})};
  parts.nodes = {node("Mul", {"x", "w"}, {"y"})};
  parts.initializers = {message([](protozero::pbf_writer& w) {
    w.add_int64(field::kTensorDims, 3);
    w.add_int32(field::kTensorDataType, static_cast<int32_t>(DType::f32));
    w.add_string(field::kTensorName, "w");
    for (const auto& entry : std::vector<std::pair<std::string, std::string>>{{"location", "folder/w.bin"}, {"offset", "8"}})
      w.add_message(field::kTensorExternalData, message([&](protozero::pbf_writer& e) {
                      e.add_string(field::kEntryKey, entry.first);
                      e.add_string(field::kEntryValue, entry.second);
                    }));
    w.add_int32(field::kTensorDataLocation, 1);
  })};
  return model(parts);
}

using Files = std::map<std::string, std::string>;

/// A reader of files in memory; notes what was asked for.
ReadCallback reader(const Files& files, std::vector<std::string>* asked = nullptr) {
  return [&files, asked](const std::string& name, uint64_t offset, void* buffer, size_t bytes) -> size_t {
    if (asked && (asked->empty() || asked->back() != name)) asked->push_back(name);
    const auto file = files.find(name);
    if (file == files.end()) throw IoError("{}: there is no such thing in the archive", name);
    if (offset >= file->second.size()) return 0;
    const size_t count = std::min<uint64_t>(bytes, file->second.size() - offset);
    std::memcpy(buffer, file->second.data() + offset, count);
    return count;
  };
}

std::vector<float> run(const Model& model) {
  SessionOptions options;
  options.threads = 1;
  Session session(model, options);
  const Tensor y = session.run({Tensor::of_f32({3}, std::vector<float>{1, 2, 3})})[0];
  return {y.data<float>(), y.data<float>() + y.elements()};
}

Files onnx_files() {
  return {{"", onnx_bytes()}, {"folder/w.bin", std::string(8, '\0') + test::onnx_file::bytes_of(std::vector<float>{5, 6, 7})}};
}

TEST(ConvertRead, onnx_with_data_beside_it) {
  const Files files = onnx_files();
  std::vector<std::string> asked;
  const Model model = convert_read(reader(files, &asked));
  EXPECT_THAT(run(model), ElementsAre(5, 12, 21));
  EXPECT_THAT(asked, ElementsAre("", "folder/w.bin"));
  // The same as from a file, the hash of the source included.
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "minnow_convert_read";
  std::filesystem::create_directories(folder / "folder");
  for (const auto& [name, bytes] : files) std::ofstream(folder / (name.empty() ? "model.onnx" : name), std::ios::binary) << bytes;
  const Model from_file = convert((folder / "model.onnx").string());
  EXPECT_EQ(model.graph().metadata.source_format, "onnx");
  EXPECT_EQ(model.graph().metadata.source_hash, from_file.graph().metadata.source_hash);
  EXPECT_EQ(model.graph().metadata.source_hash.size(), 64u);
  std::filesystem::remove_all(folder);
}

TEST(ConvertRead, a_model_larger_than_what_is_read_at_once) {
  // Formats are recognized by the first 64 KiB, files are read in growing pieces of a megabyte and more.
  using namespace test::onnx_file;
  GraphParts parts;
  const int64_t count = 700000;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000);
  parts.inputs = {value("x", tensor_type(DType::f32, {"3"}))};
  parts.outputs = {value("y", {})};
  parts.nodes = {node("ReduceSum", {"w"}, {"s"}, {attribute("keepdims", int64_t{0})}), node("Mul", {"x", "s"}, {"y"})};
  parts.initializers = {floats("w", {count}, values)};
  const Files files = {{"", model(parts)}};
  double sum = 0;
  for (float v : values) sum += v;
  EXPECT_NEAR(run(convert_read(reader(files)))[2] / (3 * sum), 1, 1e-5);
}

TEST(ConvertRead, minnow_files) {
  const Files source = onnx_files();
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "minnow_convert_read.minnow";
  save(convert_read(reader(source)), path.string());
  std::ifstream file(path, std::ios::binary);
  const Files files = {{"", std::string(std::istreambuf_iterator<char>(file), {})}};
  const Model model = convert_read(reader(files));
  EXPECT_THAT(run(model), ElementsAre(5, 12, 21));
  EXPECT_EQ(model.graph().metadata.source_format, "onnx") << "keeps what the file says";
  std::filesystem::remove(path);
}

TEST(Convert, once_optimizes_what_no_conversion_wrote) {
  using namespace test::onnx_file;
  GraphParts parts;
  parts.inputs = {value("x", tensor_type(DType::f32, {"3"}))};
  parts.outputs = {value("y", {})};
  parts.nodes = {node("ReduceSum", {"w"}, {"s"}, {attribute("keepdims", int64_t{0})}), node("Mul", {"x", "s"}, {"y"})};
  parts.initializers = {floats("w", {2}, {1, 2})};
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "minnow_convert_once.minnow";
  ConvertOptions none, once;
  none.optimize = Optimize::none, once.optimize = Optimize::once;
  const Model plain = convert_read(reader({{"", model(parts)}}), none);
  save(plain, path.string());
  EXPECT_EQ(convert(path.string(), once).graph().node_count(), 2u) << "converted, by options of that time";
  EXPECT_EQ(convert(path.string()).graph().node_count(), 1u);
  const std::unique_ptr<Graph> graph = plain.graph().clone();
  graph->metadata.source_format.clear();  // as expressions are saved
  write_model(*graph, path.string());
  const Model optimized = convert(path.string(), once);
  EXPECT_EQ(optimized.graph().node_count(), 1u);
  EXPECT_EQ(convert_model(Model::load(path.string()), once).graph().node_count(), 1u);
  save(optimized, path.string());
  EXPECT_EQ(convert(path.string(), once).graph().metadata.source_format, "minnow");
  EXPECT_THAT(run(convert(path.string(), once)), ElementsAre(3, 6, 9));
  std::filesystem::remove(path);
}

TEST(ConvertRead, options_hold) {
  const Files files = onnx_files();
  ConvertOptions options;
  options.renames = {{"y", "product"}};
  options.verify = true;
  EXPECT_EQ(convert_read(reader(files), options).outputs()[0].name, "product");
}

TEST(Convert, a_format_may_be_named) {
  size_t read = 0;
  const std::filesystem::path seeds = test::source_dir() / "tests/fuzz/seeds";
  for (const std::string& format : formats())
    for (const auto& entry : std::filesystem::directory_iterator(seeds / format)) {
      ConvertOptions options;
      options.warn = [](std::string_view) {};
      size_t nodes = 0;
      try {
        nodes = convert(entry.path().string(), options).graph().node_count();
      } catch (const Error&) {
        continue;  // half of a Caffe model
      }
      for (const std::string& named : formats()) {
        options.format = named;
        if (named == format) {
          EXPECT_EQ(convert(entry.path().string(), options).graph().node_count(), nodes) << entry.path();
          ++read;
        } else {
          EXPECT_THROW(convert(entry.path().string(), options), Error) << entry.path() << " as " << named;
        }
      }
    }
  EXPECT_GE(read, 6u);
  ConvertOptions options;
  options.format = "keras";
  EXPECT_THAT([&] { convert("model.h5", options); }, ThrowsMessage<Error>(HasSubstr("model.h5: cannot be opened")));
  EXPECT_THAT([&] { convert_read(reader(onnx_files()), options); },
              ThrowsMessage<Error>(HasSubstr("there is no format \"keras\"; there are minnow, tflite")));
  options.format = "onnx";
  EXPECT_THAT(run(convert_read(reader(onnx_files()), options)), ElementsAre(5, 12, 21));
}

TEST(ConvertRead, what_goes_wrong) {
  Files files = onnx_files();
  files.erase("folder/w.bin");
  EXPECT_THAT([&] { convert_read(reader(files)); }, ThrowsMessage<Error>(HasSubstr("folder/w.bin: there is no such thing in the archive")));
  files = onnx_files();
  files["folder/w.bin"].resize(12);
  EXPECT_THAT([&] { convert_read(reader(files)); }, ThrowsMessage<Error>(HasSubstr("\"w\"")));
  files = onnx_files();
  files[""].resize(files[""].size() - 5);
  EXPECT_THROW(convert_read(reader(files)), Error);
  EXPECT_THAT(
      [&] {
        convert_read(reader({{"", "neither one nor the other"}}));
      },
      ThrowsMessage<Error>(HasSubstr("none of the known formats")));
  EXPECT_THROW(convert_read(reader({{"", ""}})), Error);
  EXPECT_THROW(convert_read(reader({})), Error);
  const std::string bytes = onnx_bytes();
  // Claims to have given more than there was room for.
  EXPECT_THAT(([&] {
                convert_read([&](const std::string&, uint64_t, void* buffer, size_t room) -> size_t {
                  std::memcpy(buffer, bytes.data(), std::min(room, bytes.size()));
                  return room + 7;
                });
              }),
              ThrowsMessage<Error>(HasSubstr("the read callback says that it gave")));
}

}  // namespace
}  // namespace minnow
