// SPDX-License-Identifier: Apache-2.0
#include "importers/mnn/model.h"

#include <cstring>

#include "base/error.h"
#include "base/numeric.h"

namespace minnow::mnn {
namespace {

constexpr uint64_t kFreeBudget = uint64_t{64} << 20;
constexpr size_t kMostTables = 1'000'000;

// Numbers of the fields, by table.
namespace field {
constexpr size_t kNetDescribed = 1, kNetOps = 3, kNetTensors = 7, kNetSubgraphs = 10;
constexpr size_t kOpInputs = 0, kOpKind = 1, kOpParameter = 2, kOpName = 3, kOpOutputs = 4, kOpType = 5, kOpLayout = 6, kOpExternal = 7;
constexpr size_t kGraphName = 0, kGraphInputs = 1, kGraphOutputs = 2, kGraphTensors = 3, kGraphOps = 4, kGraphDescribed = 5;
constexpr size_t kDescribedIndex = 1, kDescribedQuantization = 4;
constexpr size_t kBlobDims = 0, kBlobType = 2, kBlobU8 = 3, kBlobI8 = 4, kBlobI32 = 5, kBlobI64 = 6, kBlobF32 = 7, kBlobExternal = 9;
}  // namespace field

Layout layout_of(int8_t number) {
  if (number < 0 || number > 2) return Layout::channels_first;
  return static_cast<Layout>(number);
}

}  // namespace

DType dtype_of(int32_t number) {
  switch (number) {
    case 1:  // float
    case 2:  // double
      return DType::f32;
    case 3:   // int32
    case 9:   // int64
    case 10:  // bool
    case 13:  // qint32
      return DType::i32;
    case 4:   // uint8
    case 12:  // quint8
      return DType::u8;
    case 5:   // int16
    case 15:  // qint16
      return DType::i16;
    case 6:   // int8
    case 11:  // qint8
      return DType::i8;
    case 14:
      return DType::bf16;
    case 16:  // quint16
    case 17:  // uint16
      return DType::u16;
    case 19:
      return DType::f16;
    default:
      return DType::undefined;
  }
}

ModelFile::ModelFile(SharedBytes bytes, std::string source, std::unique_ptr<onnx::ExternalData> external, std::string weights_name)
    : bytes_(std::move(bytes)),
      source_(std::move(source)),
      external_(std::move(external)),
      weights_name_(std::move(weights_name)),
      budget_(kFreeBudget + 32 * static_cast<uint64_t>(bytes_.size())) {
  root_ = FlatTable::root(bytes_.bytes());
  main_.tensors = root_.texts(field::kNetTensors);
  read_ops(root_.tables(field::kNetOps), main_);
  read_described(root_.tables(field::kNetDescribed), main_);
  if (main_.ops.empty()) throw Malformed{"it holds no operators"};
  const FlatTables subgraphs = root_.tables(field::kNetSubgraphs);
  if (subgraphs.size() > kMostTables) throw Malformed{"it holds more than a million subgraphs"};
  for (size_t i = 0; i < subgraphs.size(); ++i) {
    const FlatTable table = subgraphs[i];
    GraphInfo& graph = subgraphs_.emplace_back();
    graph.name = table.text(field::kGraphName);
    graph.tensors = table.texts(field::kGraphTensors);
    graph.inputs = table.numbers<int32_t>(field::kGraphInputs).copy<int32_t>();
    graph.outputs = table.numbers<int32_t>(field::kGraphOutputs).copy<int32_t>();
    spend(graph.tensors.size() * 16 + (graph.inputs.size() + graph.outputs.size()) * 4);
    for (const std::vector<int32_t>& list : {graph.inputs, graph.outputs})
      for (int32_t tensor : list)
        if (tensor < 0 || static_cast<size_t>(tensor) >= graph.tensors.size())
          throw Malformed{"a subgraph has an input or output that is not there"};
    read_ops(table.tables(field::kGraphOps), graph);
    read_described(table.tables(field::kGraphDescribed), graph);
    subgraph_of_.emplace(graph.name, i);
  }
}

void ModelFile::spend(uint64_t cost) {
  if (cost > budget_) throw Malformed{"its tables refer to each other too often"};
  budget_ -= cost;
}

void ModelFile::read_ops(const FlatTables& ops, GraphInfo& graph) {
  if (ops.size() > kMostTables || graph.tensors.size() > kMostTables)
    throw Malformed{"a graph has more than a million tensors or operators"};
  spend(ops.size() * 128 + graph.tensors.size() * 16);
  for (size_t i = 0; i < ops.size(); ++i) {
    const FlatTable table = ops[i];
    OpInfo op;
    op.type = table.number<int32_t>(field::kOpType, 0);
    op.kind = table.number<uint8_t>(field::kOpKind, 0);
    if (op.kind) op.parameter = table.table(field::kOpParameter);
    op.name = table.text(field::kOpName).substr(0, 500);
    op.inputs = table.numbers<int32_t>(field::kOpInputs);
    op.outputs = table.numbers<int32_t>(field::kOpOutputs);
    op.default_layout = layout_of(table.number<int8_t>(field::kOpLayout, 1));
    op.external_path = table.text(field::kOpExternal).substr(0, 1000);
    spend((op.inputs.size() + op.outputs.size()) * 16);
    for (const FlatNumbers<int32_t>& list : {op.inputs, op.outputs})
      for (size_t k = 0; k < list.size(); ++k)
        if (list[k] < -1 || list[k] >= static_cast<int64_t>(graph.tensors.size()))
          throw Malformed{"an operator refers to a tensor that is not there"};
    graph.ops.push_back(op);
  }
}

void ModelFile::read_described(const FlatTables& tables, GraphInfo& graph) {
  spend(tables.size() * 64);
  for (size_t i = 0; i < tables.size(); ++i) {
    const FlatTable table = tables[i], quantization = table.table(field::kDescribedQuantization);
    const int32_t tensor = table.number<int32_t>(field::kDescribedIndex, 0);
    if (!quantization || tensor < 0 || static_cast<size_t>(tensor) >= graph.tensors.size()) continue;
    graph.quantization[tensor] = {quantization.number<float>(0, 0), quantization.number<float>(1, 0), quantization.number<float>(2, -128),
                                  quantization.number<float>(3, 127), quantization.number<int32_t>(4, 0)};
  }
}

const GraphInfo* ModelFile::subgraph(std::string_view name) const {
  const auto found = subgraph_of_.find(name);
  return found == subgraph_of_.end() ? nullptr : &subgraphs_[found->second];
}

SharedBytes ModelFile::piece(const FlatTable& table, size_t field, size_t index, const OpInfo& op, const std::string& where) {
  const FlatNumbers<int64_t> list = table.numbers<int64_t>(field);
  if (list.size() <= index) return {};
  uint64_t offset = static_cast<uint64_t>(list[0]);
  for (size_t i = 1; i < index; ++i) {
    if (list[i] < 0 || offset > uint64_t{1} << 60) throw InvalidModel("{}: its data lies at a negative place", where);
    offset += static_cast<uint64_t>(list[i]);
  }
  if (list[0] < 0 || list[index] < 0) throw InvalidModel("{}: its data lies at a negative place", where);
  if (list[index] == 0) return {};
  if (!external_)
    throw InvalidModel("{}: its weights lie in a file beside the model, which is read from memory: give the model's file", where);
  std::string_view path = op.external_path;
  if (const size_t slash = path.find_last_of("/\\"); slash != path.npos) path.remove_prefix(slash + 1);
  return external_->read(path.empty() ? std::string_view(weights_name_) : path, offset, static_cast<uint64_t>(list[index]), where);
}

Tensor ModelFile::share(DType dtype, const Shape& shape, const SharedBytes& bytes) {
  if (!bytes.can_share(dtype)) spend(bytes.size());
  return bytes.tensor(dtype, shape);
}

std::vector<float> ModelFile::reals(const FlatTable& table, size_t field, size_t external_field, size_t index, const OpInfo& op,
                                    const std::string& where) {
  if (const FlatNumbers<float> numbers = table.numbers<float>(field); !numbers.empty()) {
    spend(numbers.size() * 4);
    return numbers.copy<float>();
  }
  const SharedBytes bytes = piece(table, external_field, index, op, where);
  std::vector<float> all(bytes.size() / 4);
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * 4);
  return all;
}

Tensor ModelFile::blob(const FlatTable& blob, const OpInfo& op, const std::string& where) {
  const int32_t number = blob.number<int32_t>(field::kBlobType, 1);
  const DType dtype = dtype_of(number);
  if (dtype == DType::undefined) throw Unsupported("{}: holds elements of type {}, which are not supported", where, number);
  const FlatNumbers<int32_t> dims = blob.numbers<int32_t>(field::kBlobDims);
  if (dims.size() > kMaxRank) throw Malformed{"a constant has more than 32 dimensions"};
  Shape shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) throw InvalidModel("{}: has a negative dimension", where);
    shape.push_back(dims[i]);
  }
  const uint64_t elements = static_cast<uint64_t>(shape.elements());
  std::span<const std::byte> inside;
  const auto wide = [&]() -> std::optional<FlatNumbers<int64_t>> {
    const FlatNumbers<int64_t> numbers = blob.numbers<int64_t>(field::kBlobI64);
    return numbers.empty() ? std::nullopt : std::optional(numbers);
  };
  if (number == 9 || dtype == DType::i32) {
    if (const auto numbers = wide(); numbers && blob.numbers<int32_t>(field::kBlobI32).empty()) {
      if (numbers->size() != elements)
        throw InvalidModel("{}: of shape {} should hold {} elements, it holds {}", where, shape, elements, numbers->size());
      spend(elements * 4);
      Tensor tensor(DType::i32, shape);
      for (size_t i = 0; i < elements; ++i) tensor.writable().data<int32_t>()[i] = static_cast<int32_t>((*numbers)[i]);
      return tensor;
    }
  }
  switch (dtype) {
    case DType::f32:
      inside = blob.numbers<float>(field::kBlobF32).bytes();
      break;
    case DType::i32:
      inside = blob.numbers<int32_t>(field::kBlobI32).bytes();
      break;
    case DType::i8:
      inside = blob.numbers<int8_t>(field::kBlobI8).bytes();
      break;
    default:
      inside = blob.numbers<uint8_t>(field::kBlobU8).bytes();
  }
  const SharedBytes bytes = inside.empty() && elements ? piece(blob, field::kBlobExternal, 1, op, where) : in_file(inside);
  if (elements > uint64_t{1} << 50 || bytes.size() != elements * size_of(dtype)) {
    // Small integers are sometimes written one a number.
    const FlatNumbers<int32_t> numbers = blob.numbers<int32_t>(field::kBlobI32);
    if (is_integer(dtype) && size_of(dtype) < 4 && numbers.size() == elements) {
      spend(elements * 8);
      const Ints values = numbers.copy<int64_t>();
      Tensor tensor(dtype, shape);
      narrow(dtype, values.data(), values.size(), tensor.writable().data());
      return tensor;
    }
    throw InvalidModel("{}: of shape {} should hold {} elements of {}, it holds {} bytes", where, shape, elements, dtype, bytes.size());
  }
  return share(dtype, shape, bytes);
}

bool looks_like_model(std::span<const std::byte> bytes) {
  // No magic number: a root table of at most 14 fields, whose fields lie inside it, with lists of operators and of names.
  constexpr size_t kMostFields = 14, kLargestTable = 4 + 8 * kMostFields;
  const auto u16 = [&](size_t at) {
    uint16_t value;
    std::memcpy(&value, bytes.data() + at, 2);
    return value;
  };
  const auto u32 = [&](size_t at) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  if (bytes.size() < 64) return false;
  // Four letters in this place are another format's name.
  const auto is_letter = [&](size_t at) {
    const char c = static_cast<char>(bytes[at]);
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  if (is_letter(4) && is_letter(5) && is_letter(6) && is_letter(7)) return false;
  const size_t root = u32(0);
  if (root < 8 || root % 4 != 0 || root > 1024 || root + 4 > bytes.size()) return false;
  const int64_t vtable = static_cast<int64_t>(root) - static_cast<int32_t>(u32(root));
  if (vtable < 4 || vtable + 4 > static_cast<int64_t>(bytes.size())) return false;
  const size_t at = static_cast<size_t>(vtable), vtable_size = u16(at), table_size = u16(at + 2);
  if (vtable_size < 4 + 2 * (field::kNetTensors + 1) || vtable_size > 4 + 2 * kMostFields || vtable_size % 2 != 0 ||
      at + vtable_size > bytes.size() || table_size < 12 || table_size > kLargestTable || root + table_size > bytes.size())
    return false;
  for (size_t slot = 4; slot < vtable_size; slot += 2)
    if (const size_t offset = u16(at + slot); offset && (offset < 4 || offset >= table_size)) return false;
  for (const size_t wanted : {field::kNetOps, field::kNetTensors}) {
    const size_t offset = u16(at + 4 + 2 * wanted);
    if (!offset || offset % 4 != 0 || root + offset + 4 > bytes.size()) return false;
    const uint64_t target = root + offset + static_cast<uint64_t>(u32(root + offset));
    if (target % 4 != 0 || target > uint64_t{1} << 31) return false;
    if (target + 4 <= bytes.size() && (u32(target) == 0 || u32(target) > kMostTables)) return false;
  }
  return true;
}

}  // namespace minnow::mnn
