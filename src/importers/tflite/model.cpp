// SPDX-License-Identifier: Apache-2.0
#include "importers/tflite/model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/numeric.h"

namespace minnow::tflite {
namespace {

constexpr size_t kMostTables = 1'000'000;
constexpr size_t kFreeBudget = size_t{64} << 20;  // beyond 16 times the file

// Numbers of fields.
namespace field {
constexpr size_t kModelCodes = 1, kModelSubgraphs = 2, kModelBuffers = 4, kModelMetadata = 6;
constexpr size_t kCodeByte = 0, kCodeCustom = 1, kCodeVersion = 2, kCode = 3;
constexpr size_t kGraphTensors = 0, kGraphInputs = 1, kGraphOutputs = 2, kGraphOperators = 3, kGraphName = 4;
constexpr size_t kTensorShape = 0, kTensorType = 1, kTensorBuffer = 2, kTensorName = 3, kTensorQuantization = 4, kTensorVariable = 5,
                 kTensorSparsity = 6, kTensorSignature = 7, kTensorHasRank = 8;
constexpr size_t kScale = 2, kZeroPoint = 3, kDetailsType = 4, kDetails = 5, kAxis = 6;
constexpr size_t kOpCode = 0, kOpInputs = 1, kOpOutputs = 2, kOpOptions = 4, kOpCustomOptions = 5, kOpIntermediates = 8, kOpLargeOffset = 9,
                 kOpLargeSize = 10, kOpOptions2 = 12;
constexpr size_t kBufferData = 0, kBufferOffset = 1, kBufferSize = 2;
}  // namespace field

struct TypeRow {
  TensorType type;
  DType dtype;
  size_t bits;
};
constexpr TypeRow kTypes[] = {
    {TensorType::f32, DType::f32, 32},   {TensorType::f16, DType::f16, 16},        {TensorType::i32, DType::i32, 32},
    {TensorType::u8, DType::u8, 8},      {TensorType::i64, DType::i64, 64},        {TensorType::boolean, DType::boolean, 8},
    {TensorType::i16, DType::i16, 16},   {TensorType::complex64, DType::f32, 32},  {TensorType::i8, DType::i8, 8},
    {TensorType::f64, DType::f64, 64},   {TensorType::complex128, DType::f64, 64}, {TensorType::u64, DType::u64, 64},
    {TensorType::u32, DType::u32, 32},   {TensorType::u16, DType::u16, 16},        {TensorType::i4, DType::i8, 4},
    {TensorType::bf16, DType::bf16, 16}, {TensorType::i2, DType::i8, 2},           {TensorType::u4, DType::u8, 4},
};

const TypeRow* row_of(TensorType type) {
  for (const TypeRow& row : kTypes)
    if (row.type == type) return &row;
  return nullptr;
}

/// Numbers of a DimensionMetadata's list, which is a union of three element types.
Ints index_list(const FlatTable& dim, size_t type_field) {
  const FlatTable list = dim.table(type_field + 1);
  switch (dim.number<uint8_t>(type_field, 0)) {
    case 1:
      return list.numbers<int32_t>(0).copy<int64_t>();
    case 2:
      return list.numbers<uint16_t>(0).copy<int64_t>();
    case 3:
      return list.numbers<uint8_t>(0).copy<int64_t>();
    default:
      throw Malformed{"a sparse tensor has indices of an unknown type"};
  }
}

/// Calls place(stored, dense) for each stored element of a sparse tensor, with its index in storage and in the dense tensor. Visits the
/// levels in their stored order; levels beyond the rank are the inner dimensions of blocks.
template <class F>
void walk_sparse(const FlatTable& sparsity, const Shape& shape, F place) {
  const Ints order = sparsity.numbers<int32_t>(0).copy<int64_t>(), blocks = sparsity.numbers<int32_t>(1).copy<int64_t>();
  const FlatTables dims = sparsity.tables(2);
  const size_t rank = shape.rank(), levels = order.size();
  if (dims.size() != levels || levels != rank + blocks.size() || levels > 2 * kMaxRank)
    throw Malformed{"a sparse tensor has a wrong order"};
  struct Level {
    bool csr = false;
    int64_t size = 0, axis = 0, step = 1;  // step: how far one position moves along the axis
    Ints segments, indices;
  };
  std::vector<Level> all(levels);
  std::vector<int64_t> inner(rank, 1);  // block size along each axis
  std::vector<bool> seen(levels);
  for (size_t i = 0; i < levels; ++i) {
    const FlatTable dim = dims[i];
    Level& level = all[i];
    level.csr = dim.number<int8_t>(0, 0) == 1;
    if (order[i] < 0 || order[i] >= static_cast<int64_t>(levels) || seen[static_cast<size_t>(order[i])])
      throw Malformed{"a sparse tensor has a wrong order"};
    seen[static_cast<size_t>(order[i])] = true;
    if (level.csr) {
      level.segments = index_list(dim, 2);
      level.indices = index_list(dim, 4);
    } else {
      level.size = dim.number<int32_t>(1, 0);
      if (level.size < 1) throw Malformed{"a sparse tensor has an empty dimension"};
    }
    const size_t which = static_cast<size_t>(order[i]);
    level.axis = static_cast<int64_t>(which);
    if (which >= rank) {
      level.axis = blocks[which - rank];
      if (level.axis < 0 || level.axis >= static_cast<int64_t>(rank)) throw Malformed{"a sparse tensor has a block of no dimension"};
      if (level.csr) throw Malformed{"a sparse tensor has sparse blocks"};
      inner[static_cast<size_t>(level.axis)] *= level.size;
    }
  }
  for (size_t i = 0; i < levels; ++i)
    if (static_cast<size_t>(order[i]) < rank) all[i].step = inner[static_cast<size_t>(all[i].axis)];
  Ints strides(rank, 1);
  for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];

  std::vector<int64_t> index(rank, 0);
  int64_t stored = 0;
  const int64_t elements = shape.elements();
  const auto walk = [&](const auto& self, size_t depth, int64_t position) -> void {
    if (depth == levels) {
      int64_t at = 0;
      for (size_t i = 0; i < rank; ++i) {
        if (index[i] < 0 || index[i] >= shape[i]) throw Malformed{"a sparse tensor has an element outside of its shape"};
        at += index[i] * strides[i];
      }
      place(stored++, at);
      return;
    }
    const Level& level = all[depth];
    int64_t& coordinate = index[static_cast<size_t>(level.axis)];
    const int64_t before = coordinate;
    if (level.csr) {
      if (position < 0 || position + 1 >= static_cast<int64_t>(level.segments.size())) throw Malformed{"a sparse tensor has too few rows"};
      const int64_t from = level.segments[static_cast<size_t>(position)], to = level.segments[static_cast<size_t>(position) + 1];
      if (from < 0 || to < from || to > static_cast<int64_t>(level.indices.size()))
        throw Malformed{"a sparse tensor has a row out of range"};
      for (int64_t i = from; i < to; ++i) {
        coordinate = before + level.indices[static_cast<size_t>(i)] * level.step;
        self(self, depth + 1, i);
      }
    } else {
      if (position > elements) throw Malformed{"a sparse tensor is larger than its shape"};
      for (int64_t i = 0; i < level.size; ++i) {
        coordinate = before + i * level.step;
        self(self, depth + 1, position * level.size + i);
      }
    }
    coordinate = before;
  };
  if (elements > 0) walk(walk, 0, 0);
}

}  // namespace

ValueType TensorInfo::value_type() const {
  ValueType value = ValueType::tensor(dtype);
  if (!has_rank) return value;
  value.dims.emplace();
  for (int64_t size : shape) value.dims->push_back(Dim{size, {}});
  if (is_complex()) value.dims->push_back(Dim{2, {}});
  return value;
}

ModelFile::ModelFile(SharedBytes whole, std::string source)
    : bytes_(std::move(whole)), source_(std::move(source)), budget_(kFreeBudget + 16 * bytes_.size()) {
  const std::span<const std::byte> bytes = bytes_.bytes();
  root_ = FlatTable::root(bytes);
  const FlatTables buffers = root_.tables(field::kModelBuffers);
  spend(buffers.size() * 16);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const FlatTable one = buffers[i];
    const uint64_t offset = one.number<uint64_t>(field::kBufferOffset, 0), size = one.number<uint64_t>(field::kBufferSize, 0);
    if (offset > 1) {  // beyond the flatbuffer, in files of more than 2 GB
      if (offset > bytes.size() || size > bytes.size() - offset) throw Malformed{"a buffer lies outside of the file"};
      buffers_.push_back(bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size)));
    } else {
      buffers_.push_back(one.numbers<uint8_t>(field::kBufferData).bytes());
    }
  }
  const FlatTables codes = root_.tables(field::kModelCodes);
  spend(codes.size() * 32);
  for (size_t i = 0; i < codes.size(); ++i) {
    const FlatTable one = codes[i];
    codes_.push_back({std::max<int32_t>(one.number<int8_t>(field::kCodeByte, 0), one.number<int32_t>(field::kCode, 0)),
                      one.text(field::kCodeCustom), one.number<int32_t>(field::kCodeVersion, 1)});
  }
  const FlatTables subgraphs = root_.tables(field::kModelSubgraphs);
  if (subgraphs.size() == 0) throw Malformed{"it holds no graph"};
  for (size_t i = 0; i < subgraphs.size(); ++i) subgraphs_.push_back(read_subgraph(subgraphs[i]));
  const FlatTables metadata = root_.tables(field::kModelMetadata);
  spend(metadata.size() * 64);
  for (size_t i = 0; i < metadata.size(); ++i) {
    const FlatTable one = metadata[i];
    metadata_[one.text(0)] = buffer(one.number<uint32_t>(1, 0));
  }
}

void ModelFile::spend(size_t cost) {
  if (cost > budget_) throw Malformed{"its tables refer to each other too often"};
  budget_ -= cost;
}

std::span<const std::byte> ModelFile::buffer(uint32_t index) const {
  if (index >= buffers_.size()) {
    if (index == 0) return {};
    throw Malformed{"a tensor refers to a buffer that is not there"};
  }
  return index == 0 ? std::span<const std::byte>() : buffers_[index];
}

SubgraphInfo ModelFile::read_subgraph(const FlatTable& table) {
  SubgraphInfo graph;
  graph.name = table.text(field::kGraphName).substr(0, 200);
  graph.inputs = table.numbers<int32_t>(field::kGraphInputs);
  graph.outputs = table.numbers<int32_t>(field::kGraphOutputs);
  const FlatTables tensors = table.tables(field::kGraphTensors), operators = table.tables(field::kGraphOperators);
  if (tensors.size() > kMostTables || operators.size() > kMostTables)
    throw Malformed{"a graph has more than a million tensors or operators"};
  spend(tensors.size() * 64 + operators.size() * 64 + (graph.inputs.size() + graph.outputs.size()) * 16);
  for (size_t i = 0; i < tensors.size(); ++i) {
    graph.tensors.push_back(read_tensor(tensors[i], tensors.size()));
    spend(graph.tensors.back().quantization.scale.size() * 4 + graph.tensors.back().quantization.zero_point.size() * 8);
  }
  for (size_t i = 0; i < operators.size(); ++i) {
    const FlatTable one = operators[i];
    OperatorInfo op;
    const uint32_t code = one.number<uint32_t>(field::kOpCode, 0);
    if (code >= codes_.size()) throw Malformed{"an operator refers to a code that is not there"};
    op.code = codes_[code].number;
    op.custom = codes_[code].custom.substr(0, 200);
    op.version = codes_[code].version;
    op.inputs = one.numbers<int32_t>(field::kOpInputs);
    op.outputs = one.numbers<int32_t>(field::kOpOutputs);
    op.intermediates = one.numbers<int32_t>(field::kOpIntermediates);
    spend((op.inputs.size() + op.outputs.size() + op.intermediates.size()) * 16);
    for (const FlatNumbers<int32_t>& list : {op.inputs, op.outputs, op.intermediates})
      for (size_t k = 0; k < list.size(); ++k)
        if (list[k] < -1 || list[k] >= static_cast<int64_t>(tensors.size()))
          throw Malformed{"an operator refers to a tensor that is not there"};
    op.options = one.table(field::kOpOptions);
    op.options2 = one.table(field::kOpOptions2);
    op.custom_options = one.numbers<uint8_t>(field::kOpCustomOptions).bytes();
    if (const uint64_t offset = one.number<uint64_t>(field::kOpLargeOffset, 0); offset > 1) {
      const uint64_t size = one.number<uint64_t>(field::kOpLargeSize, 0);
      if (offset > bytes_.size() || size > bytes_.size() - offset) throw Malformed{"custom options lie outside of the file"};
      op.custom_options = bytes_.bytes().subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
    }
    graph.operators.push_back(op);
  }
  for (const FlatNumbers<int32_t>& list : {graph.inputs, graph.outputs})
    for (size_t k = 0; k < list.size(); ++k)
      if (list[k] < 0 || list[k] >= static_cast<int64_t>(tensors.size()))
        throw Malformed{"a graph has an input or output that is not there"};
  return graph;
}

TensorInfo ModelFile::read_tensor(const FlatTable& table, size_t tensor_count) const {
  TensorInfo tensor;
  tensor.name = table.text(field::kTensorName).substr(0, 500);
  tensor.type = static_cast<TensorType>(table.number<int8_t>(field::kTensorType, 0));
  if (const TypeRow* row = row_of(tensor.type)) tensor.dtype = row->dtype;
  const FlatNumbers<int32_t> shape = table.numbers<int32_t>(field::kTensorShape),
                             signature = table.numbers<int32_t>(field::kTensorSignature);
  if (shape.size() > kMaxRank) throw Malformed{"a tensor has more than 32 dimensions"};
  tensor.shape = shape.copy<int64_t>();
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (signature.size() == tensor.shape.size() && signature[i] == -1) tensor.shape[i] = -1;
    if (tensor.shape[i] < -1) throw Malformed{"a tensor has a negative dimension"};
  }
  tensor.has_rank = !tensor.shape.empty() || table.flag(field::kTensorHasRank, false);
  tensor.buffer = table.number<uint32_t>(field::kTensorBuffer, 0);
  if (tensor.buffer >= buffers_.size() && tensor.buffer != 0) throw Malformed{"a tensor refers to a buffer that is not there"};
  tensor.is_variable = table.flag(field::kTensorVariable, false);
  tensor.sparsity = table.table(field::kTensorSparsity);
  const FlatTable quantization = table.table(field::kTensorQuantization);
  const FlatNumbers<float> scale = quantization.numbers<float>(field::kScale);
  const FlatNumbers<int64_t> zero_point = quantization.numbers<int64_t>(field::kZeroPoint);
  TensorQuantization& q = tensor.quantization;
  // Scales of 0 are written for tensors that are not quantized.
  if (scale.size() > 1 || (scale.size() == 1 && scale[0] != 0)) {
    q.scale = scale.copy<float>();
    q.zero_point = zero_point.copy<int64_t>();
    q.axis = scale.size() > 1 ? quantization.number<int32_t>(field::kAxis, 0) : 0;
    if (q.zero_point.size() > 1 && q.zero_point.size() != q.scale.size()) throw Malformed{"a tensor has not as many zero points as scales"};
    const DType stored = is_integer(tensor.dtype) ? tensor.dtype : DType::i32;
    for (int64_t zero : q.zero_point)
      if (zero < lowest_of(stored) || zero > highest_of(stored))
        throw InvalidModel("{}: tensor \"{}\": a zero point of {} does not fit {}", source_, tensor.name.substr(0, 200), zero, stored);
    if (q.scale.size() > 1) {
      const size_t rank = tensor.shape.size();
      if (q.axis < 0 || static_cast<size_t>(q.axis) >= rank ||
          tensor.shape[static_cast<size_t>(q.axis)] != static_cast<int64_t>(scale.size()))
        throw Malformed{"a tensor has not as many scales as elements along their dimension"};
    }
  }
  if (quantization.number<uint8_t>(field::kDetailsType, 0) == 2) {
    const FlatTable blocks = quantization.table(field::kDetails);
    q = {};
    q.block_scales = blocks.number<int32_t>(0, 0);
    q.block = blocks.number<int32_t>(2, 0);
    if (q.block <= 0 || q.block_scales < 0 || static_cast<size_t>(q.block_scales) >= tensor_count)
      throw Malformed{"a tensor has a wrong block size or no scales of blocks"};
  }
  return tensor;
}

Tensor ModelFile::dense(const TensorInfo& tensor, std::span<const std::byte> bytes) {
  const TypeRow* row = row_of(tensor.type);
  if (!row)
    throw Unsupported("{}: tensor \"{}\": holds elements of type {}, which are not supported", source_, tensor.name.substr(0, 200),
                      static_cast<int>(tensor.type));
  Shape shape(tensor.shape);
  for (int64_t size : shape)
    if (size < 0) throw Malformed{"a constant has an unknown dimension"};
  if (tensor.is_complex()) shape.push_back(2);
  const int64_t elements = shape.elements();
  const auto wanted = [&](int64_t count) { return (static_cast<uint64_t>(count) * row->bits + 7) / 8; };
  if (!tensor.sparsity) {
    if (static_cast<uint64_t>(elements) > (uint64_t{1} << 50) || wanted(elements) != bytes.size())
      throw InvalidModel("{}: tensor \"{}\": of shape {} should hold {} bytes, it holds {}", source_, tensor.name.substr(0, 200), shape,
                         wanted(elements), bytes.size());
    if (row->bits >= 8) {
      const SharedBytes held = bytes_.part(bytes);
      if (row->dtype != DType::boolean && held.can_share(row->dtype)) return held.tensor(row->dtype, shape);
      spend(bytes.size());
      Tensor copy(row->dtype, shape);
      if (!bytes.empty()) std::memcpy(copy.writable().data(), bytes.data(), bytes.size());
      return copy;
    }
  } else if (static_cast<uint64_t>(elements) * size_of(row->dtype) > budget_) {
    throw Malformed{"a sparse tensor is much larger than the file"};
  }
  spend(static_cast<size_t>(elements) * size_of(row->dtype));
  Tensor made(row->dtype, shape);
  std::byte* const to = made.writable().data<std::byte>();
  const auto element = [&](int64_t i) {  // of 4 or 2 bits, the first in the low bits; signed ones are sign-extended
    const size_t per_byte = 8 / row->bits, at = static_cast<size_t>(i) / per_byte;
    const int shift = 8 - static_cast<int>((static_cast<size_t>(i) % per_byte + 1) * row->bits);
    const uint8_t top = static_cast<uint8_t>(static_cast<uint8_t>(bytes[at]) << shift);
    return static_cast<std::byte>(is_signed(row->dtype) ? static_cast<int8_t>(top) >> (8 - row->bits) : top >> (8 - row->bits));
  };
  if (!tensor.sparsity) {
    for (int64_t i = 0; i < elements; ++i) to[i] = element(i);
    return made;
  }
  const size_t size = size_of(row->dtype);
  const uint64_t stored = bytes.size() * 8 / row->bits;
  if (tensor.quantization.zero_point.size() == 1 && size == 1)
    std::memset(to, static_cast<int>(tensor.quantization.zero_point[0]), static_cast<size_t>(elements));
  walk_sparse(tensor.sparsity, shape, [&](int64_t from, int64_t at) {
    if (static_cast<uint64_t>(from) >= stored) throw Malformed{"a sparse tensor has fewer elements than places"};
    if (row->bits < 8)
      to[at] = element(from);
    else
      std::memcpy(to + static_cast<size_t>(at) * size, bytes.data() + static_cast<size_t>(from) * size, size);
  });
  return made;
}

Tensor ModelFile::contents(const TensorInfo& tensor) { return dense(tensor, buffer(tensor.buffer)); }

}  // namespace minnow::tflite
