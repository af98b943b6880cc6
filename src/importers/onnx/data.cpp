// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/data.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"
#include "base/numeric.h"
#include "importers/onnx/proto.h"
#include "importers/onnx/wire.h"

namespace minnow::onnx {
namespace {

constexpr int kMaxDepth = 16;  // of sequences in sequences

DType checked_dtype(int64_t number, const std::string& where) {
  if (number == static_cast<int64_t>(DType::undefined)) throw InvalidModel("{}: its data type is missing", where);
  if (number < 0 || number > static_cast<int64_t>(DType::i2)) throw Unsupported("{}: data type {} is not known", where, number);
  const DType dtype = static_cast<DType>(number);
  if (dtype == DType::string) throw Unsupported("{}: holds strings, which are not supported", where);
  return dtype;
}

/// Number of elements, checked for sign and overflow.
uint64_t element_count(const Ints& dims, const std::string& where) {
  if (dims.size() > kMaxRank) throw Unsupported("{}: has more than {} dimensions", where, kMaxRank);
  uint64_t count = 1;
  for (int64_t dim : dims)
    if (dim < 0) throw InvalidModel("{}: dimension {} is negative", where, dim);
  for (int64_t dim : dims)
    if (dim == 0) return 0;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count) || count > (uint64_t{1} << 60))
      throw InvalidModel("{}: dimensions {} are too large", where, dims);
  return count;
}

uint64_t packed_bytes(DType dtype, uint64_t count) { return (count * bits_of(dtype) + 7) / 8; }

/// The field that holds elements of a dtype, and how many of its entries make an element (as a fraction).
struct TypedField {
  uint32_t number;
  uint64_t entries;
};
TypedField typed_field(DType dtype, uint64_t count) {
  switch (dtype) {
    case DType::f32:
      return {field::kTensorFloatData, count};
    case DType::complex64:
      return {field::kTensorFloatData, count * 2};
    case DType::f64:
      return {field::kTensorDoubleData, count};
    case DType::complex128:
      return {field::kTensorDoubleData, count * 2};
    case DType::i64:
      return {field::kTensorInt64Data, count};
    case DType::u32:
    case DType::u64:
      return {field::kTensorUint64Data, count};
    default:  // one entry an element, or a byte of several small ones
      return {field::kTensorInt32Data, bits_of(dtype) < 8 ? packed_bytes(dtype, count) : count};
  }
}

/// Bytes that are not exactly 0 or 1 would not be bool.
void copy_bools(const char* source, size_t count, char* out) {
  for (size_t i = 0; i < count; ++i) out[i] = source[i] != 0;
}

uint64_t parse_number(std::string_view text, std::string_view key, const std::string& where) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw InvalidModel("{}: \"{}\" of its external data is \"{}\", it should be a number", where, key, text.substr(0, 40));
  return value;
}

}  // namespace

TensorMessage::TensorMessage(std::string_view bytes) : message(bytes) {
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kTensorDims:
        fields.integers([&](int64_t dim) {
          if (dims.size() <= kMaxRank) dims.push_back(dim);
        });
        break;
      case field::kTensorDataType:
        data_type = fields.integer();
        break;
      case field::kTensorName:
        name = fields.bytes();
        break;
      case field::kTensorRawData:
        raw = fields.bytes();
        break;
      case field::kTensorSegment:
        segmented = true;
        break;
      case field::kTensorDataLocation:
        external = fields.integer() == static_cast<int64_t>(DataLocation::external);
        break;
      case field::kTensorExternalData: {
        auto& [key, value] = external_entries.emplace_back();
        for (Fields entry(fields.bytes()); entry.next();) {
          if (entry.number() == field::kEntryKey) key = entry.bytes();
          if (entry.number() == field::kEntryValue) value = entry.bytes();
        }
        break;
      }
      default:
        break;
    }
  }
}

Tensor DataReader::from_bytes(DType dtype, const Shape& shape, const SharedBytes& bytes, const std::string& where) const {
  const uint64_t count = static_cast<uint64_t>(shape.elements());
  if (bytes.size() != packed_bytes(dtype, count))
    throw InvalidModel("{}: {}{} takes {} bytes, it has {}", where, dtype, shape, packed_bytes(dtype, count), bytes.size());
  const std::string_view text = bytes.text();
  const bool plain_bool =
      dtype == DType::boolean && std::all_of(text.begin(), text.end(), [](char byte) { return byte == 0 || byte == 1; });
  if (bits_of(dtype) >= 8 && (dtype != DType::boolean || plain_bool)) return bytes.tensor(dtype, shape);
  Tensor tensor(dtype, shape);
  if (!count) return tensor;
  char* out = tensor.writable().data<char>();
  if (bits_of(dtype) < 8)
    unpack_bits(dtype, text.data(), count, out);
  else
    copy_bools(text.data(), count, out);
  return tensor;
}

Tensor DataReader::tensor(const TensorMessage& message, const std::string& where) const {
  const DType dtype = checked_dtype(message.data_type, where);
  const uint64_t count = element_count(message.dims, where);
  const Shape shape(message.dims);
  if (message.segmented) throw Unsupported("{}: is a segment of a tensor, which is not supported", where);
  if (message.external) {
    if (!external_) throw InvalidModel("{}: its data is external, and a model from memory has no folder to read it from", where);
    std::string_view location;
    uint64_t offset = 0, length = packed_bytes(dtype, count);
    for (const auto& [key, value] : message.external_entries) {
      if (key == "location") location = value;
      if (key == "offset") offset = parse_number(value, key, where);
      if (key == "length" && parse_number(value, key, where) < length)
        throw InvalidModel("{}: {}{} takes {} bytes, its external data has {}", where, dtype, shape, length, value);
    }
    if (!count) return Tensor(dtype, shape);
    return from_bytes(dtype, shape, external_->read(location, offset, length, where), where);
  }
  if (message.raw && (count || !message.raw->empty())) return from_bytes(dtype, shape, in_file(*message.raw), where);
  if (!count) return Tensor(dtype, shape);

  // Typed fields. They are counted before memory is taken.
  const TypedField typed = typed_field(dtype, count);
  const size_t width = typed.number == field::kTensorFloatData ? 4 : typed.number == field::kTensorDoubleData ? 8 : 0;
  uint64_t entries = 0;
  for (Fields fields(message.message); fields.next();)
    if (fields.number() == typed.number) {
      const uint64_t more = width ? fields.fixed(width).size() / width : fields.integer_count();
      if (width && more == typed.entries && !entries) return from_bytes(dtype, shape, in_file(fields.fixed(width)), where);
      entries += more;
    }
  if (entries != typed.entries)
    throw InvalidModel("{}: {}{} should have {} entries of data, it has {}", where, dtype, shape, typed.entries, entries);
  Tensor tensor(dtype, shape);
  char* out = tensor.writable().data<char>();
  const auto fill = [&](auto each) {
    for (Fields fields(message.message); fields.next();)
      if (fields.number() == typed.number) each(fields);
  };
  if (width) {
    fill([&](const Fields& fields) {
      const std::string_view bytes = fields.fixed(width);
      std::memcpy(out, bytes.data(), bytes.size());
      out += bytes.size();
    });
  } else if (bits_of(dtype) < 8) {
    std::string packed;
    fill([&](const Fields& fields) { fields.integers([&](int64_t value) { packed.push_back(static_cast<char>(value)); }); });
    unpack_bits(dtype, packed.data(), count, out);
  } else {
    const size_t size = size_of(dtype);
    fill([&](const Fields& fields) {
      fields.integers([&](int64_t value) {
        if (dtype == DType::boolean) value = value != 0;
        std::memcpy(out, &value, size);  // the low bytes: little-endian, and all such types hold bit patterns
        out += size;
      });
    });
  }
  return tensor;
}

std::string_view sparse_tensor_name(std::string_view message) {
  for (Fields fields(message); fields.next();)
    if (fields.number() == field::kSparseValues) return TensorMessage(fields.bytes()).name;
  return {};
}

Tensor DataReader::sparse_tensor(std::string_view message, const std::string& where) const {
  std::optional<std::string_view> values_message, indices_message;
  Ints dims;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == field::kSparseValues) values_message = fields.bytes();
    if (fields.number() == field::kSparseIndices) indices_message = fields.bytes();
    if (fields.number() == field::kSparseDims)
      fields.integers([&](int64_t dim) {
        if (dims.size() <= kMaxRank) dims.push_back(dim);
      });
  }
  if (!values_message) throw InvalidModel("{}: a sparse tensor without values", where);
  const Tensor values = tensor(*values_message, where);
  const uint64_t count = element_count(dims, where);
  const size_t stored = static_cast<size_t>(values.elements());
  // Writing out is the only way sparse tensors are used; a small file must not ask for a large memory by it.
  const uint64_t bytes = count * size_of(values.dtype());
  if (bytes / 256 > values.bytes()) {
    if (bytes > sparse_left_)
      throw Unsupported("{}: a sparse tensor of {} elements, {} of them stored, is too sparse to be written out", where, count, stored);
    sparse_left_ -= bytes;
  }
  Tensor dense(values.dtype(), Shape(dims));
  if (!stored) return dense;
  if (!indices_message) throw InvalidModel("{}: a sparse tensor without indices", where);
  const Tensor indices = tensor(*indices_message, where);
  const bool flat = indices.shape().rank() == 1;
  const bool rows = indices.shape().rank() == 2 && indices.shape()[1] == static_cast<int64_t>(dims.size());
  if (indices.dtype() != DType::i64 || values.shape().rank() != 1 || !(flat || rows) || indices.shape()[0] != values.shape()[0])
    throw InvalidModel("{}: a sparse tensor with values {} and indices {}{} for dimensions {}", where, values.shape(), indices.dtype(),
                       indices.shape(), dims);
  const size_t size = size_of(values.dtype());
  const int64_t* index = indices.data<int64_t>();
  char* out = dense.writable().data<char>();
  for (size_t i = 0; i < stored; ++i) {
    uint64_t place = 0;
    if (flat) {
      place = static_cast<uint64_t>(index[i]);
    } else {
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const int64_t at = index[i * dims.size() + axis];
        if (at < 0 || at >= dims[axis]) throw InvalidModel("{}: index {} of a sparse tensor lies outside {}", where, at, dims);
        place = place * static_cast<uint64_t>(dims[axis]) + static_cast<uint64_t>(at);
      }
    }
    if (place >= count) throw InvalidModel("{}: index {} of a sparse tensor lies outside {}", where, index[i], dims);
    std::memcpy(out + place * size, values.data<char>() + i * size, size);
  }
  return dense;
}

Datum DataReader::sequence(std::string_view message, const std::string& where, int depth) const {
  if (depth > kMaxDepth) throw InvalidModel("{}: sequences are nested more than {} deep", where, kMaxDepth);
  std::vector<Datum> items;
  DType element = DType::undefined;
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kSequenceTensors:
        items.emplace_back(tensor(fields.bytes(), where));
        break;
      case field::kSequenceSequences:
        items.push_back(sequence(fields.bytes(), where, depth + 1));
        break;
      case field::kSequenceOptionals:
        items.push_back(optional(fields.bytes(), where, depth + 1));
        break;
      case field::kSequenceSparse:
      case field::kSequenceMaps:
        throw Unsupported("{}: a sequence of maps or sparse tensors is not supported", where);
      default:
        break;
    }
  }
  if (!items.empty()) element = items[0].kind == Datum::Kind::tensor ? items[0].tensor.dtype() : items[0].element;
  return Datum::sequence(element, std::move(items));
}

Datum DataReader::optional(std::string_view message, const std::string& where, int depth) const {
  if (depth > kMaxDepth) throw InvalidModel("{}: optionals are nested more than {} deep", where, kMaxDepth);
  int64_t kind = 0;
  std::string_view value;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == field::kOptionalElement) kind = fields.integer();
    if (fields.number() >= field::kOptionalTensor && fields.number() <= field::kOptionalOptional) value = fields.bytes();
  }
  switch (static_cast<ElementKind>(kind)) {
    case ElementKind::tensor:
      return value.data() ? Datum(tensor(value, where)) : Datum();
    case ElementKind::sequence:
      return value.data() ? sequence(value, where, depth + 1) : Datum();
    case ElementKind::optional:
      return value.data() ? optional(value, where, depth + 1) : Datum();
    case ElementKind::undefined:
      return {};
    default:
      throw Unsupported("{}: an optional map or sparse tensor is not supported", where);
  }
}

ValueType read_type(std::string_view message, const std::string& where, int depth) {
  if (depth > kMaxDepth) throw InvalidModel("{}: its type is nested more than {} deep", where, kMaxDepth);
  ValueType type;
  for (Fields fields(message); fields.next();) {
    switch (fields.number()) {
      case field::kTypeTensor: {
        type = ValueType();
        for (Fields tensor(fields.bytes()); tensor.next();) {
          if (tensor.number() == field::kTypeElement) {
            const int64_t number = tensor.integer();
            if (number < 0 || number > static_cast<int64_t>(DType::i2)) throw Unsupported("{}: data type {} is not known", where, number);
            type.dtype = static_cast<DType>(number);
          }
          if (tensor.number() != field::kTypeShape) continue;
          type.dims.emplace();
          for (Fields shape(tensor.bytes()); shape.next();) {
            if (shape.number() != field::kShapeDim) continue;
            Dim& dim = type.dims->emplace_back();
            if (type.dims->size() > kMaxRank) throw Unsupported("{}: has more than {} dimensions", where, kMaxRank);
            for (Fields part(shape.bytes()); part.next();) {
              // Exporters write unknown dimensions as 0 or -1 too; -1 is read as unknown, 0 may be meant.
              if (part.number() == field::kDimValue) dim = {std::max<int64_t>(part.integer(), -1), {}};
              if (part.number() == field::kDimParam) dim = {-1, std::string(part.bytes())};
            }
          }
        }
        break;
      }
      case field::kTypeSequence:
      case field::kTypeOptional: {
        ValueType element;
        for (Fields inner(fields.bytes()); inner.next();)
          if (inner.number() == field::kTypeElement) element = read_type(inner.bytes(), where, depth + 1);
        type = fields.number() == field::kTypeSequence ? ValueType::sequence_of(std::move(element))
                                                       : ValueType::optional_of(std::move(element));
        break;
      }
      case field::kTypeMap:
        throw Unsupported("{}: is a map, which is not supported", where);
      case field::kTypeSparseTensor:
        throw Unsupported("{}: is a sparse tensor, which is not supported", where);
      case field::kTypeOpaque:
        throw Unsupported("{}: is of an opaque type, which is not supported", where);
      default:
        break;
    }
  }
  return type;
}

}  // namespace minnow::onnx
