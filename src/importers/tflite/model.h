// SPDX-License-Identifier: Apache-2.0
// A TFLite file's tables: tensors with their quantization and contents, operators, subgraphs.
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "base/shared_bytes.h"
#include "graph/graph.h"
#include "importers/flat.h"

namespace minnow::tflite {

/// Element types by their numbers in the file.
enum class TensorType : int8_t {
  f32 = 0,
  f16 = 1,
  i32 = 2,
  u8 = 3,
  i64 = 4,
  string = 5,
  boolean = 6,
  i16 = 7,
  complex64 = 8,
  i8 = 9,
  f64 = 10,
  complex128 = 11,
  u64 = 12,
  resource = 13,
  variant = 14,
  u32 = 15,
  u16 = 16,
  i4 = 17,
  bf16 = 18,
  i2 = 19,
  u4 = 20,
};

/// How integers stand for real numbers: real = scale * (q - zero_point).
struct TensorQuantization {
  Floats scale;     // empty: not quantized; more than one: along `axis`
  Ints zero_point;  // empty: 0; else one, or as many as scales
  int64_t axis = 0;
  int64_t block = 0;         // elements along the last axis that share a scale; 0: no blocks
  int32_t block_scales = 0;  // tensor of the blocks' scales
  bool per_tensor() const noexcept { return scale.size() == 1; }
  friend bool operator==(const TensorQuantization&, const TensorQuantization&) = default;
};

struct TensorInfo {
  std::string_view name;
  TensorType type = TensorType::f32;
  DType dtype =
      DType::undefined;  // in Minnow: 4- and 2-bit integers are of 8 bits; complex numbers are f32 pairs along a new last dimension
  Ints shape;            // -1: known at run time only
  bool has_rank = true;  // false: `shape` is meaningless
  uint32_t buffer = 0;
  bool is_variable = false;
  TensorQuantization quantization;
  FlatTable sparsity;
  /// True if an integer tensor stands for real numbers.
  bool quantized() const noexcept { return (!quantization.scale.empty() || quantization.block) && is_integer(dtype); }
  bool is_complex() const noexcept { return type == TensorType::complex64 || type == TensorType::complex128; }
  ValueType value_type() const;
};

struct OperatorInfo {
  int32_t code = 0;         // builtin number
  std::string_view custom;  // name of a custom operator (code 32)
  int32_t version = 1;
  FlatNumbers<int32_t> inputs, outputs, intermediates;
  FlatTable options, options2;
  std::span<const std::byte> custom_options;
};

struct SubgraphInfo {
  std::string_view name;
  std::vector<TensorInfo> tensors;
  FlatNumbers<int32_t> inputs, outputs;
  std::vector<OperatorInfo> operators;
};

inline constexpr int32_t kCustomCode = 32;

/// The file. Tables are checked while they are read; throws Malformed, and InvalidModel with `source`.
class ModelFile {
 public:
  ModelFile(SharedBytes bytes, std::string source);

  const std::string& source() const noexcept { return source_; }
  const std::vector<SubgraphInfo>& subgraphs() const noexcept { return subgraphs_; }
  std::string_view description() const { return root_.text(3); }
  /// Name -> contents of the metadata entries.
  const std::map<std::string_view, std::span<const std::byte>>& metadata() const noexcept { return metadata_; }
  FlatTables signatures() const { return root_.tables(7); }
  std::span<const std::byte> bytes() const noexcept { return bytes_.bytes(); }

  bool has_contents(const TensorInfo& tensor) const { return !buffer(tensor.buffer).empty(); }
  /// The contents of a constant tensor, unpacked (4 and 2 bits to 8, sparse to dense); shares the file's memory if it can.
  Tensor contents(const TensorInfo& tensor);

 private:
  SubgraphInfo read_subgraph(const FlatTable& table);
  TensorInfo read_tensor(const FlatTable& table, size_t tensor_count) const;
  std::span<const std::byte> buffer(uint32_t index) const;
  Tensor dense(const TensorInfo& tensor, std::span<const std::byte> bytes);
  void spend(size_t cost);

  SharedBytes bytes_;
  std::string source_;
  FlatTable root_;
  std::vector<std::span<const std::byte>> buffers_;
  struct Code {
    int32_t number;
    std::string_view custom;
    int32_t version;
  };
  std::vector<Code> codes_;
  std::vector<SubgraphInfo> subgraphs_;
  std::map<std::string_view, std::span<const std::byte>> metadata_;
  size_t budget_;  // remaining bytes for tables, because a file may refer to one table many times
};

}  // namespace minnow::tflite
