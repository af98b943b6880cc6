// SPDX-License-Identifier: Apache-2.0
#include "importers/onnx/external_data.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/memory.h"
#include "base/os.h"
#include "importers/read_callback.h"

namespace minnow::onnx {
namespace {

/// Relative, and without a step upwards, under the rules of Unix and of Windows alike.
bool stays_inside(std::string_view location) {
  if (location.empty() || location.find('\0') != location.npos) return false;
  if (location[0] == '/' || location[0] == '\\' || (location.size() > 1 && location[1] == ':')) return false;
  for (size_t at = 0; at <= location.size();) {
    const size_t end = std::min(location.find_first_of("/\\", at), location.size());
    if (location.substr(at, end - at) == "..") return false;
    at = end + 1;
  }
  return true;
}

class FolderData : public ExternalData {
 public:
  explicit FolderData(std::string folder) : folder_(std::move(folder)) {}

 private:
  SharedBytes read_file(const std::string& location, uint64_t offset, uint64_t size, const std::string& where) override {
    std::shared_ptr<const os::MappedFile>& file = files_[location];
    if (!file) {
      const std::string inside = os::canonical_path(folder_), path = os::canonical_path(folder_ + "/" + location);
      if (path.empty()) throw IoError("{}: its external data file \"{}\" is not in {}", where, location, folder_);
      if (path.compare(0, inside.size() + 1, inside == "/" ? inside : inside + "/") != 0)
        throw InvalidModel("{}: its external data file \"{}\" is a link out of the model's folder", where, location);
      file = os::MappedFile::open(path);
    }
    const size_t there = file->bytes().size();
    if (offset > there || size > there - offset)
      throw InvalidModel("{}: its external data is {} bytes at offset {} of \"{}\", which has {} bytes", where, size, offset, location,
                         there);
    return {file->bytes().subspan(offset, static_cast<size_t>(size)), file};
  }

  std::string folder_;
  std::unordered_map<std::string, std::shared_ptr<const os::MappedFile>> files_;
};

class CallbackData : public ExternalData {
 public:
  explicit CallbackData(const ReadCallback& read) : read_(read) {}

 private:
  SharedBytes read_file(const std::string& location, uint64_t offset, uint64_t size, const std::string& where) override {
    auto [memory, got] = read_all(read_, location, offset, size);
    if (got != size)
      throw InvalidModel("{}: its external data is {} bytes at offset {} of \"{}\", of which {} could be read", where, size, offset,
                         location, got);
    return {{static_cast<const std::byte*>(memory.get()), got}, memory};
  }

  const ReadCallback& read_;
};

}  // namespace

SharedBytes ExternalData::read(std::string_view location, uint64_t offset, uint64_t size, const std::string& where) {
  if (!stays_inside(location))
    throw InvalidModel("{}: its external data location \"{}\" should be a path inside the model's folder", where, location);
  return read_file(std::string(location), offset, size, where);
}

std::unique_ptr<ExternalData> external_data_of_folder(const std::string& folder) { return std::make_unique<FolderData>(folder); }
std::unique_ptr<ExternalData> external_data_of_callback(const ReadCallback& read) { return std::make_unique<CallbackData>(read); }

}  // namespace minnow::onnx
