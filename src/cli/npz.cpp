// SPDX-License-Identifier: Apache-2.0
#include "cli/npz.h"

#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/os.h"
#include "cli/npy.h"
#include "importers/torchscript/inflate.h"

namespace minnow::cli {

std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path) {
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
}

}  // namespace minnow::cli
