// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files, stored or deflated.
#include <minnow/data.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "data/npy.h"
#include "importers/torchscript/inflate.h"

namespace minnow::data {

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path) try {
  const auto file = os::MappedFile::open(path);
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const auto number = [&](size_t at, size_t size) {
    if (at > bytes.size() || bytes.size() - at < size) throw InvalidArgument("{}: is no zip archive, or is cut off", path);
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return static_cast<size_t>(value);
  };
  const size_t end = bytes.rfind("PK\5\6");
  if (end == bytes.npos) throw InvalidArgument("{}: is no zip archive", path);
  std::vector<std::pair<std::string, Tensor>> arrays;
  size_t at = number(end + 16, 4);
  for (size_t left = number(end + 10, 2); left--;) {  // the central directory
    const size_t method = number(at + 10, 2), packed = number(at + 20, 4), size = number(at + 24, 4), name_size = number(at + 28, 2);
    const size_t local = number(at + 42, 4), data = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    number(data, 0);
    if (packed == 0xffffffff || size == 0xffffffff)
      throw InvalidArgument("{}: holds an array of more than 4 GB, which cannot be read; save it as a .npy file", path);
    if (packed > bytes.size() - data) throw InvalidArgument("{}: an entry is cut off", path);
    std::string name(bytes.substr(at + 46, name_size));
    std::span<const std::byte> content = file->bytes().subspan(data, packed);
    std::optional<std::vector<std::byte>> unpacked;
    if (method == 8) {
      unpacked = torchscript::inflate(content, size);
      if (!unpacked) throw InvalidArgument("{}: an entry is damaged", path);
      content = *unpacked;
    }
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    Tensor array = parse_npy(content, path + ":" + name);
    arrays.emplace_back(std::move(name), std::move(array));
    at += 46 + name_size + number(at + 30, 2) + number(at + 32, 2);
  }
  return arrays;
} catch (...) {
  throw_as_error();
}

DatasetPtr npz(const std::string& path, const std::string& inputs, const std::string& targets) try {
  const auto arrays = read_npz(path);
  std::vector<std::string> names;
  for (const auto& [name, array] : arrays) names.push_back(name);
  const auto chosen = [&](const std::string& given, std::initializer_list<std::string_view> usual) {
    for (const auto& [name, array] : arrays)
      if (given.empty() ? std::find(usual.begin(), usual.end(), name) != usual.end() : name == given) return array;
    throw InvalidArgument("{}: there is no array \"{}\"{}", path, given.empty() ? *usual.begin() : given, nearest(given, names));
  };
  const Tensor x = chosen(inputs, {"x", "data", "images", "inputs", "X"}),
               y = chosen(targets, {"y", "targets", "labels", "target", "label"});
  if (x.shape().empty() || y.shape().empty() || x.shape()[0] != y.shape()[0])
    throw InvalidArgument("{}: there is a target for each sample; the samples have the shape {}, the targets {}", path, x.shape(),
                          y.shape());
  return tensors({x, y});
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data
