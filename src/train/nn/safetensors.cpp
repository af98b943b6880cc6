// SPDX-License-Identifier: Apache-2.0
// Files of named arrays: safetensors, an 8-byte length, a header in JSON and the bytes of the arrays, row-major and little-endian.
#include <minnow/nn.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "train/nn/json.h"
#include "train/nn/safetensors.h"

namespace minnow::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");

constexpr uint64_t kLongestHeader = 100'000'000;

struct Code {
  std::string_view name;
  DType dtype;
};
constexpr Code kCodes[] = {{"F64", DType::f64}, {"F32", DType::f32}, {"F16", DType::f16},     {"BF16", DType::bf16}, {"I64", DType::i64},
                           {"I32", DType::i32}, {"I16", DType::i16}, {"I8", DType::i8},       {"U64", DType::u64},   {"U32", DType::u32},
                           {"U16", DType::u16}, {"U8", DType::u8},   {"BOOL", DType::boolean}};

template <class... Args>
[[noreturn]] void wrong_file(const std::string& path, std::string_view pattern, const Args&... args) {
  throw InvalidModel("{}: not a safetensors file: {}", path, format(pattern, args...));
}

}  // namespace

std::string safetensors_header(std::span<const SafetensorsEntry> entries, const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  const auto entry = [&](std::string_view name) -> std::string& {
    return header += (header.size() > 1 ? "," : "") + json_text(name) + ":";
  };
  if (!metadata.empty()) {
    entry("__metadata__") += "{";
    bool first = true;
    for (const auto& [name, text] : metadata) {
      header += (first ? "" : ",") + json_text(name) + ":" + json_text(text);
      first = false;
    }
    header += "}";
  }
  int64_t end = 0;
  for (const auto& [name, dtype, shape] : entries) {
    const auto code = std::find_if(std::begin(kCodes), std::end(kCodes), [dtype = dtype](const Code& each) { return each.dtype == dtype; });
    if (name == "__metadata__") throw InvalidArgument("\"__metadata__\" is the place of metadata in a safetensors file, not of a tensor");
    if (code == std::end(kCodes)) throw Unsupported("\"{}\" is {}, which safetensors files do not have", name, dtype);
    const int64_t begin = end;
    end += shape.elements() * static_cast<int64_t>(size_of(dtype));
    entry(name) += "{\"dtype\":" + json_text(code->name) + ",\"shape\":" + json_list(shape.dims()) +
                   ",\"data_offsets\":" + json_list(std::vector<int64_t>{begin, end}) + "}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header;
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) try {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, tensor.dtype(), tensor.shape()});
  const std::string header = safetensors_header(entries, metadata);
  os::write_file_atomically(path, [&](const os::ByteSink& sink) {
    sink(std::as_bytes(std::span(header)));
    for (const auto& [name, tensor] : tensors) sink({static_cast<const std::byte*>(tensor.data()), tensor.bytes()});
  });
} catch (...) {
  throw_as_error();
}

std::map<std::string, Tensor> map_safetensors(const std::string& path, std::map<std::string, std::string>* metadata) {
  const auto file = os::MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() >= sizeof length) std::memcpy(&length, bytes.data(), sizeof length);
  if (bytes.size() < sizeof length || length > std::min<uint64_t>(bytes.size() - sizeof length, kLongestHeader))
    wrong_file(path, "the header is cut off");
  const std::span<const std::byte> body = bytes.subspan(sizeof length + length);
  JsonReader header({reinterpret_cast<const char*>(bytes.data()) + sizeof length, length},
                    path + ": not a safetensors file: the header is no JSON");
  std::map<std::string, Tensor> made;
  std::map<std::string, std::string> texts;
  header.object([&](const std::string& name) {
    if (name == "__metadata__") return header.object([&](const std::string& key) { texts[key] = header.text(); });
    std::string code;
    std::vector<int64_t> shape, place;
    header.object([&](const std::string& key) {
      if (key == "dtype")
        code = header.text();
      else if (key == "shape")
        shape = header.sizes();
      else if (key == "data_offsets")
        place = header.sizes();
      else
        header.pass_over();
    });
    const auto known = std::find_if(std::begin(kCodes), std::end(kCodes), [&](const Code& each) { return each.name == code; });
    if (known == std::end(kCodes) || place.size() != 2 || shape.size() > kMaxRank)
      wrong_file(path, "the entry of \"{}\" is wrong, or of an unknown dtype", name);
    int64_t count = static_cast<int64_t>(size_of(known->dtype));
    bool fits = place[0] <= place[1] && place[1] <= static_cast<int64_t>(body.size());
    // An axis of 0 elements allows any others.
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) count = 0;
    for (const int64_t size : shape) fits = fits && (count == 0 || !__builtin_mul_overflow(count, size, &count));
    if (!fits || place[1] - place[0] != count) wrong_file(path, "the bytes of \"{}\" are not where its entry says", name);
    made.insert_or_assign(name, Tensor(known->dtype, Shape(shape), body.data() + place[0], file));
  });
  header.finish();
  if (metadata) *metadata = std::move(texts);
  return made;
}

std::map<std::string, Tensor> load_safetensors(const std::string& path, std::map<std::string, std::string>* metadata) try {
  std::map<std::string, Tensor> made = map_safetensors(path, metadata);
  for (auto& [name, tensor] : made) {
    Tensor copy(tensor.dtype(), tensor.shape());
    if (tensor.bytes()) std::memcpy(copy.writable().data(), tensor.data(), tensor.bytes());
    tensor = std::move(copy);
  }
  return made;
} catch (...) {
  throw_as_error();
}

void Layer::save(const std::string& path, const std::map<std::string, std::string>& metadata) const {
  save_safetensors(path, state_dict(), metadata);
}
void Layer::load(const std::string& path) { load_state_dict(load_safetensors(path)); }

}  // namespace minnow::nn
