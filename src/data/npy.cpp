// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/os.h"
#include "base/placeholder.h"

namespace minnow::data {
namespace {

std::string description(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "<f8";
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::i32:
      return "<i4";
    case DType::i16:
      return "<i2";
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return "|i1";
    case DType::u64:
      return "<u8";
    case DType::u32:
      return "<u4";
    case DType::u16:
      return "<u2";
    case DType::u8:
    case DType::u4:
    case DType::u2:
      return "|u1";
    case DType::boolean:
      return "|b1";
    case DType::bf16:
      return "|V2";
    default:
      return "|V1";
  }
}

DType dtype_of(std::string_view text) {
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"f8", DType::f64}, {"f4", DType::f32},     {"f2", DType::f16},  {"i8", DType::i64}, {"i4", DType::i32},
      {"i2", DType::i16}, {"i1", DType::i8},      {"u8", DType::u64},  {"u4", DType::u32}, {"u2", DType::u16},
      {"u1", DType::u8},  {"b1", DType::boolean}, {"V2", DType::bf16}, {"V1", DType::u8}};
  for (const auto& [name, dtype] : kTypes)
    if (name == text) return dtype;
  return DType::undefined;
}

// The value of a key of the header's dictionary, up to its end: {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }
std::string_view value_of(std::string_view header, std::string_view key, const std::string& what) {
  const std::string quoted = "'" + std::string(key) + "':";
  size_t at = header.find(quoted);
  if (at == header.npos) throw InvalidArgument("{}: the .npy header has no \"{}\"", what, key);
  at = header.find_first_not_of(' ', at + quoted.size());
  if (at == header.npos) throw InvalidArgument("{}: the .npy header is cut short", what);
  const size_t end = header[at] == '(' ? header.find(')', at) : header.find_first_of(",}", at);
  return header.substr(at, end == header.npos ? end : end - at);
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, const std::string& what) {
  const char* data = reinterpret_cast<const char*>(bytes.data());
  if (const std::string reason = placeholder(bytes); !reason.empty()) throw InvalidArgument("{}: {}", what, reason);
  if (bytes.size() < 12 || std::memcmp(data, "\x93NUMPY", 6) != 0) throw InvalidArgument("{}: is not a .npy file", what);
  const int major = data[6];
  size_t length = 0, start = 10;
  if (major == 1) {
    length = static_cast<uint8_t>(data[8]) | static_cast<size_t>(static_cast<uint8_t>(data[9])) << 8;
  } else {
    for (int i = 3; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(data[8 + i]);
    start = 12;
  }
  if (major < 1 || major > 3 || length > bytes.size() - start) throw InvalidArgument("{}: has a .npy header that cannot be read", what);
  const std::string_view header(data + start, length);
  std::string_view descr = value_of(header, "descr", what);
  if (descr.size() < 4 || descr.front() != '\'') throw InvalidArgument("{}: arrays of dtype {} cannot be read", what, descr);
  descr = descr.substr(1, descr.size() - 2);
  const DType dtype = dtype_of(descr.substr(1));
  if (dtype == DType::undefined) throw InvalidArgument("{}: arrays of dtype \"{}\" cannot be read", what, descr);
  const bool fortran = value_of(header, "fortran_order", what).substr(0, 4) == "True";
  Shape shape;
  const std::string_view dims = value_of(header, "shape", what);
  for (const char *at = dims.data(), *end = at + dims.size(); at < end;) {
    if (!std::isdigit(static_cast<unsigned char>(*at))) {
      ++at;
      continue;
    }
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc()) throw InvalidArgument("{}: has a shape that cannot be read", what);
    shape.push_back(dim);
    at = next;
  }
  const size_t size = size_of(dtype), count = static_cast<size_t>(shape.elements());
  if (bytes.size() - start - length < count * size)
    throw InvalidArgument("{}: holds {} bytes of elements, shape {} needs {}", what, bytes.size() - start - length, shape, count * size);
  Tensor tensor(dtype, shape);
  char* out = static_cast<char*>(tensor.writable().data());
  const char* in = data + start + length;
  if (!fortran) {
    if (count) std::memcpy(out, in, count * size);
  } else {
    std::vector<int64_t> index(shape.rank(), 0);
    for (size_t i = 0; i < count; ++i) {  // the file's order: the first axis runs fastest
      size_t at = 0;
      for (size_t axis = 0; axis < shape.rank(); ++axis) at = at * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
      std::memcpy(out + at * size, in + i * size, size);
      for (size_t axis = 0; axis < shape.rank() && ++index[axis] == shape[axis]; ++axis) index[axis] = 0;
    }
  }
  if (descr[0] == '>')
    for (size_t i = 0; i < count; ++i) std::reverse(out + i * size, out + (i + 1) * size);
  return tensor;
}

Tensor read_npy(const std::string& path) { return parse_npy(os::MappedFile::open(path)->bytes(), path); }

std::vector<std::byte> npy_bytes(const TensorView& tensor) {
  std::string header = "{'descr': '" + description(tensor.dtype()) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < tensor.rank(); ++i)
    header += std::to_string(tensor.dim(i)) + (i + 1 < tensor.rank() || tensor.rank() == 1 ? "," : "");
  header += "), }";
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;
  const size_t size = tensor.bytes();
  std::vector<std::byte> bytes(start.size() + size);
  std::memcpy(bytes.data(), start.data(), start.size());
  if (size) std::memcpy(bytes.data() + start.size(), tensor.data(), size);
  return bytes;
}

void write_npy(const std::string& path, const TensorView& tensor) {
  os::write_file_atomically(path, [&](const os::ByteSink& sink) { sink(npy_bytes(tensor)); });
}

std::string npy_name(std::string_view tensor) {
  std::string name;
  for (const char c : tensor) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (kept)
      name += c;
    else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80)  // a character of several bytes (UTF-8) is one
      name += '_';
  }
  // Most file systems take 255 bytes; ".npy", a number behind equal names and the suffix of a file being written need some of them.
  constexpr size_t kLongest = 200, kKept = 180;
  if (name.size() <= kLongest) return name;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : tensor) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[20];
  std::snprintf(digits, sizeof digits, "_%016llx", static_cast<unsigned long long>(hash));
  return name.substr(0, kKept) + digits;
}

}  // namespace minnow::data
