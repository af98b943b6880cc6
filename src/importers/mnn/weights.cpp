// SPDX-License-Identifier: Apache-2.0
#include "importers/mnn/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/limits.h"
#include "base/numeric.h"

namespace minnow::mnn {
namespace {

namespace field {
constexpr size_t kBuffer = 0, kAlpha = 1, kForm = 2, kQuantScale = 4, kLowest = 8, kReadType = 9, kHasScaleInt = 10, kWideShape = 11,
                 kCount = 12, kIndex = 13, kAlphaHalf = 14, kAlphaStorage = 15;
}  // namespace field

/// Bytes that are read from front to back.
class Bytes {
 public:
  Bytes(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  std::span<const std::byte> take(uint64_t count) {
    if (count > bytes_.size()) throw InvalidModel("{}: its packed weights are cut off: {} bytes more were expected", where_, count);
    const auto taken = bytes_.first(static_cast<size_t>(count));
    bytes_ = bytes_.subspan(static_cast<size_t>(count));
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& where_;
};

/// Number `i` of numbers of 1 to 8 bits, the most significant bit first.
int unpack(std::span<const std::byte> bytes, size_t i, size_t bits) {
  const size_t at = i * bits, byte = at / 8, shift = at % 8;
  unsigned word = static_cast<unsigned>(bytes[byte]) << 8;
  if (shift + bits > 8) word |= static_cast<unsigned>(bytes[byte + 1]);
  return static_cast<int>((word >> (16 - shift - bits)) & ((1u << bits) - 1));
}

uint64_t packed_bytes(uint64_t count, uint64_t bits) { return (count * bits + 7) / 8; }

size_t bits_for(size_t values) {
  size_t bits = 1;
  while ((size_t{1} << bits) < values) ++bits;
  return bits;
}

struct Header {
  uint64_t elements = 1, first = 0;  // of all, and of the first dimension
};

Header read_header(Bytes& bytes, bool wide, const std::string& where) {
  Header header;
  const size_t rank = bytes.number<uint8_t>();
  if (rank == 0 || rank > 4) throw InvalidModel("{}: its packed weights have {} dimensions", where, rank);
  for (size_t i = 0; i < rank; ++i) {
    const uint64_t dim = wide ? bytes.number<uint32_t>() : bytes.number<uint16_t>();
    if (i == 0) header.first = dim;
    if (__builtin_mul_overflow(header.elements, dim, &header.elements) || header.elements > uint64_t{kMostElements})
      throw InvalidModel("{}: its packed weights are larger than memory can be", where);
  }
  return header;
}

std::vector<int8_t> read_palette(Bytes& bytes) {
  size_t count = bytes.number<uint8_t>();
  if (count == 0) count = 256;
  const auto raw = bytes.take(count);
  std::vector<int8_t> palette(count);
  std::memcpy(palette.data(), raw.data(), count);
  return palette;
}

DType narrowest(const std::vector<int8_t>& palette) {
  const bool small = palette.size() <= 16 && std::all_of(palette.begin(), palette.end(), [](int8_t v) { return v >= -8 && v <= 7; });
  return small ? DType::i4 : DType::i8;
}

Tensor read_indexed(ModelFile& file, Bytes bytes, bool wide, const std::string& where) {
  const Header header = read_header(bytes, wide, where);
  std::vector<int8_t> palette = read_palette(bytes);
  std::sort(palette.begin(), palette.end());
  const size_t bits = bits_for(palette.size());
  const auto indices = bytes.take(packed_bytes(header.elements, bits));
  file.spend(header.elements);
  Tensor tensor(narrowest(palette), {static_cast<int64_t>(header.elements)});
  int8_t* const to = tensor.writable().data<int8_t>();
  for (size_t i = 0; i < header.elements; ++i) {
    const size_t index = static_cast<size_t>(unpack(indices, i, bits));
    if (index >= palette.size())
      throw InvalidModel("{}: its packed weights have an index of {} into {} values", where, index, palette.size());
    to[i] = palette[index];
  }
  return tensor;
}

/// Reads non-zero weights stored with the distances between them; `alpha` as in the file.
Tensor read_sparse(ModelFile& file, Bytes bytes, bool wide, const Floats& alpha, const std::string& where) {
  const Header header = read_header(bytes, wide, where);
  const uint64_t count = bytes.number<uint32_t>();
  const size_t step_bits = bytes.number<uint8_t>();
  if (step_bits < 1 || step_bits > 8) throw InvalidModel("{}: its sparse weights have steps of {} bits", where, step_bits);
  const auto steps = bytes.take(packed_bytes(count, step_bits));
  std::vector<int8_t> palette = read_palette(bytes);
  const size_t bits = bits_for(palette.size());
  const auto indices = bytes.take(packed_bytes(count, bits));
  std::sort(palette.begin(), palette.end());
  palette.erase(std::unique(palette.begin(), palette.end()), palette.end());
  file.spend(header.elements);
  Tensor tensor(DType::i8, {static_cast<int64_t>(header.elements)});
  int8_t* const to = tensor.writable().data<int8_t>();
  if (header.first && alpha.size() == 2 * header.first) {  // the integer for zero depends on the row's range
    const uint64_t row = header.elements / header.first;
    const int lowest = -(1 << (bits - 1));
    for (size_t i = 0; i < header.first; ++i) {
      const float low = alpha[2 * i], scale = alpha[2 * i + 1];
      const float zero = scale > 1e-6f ? std::round(-low / scale) + static_cast<float>(lowest) : static_cast<float>(lowest);
      std::fill_n(to + i * row, row, static_cast<int8_t>(static_cast<int>(std::clamp(zero, -128.0f, 127.0f))));
    }
  }
  uint64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    at += static_cast<uint64_t>(unpack(steps, i, step_bits));
    const size_t index = static_cast<size_t>(unpack(indices, i, bits));
    if (at >= header.elements || index >= palette.size()) throw InvalidModel("{}: its sparse weights lead out of their shape", where);
    to[at] = palette[index];
  }
  return tensor;
}

}  // namespace

PackedWeights read_packed_weights(ModelFile& file, const FlatTable& packed, const FlatTable& owner_table, size_t external_field,
                                  const OpInfo& op, const std::string& where) {
  SharedBytes buffer = file.in_file(packed.numbers<int8_t>(field::kBuffer).bytes());
  const bool outside = buffer.empty() && external_field != size_t(-1);
  if (outside) buffer = file.piece(owner_table, external_field, 1, op, where);
  Floats alpha;
  const bool half = packed.number<int8_t>(field::kAlphaStorage, 0) == 1;
  const SharedBytes alpha_outside = outside ? file.piece(owner_table, external_field, 2, op, where) : SharedBytes();
  if (half) {
    const FlatNumbers<uint16_t> inside = packed.numbers<uint16_t>(field::kAlphaHalf);
    const FlatNumbers<uint16_t> bits = inside.empty() ? FlatNumbers<uint16_t>(alpha_outside.data(), alpha_outside.size() / 2) : inside;
    for (size_t i = 0; i < bits.size(); ++i) alpha.push_back(f32_from_f16(bits[i]));
  } else {
    const FlatNumbers<float> inside = packed.numbers<float>(field::kAlpha);
    const FlatNumbers<float> numbers = inside.empty() ? FlatNumbers<float>(alpha_outside.data(), alpha_outside.size() / 4) : inside;
    alpha = numbers.copy<float>();
  }
  file.spend(alpha.size() * 8);
  PackedWeights weights;
  FlatNumbers<uint32_t> index = packed.numbers<uint32_t>(field::kIndex);
  SharedBytes index_outside;
  if (index.empty() && outside) {
    index_outside = file.piece(owner_table, external_field, 4, op, where);
    index = FlatNumbers<uint32_t>(index_outside.data(), index_outside.size() / 4);
  }
  if (!index.empty()) {  // real numbers at some places, zeros elsewhere
    const uint32_t count = packed.number<uint32_t>(field::kCount, 0);
    if (alpha.size() != index.size())
      throw InvalidModel("{}: its sparse weights are {} values at {} places", where, alpha.size(), index.size());
    file.spend(uint64_t{count} * 4);
    weights.values = Tensor(DType::f32, {static_cast<int64_t>(count)});
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= count) throw InvalidModel("{}: its sparse weights lead out of their shape", where);
      weights.values.writable().data<float>()[index[i]] = alpha[i];
    }
    return weights;
  }
  const int32_t form = packed.number<int32_t>(field::kForm, 0);
  const bool wide = packed.flag(field::kWideShape, false);
  switch (form) {
    case 1:
      weights.values = read_indexed(file, Bytes(buffer.bytes(), where), wide, where);
      break;
    case 2:
      weights.values = read_sparse(file, Bytes(buffer.bytes(), where), wide, alpha, where);
      break;
    case 3:
      weights.values = file.share(DType::f16, {static_cast<int64_t>(buffer.size() / 2)}, buffer);
      return weights;
    case 4:
      weights.values = file.share(DType::i8, {static_cast<int64_t>(buffer.size())}, buffer);
      break;
    case 8:
      weights.values = file.share(DType::f32, {static_cast<int64_t>(buffer.size() / 4)}, buffer);
      return weights;
    default:
      throw Unsupported("{}: weights packed in form {} are not supported", where, form);
  }
  // Symmetric: a scale a row. Otherwise pairs of the smallest value and the scale.
  const float quant_scale = packed.number<float>(field::kQuantScale, 0);
  const int32_t lowest = packed.number<int32_t>(field::kLowest, 0);
  const bool old = form == 4 && lowest == 0 && std::abs(quant_scale) < 1e-6f;
  const float factor = packed.flag(field::kHasScaleInt, false) || old ? 1.0f : quant_scale;
  if (packed.number<int32_t>(field::kReadType, 0) != 0 || old) {
    const float first = lowest == 0 ? -128.0f : static_cast<float>(lowest);
    for (size_t row = 0; row + 1 < alpha.size(); row += 2) {
      const float scale = alpha[row + 1];
      weights.scale.push_back(scale * factor);
      weights.offset.push_back((first < 0 ? alpha[row] - first * scale : alpha[row]) * factor);
    }
  } else {
    for (float scale : alpha) weights.scale.push_back(scale * factor);
  }
  if (weights.scale.empty()) throw InvalidModel("{}: its quantized weights have no scales", where);
  return weights;
}

}  // namespace minnow::mnn
