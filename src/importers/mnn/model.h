// SPDX-License-Identifier: Apache-2.0
// An MNN file's tables: operators, tensors' names, subgraphs, constants, weights in their packed forms.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "importers/flat.h"
#include "importers/onnx/external_data.h"

namespace minnow::mnn {

/// The order of a tensor's dimensions. Packed is a storage format with the dimensions of channels_first.
enum class Layout : int8_t { channels_first = 0, channels_last = 1, packed = 2 };

/// The kinds of parameters (the union OpParameter) by their numbers, as far as rules ask for them.
enum Parameter : uint8_t {
  kNone = 0,
  kArgMax = 2,
  kAxis = 4,
  kBatchNorm = 5,
  kBinaryOp = 6,
  kBlob = 7,
  kCastParam = 8,
  kConvolution2D = 9,
  kCrop = 10,
  kCropAndResize = 11,
  kDequantize = 12,
  kDetectionOutput = 13,
  kEltwise = 14,
  kExpandDims = 15,
  kFlatten = 17,
  kGather = 18,
  kInnerProduct = 20,
  kInput = 21,
  kInterp = 22,
  kLrn = 23,
  kLstm = 24,
  kMatMul = 25,
  kNormalize = 27,
  kPackParam = 28,
  kPermute = 29,
  kPool = 31,
  kPRelu = 32,
  kPriorBox = 33,
  kProposal = 34,
  kReduction = 50,
  kRelu = 51,
  kRelu6 = 52,
  kReshape = 55,
  kResize = 56,
  kRoi = 57,
  kScale = 58,
  kSelu = 59,
  kSlice = 61,
  kSpaceBatch = 63,
  kSqueeze = 64,
  kStridedSlice = 65,
  kTensorConvert = 66,
  kTopK = 68,
  kUnaryOp = 70,
  kMoments = 71,
  kRnn = 72,
  kBatchMatMul = 73,
  kQuantizedFloat = 74,
  kDepthSpace = 75,
  kEltwiseInt8 = 76,
  kReverseSequence = 77,
  kExtra = 78,
  kPool3D = 79,
  kConvolution3D = 80,
  kElu = 81,
  kDetectionPostProcess = 82,
  kOneHot = 83,
  kPad = 84,
  kWhile = 85,
  kIf = 86,
  kRandomUniform = 87,
  kLayerNorm = 88,
  kTensorArray = 89,
  kLstmBlockCell = 90,
  kGridSample = 91,
  kLoop = 92,
  kImageProcess = 93,
  kCumSum = 94,
  kGroupNorm = 95,
  kAttention = 98,
  kStft = 99,
  kLinearAttention = 100,
  kShapeParam = 101,
  kRope = 102,
  kFusedLinear = 103,
};

/// Operators that the importer itself looks at, by their numbers.
inline constexpr int32_t kOpConst = 11, kOpInput = 34, kOpTrainable = 266, kOpExtra = 512;

struct OpInfo {
  int32_t type = 0;
  uint8_t kind = kNone;  // of the parameter
  FlatTable parameter;
  std::string_view name;
  FlatNumbers<int32_t> inputs, outputs;  // tensors; -1: absent
  Layout default_layout = Layout::channels_last;
  std::string_view external_path;
};

/// Scale and range of a tensor whose values the engine keeps as integers.
struct TensorQuantization {
  float scale = 0, zero = 0, low = -128, high = 127;
  int32_t type = 0;
};

struct GraphInfo {
  std::string_view name;
  std::vector<std::string_view> tensors;  // names
  std::vector<OpInfo> ops;
  std::vector<int32_t> inputs, outputs;  // of a subgraph
  std::map<int32_t, TensorQuantization> quantization;
};

/// DType for a number of the file (TensorFlow's). MNN has one type for integers of 32 and 64 bits and truth values: i32. undefined: not
/// supported.
DType dtype_of(int32_t number);

/// The file. Tables are checked while they are read; throws Malformed, and InvalidModel with `source`.
class ModelFile {
 public:
  /// `external` reads the weight file beside the model; `weights_name` is that file's name if the model gives none.
  ModelFile(SharedBytes bytes, std::string source, std::unique_ptr<onnx::ExternalData> external, std::string weights_name);

  const std::string& source() const noexcept { return source_; }
  const GraphInfo& main() const noexcept { return main_; }
  /// Null if there is no subgraph of that name.
  const GraphInfo* subgraph(std::string_view name) const;
  std::vector<std::string_view> output_names() const { return root_.texts(4); }
  std::string_view version() const { return root_.table(2).text(2); }
  /// caffe 0, tensorflow 1, tflite 2, onnx 3, torch 4
  int source_kind() const { return root_.number<int8_t>(6, 0); }

  /// A constant from a table Blob; shares the file's memory if possible. Errors begin with `where`.
  Tensor blob(const FlatTable& blob, const OpInfo& op, const std::string& where);
  /// Piece `index` (1: the first) of a table's external data, which `field` lists: [offset, bytes, bytes, ...]; empty if it has none.
  SharedBytes piece(const FlatTable& table, size_t field, size_t index, const OpInfo& op, const std::string& where);
  /// Numbers that stand in `field`, or as piece `index` outside.
  std::vector<float> reals(const FlatTable& table, size_t field, size_t external_field, size_t index, const OpInfo& op,
                           const std::string& where);
  /// Bytes of a table, with the file's owner.
  SharedBytes in_file(std::span<const std::byte> bytes) const { return bytes_.part(bytes); }
  /// A tensor over bytes of the file or of a piece; copied if they are not aligned.
  Tensor share(DType dtype, const Shape& shape, const SharedBytes& bytes);
  /// Subtracts `cost` bytes from the budget for a file of this size, because a file may refer to the same bytes many times.
  void spend(uint64_t cost);

 private:
  void read_ops(const FlatTables& ops, GraphInfo& graph);
  void read_described(const FlatTables& tables, GraphInfo& graph);

  SharedBytes bytes_;
  std::string source_;
  std::unique_ptr<onnx::ExternalData> external_;
  std::string weights_name_;
  FlatTable root_;
  GraphInfo main_;
  std::vector<GraphInfo> subgraphs_;
  std::map<std::string_view, size_t> subgraph_of_;
  uint64_t budget_;
};

/// True if the bytes look like the root table of an MNN model, which has no magic number.
bool looks_like_model(std::span<const std::byte> bytes);

}  // namespace minnow::mnn
