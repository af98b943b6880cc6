// SPDX-License-Identifier: Apache-2.0
// Conversions may allocate only as much as the file warrants: a small file stays a small model, whatever it declares.
#include <gmock/gmock.h>
#include <minnow/convert.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/graph.h"
#include "support/onnx_messages.h"
#include "support/paths.h"

namespace minnow {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMega = 1000000;

std::string file_of(std::string_view name, std::string_view text) {
  const std::string path = (test::scratch_dir() / name).string();
  save(Model::from_graph(parse_graph(text)), path);
  return path;
}

std::string refusal(const std::string& path, const ConvertOptions& options = {}) {
  try {
    convert(path, options);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return {};
}

// The weights are transposed while converting, so that they are there twice for a moment.
constexpr std::string_view kTransposed = R"(graph {
  input x: f32[4, 1000]
  const w = f32[1000, 1000] random 1
  t = Transpose(w) {perm = [1, 0]}
  r = Relu(t)
  y = MatMul(x, r)
  output y
})";

TEST(ConvertMemory, a_limit_is_kept_and_named) {
  const std::string path = file_of("transposed.onnx", kTransposed);
  EXPECT_EQ(refusal(path), "") << "the size of the file counts";
  EXPECT_EQ(refusal(path, {.verify = true, .memory_limit = 100 * kMega}), "");
  EXPECT_THAT(refusal(path, {.memory_limit = kMega}), HasSubstr("transposed.onnx: 4000000 bytes are needed"));
  // A node that cannot be folded within the limit stays.
  const Model model = convert(path, {.memory_limit = 6 * kMega});
  EXPECT_THAT(to_text(model.graph()), HasSubstr("Transpose"));
}

TEST(ConvertMemory, what_an_importer_makes_counts) {
  // A sparse tensor is written out.
  using namespace test::onnx_file;
  GraphParts parts;
  parts.outputs = {value("y", {})};
  parts.nodes = {node("Identity", {"w"}, {"y"})};
  parts.sparse = {message([](protozero::pbf_writer& w) {
    w.add_message(field::kSparseValues, floats("w", {1}, {1}));
    w.add_message(field::kSparseIndices, ints("i", {1}, {5}));
    w.add_int64(field::kSparseDims, 12 * int64_t{1000000});
  })};
  const std::string bytes = model(parts);
  const auto convert_with = [&](size_t limit) {
    ConvertOptions options;
    options.memory_limit = limit;
    convert_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), options);
  };
  EXPECT_NO_THROW(convert_with(200 * kMega));
  EXPECT_THROW(convert_with(kMega), OutOfMemory);
}

TEST(ConvertMemory, mnn_places_of_a_crop) {
  EXPECT_THAT(refusal((test::source_dir() / "tests/importers/mnn/data/large_crop.mnn").string()),
              AllOf(HasSubstr("large_crop.mnn: "), HasSubstr("--memory-limit")));
}

TEST(ConvertMemory, declared_dimensions_are_not_written_out) {
  const std::string path = file_of("rms.onnx", R"(graph {
    input x: f32[1, 268435456]
    const axes = i64[1] [-1]
    const two = f32[] 2
    const epsilon = f32[] 1e-05
    squares = Pow(x, two)
    mean = ReduceMean(squares, axes)
    sum = Add(mean, epsilon)
    root = Sqrt(sum)
    y = Div(x, root)
    output y
  })");
  const Model model = convert(path);
  EXPECT_LT(model.weight_bytes(), kMega);
}

TEST(ConvertMemory, nodes_count) {
  std::string text = "graph {\n  input x: f32[2]\n  y0 = Neg(x)\n";
  for (int i = 0; i < 3000; ++i) text += "  y" + std::to_string(i + 1) + " = Neg(y" + std::to_string(i) + ")\n";
  const std::string path = file_of("nodes.onnx", text + "  output y3000\n}");
  EXPECT_EQ(refusal(path), "");
  EXPECT_THAT(refusal(path, {.memory_limit = kMega}), HasSubstr("the memory limit is 1000000"));
}

TEST(ConvertMemory, threads_of_the_caller_are_left_as_they_were) {
  const std::string path = file_of("transposed.onnx", kTransposed);
  const auto account = std::make_shared<MemoryAccount>(1000);
  const ChargeTo mine(account);
  EXPECT_EQ(refusal(path), "");
  EXPECT_EQ(account->used(), 0u);
  EXPECT_EQ(current_account(), account);
}

}  // namespace
}  // namespace minnow
