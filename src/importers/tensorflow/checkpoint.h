// SPDX-License-Identifier: Apache-2.0
// TensorFlow's checkpoints (tensor bundles): an index, which is a sorted table of strings, and files of data beside it.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os.h"
#include "graph/graph.h"

namespace minnow::tensorflow {

/// The name in a checkpoint of one slice of a variable. `spec`: the variable's shape and the slice, as "10 6 0,5:-" for the first five rows
/// of a matrix. Throws Malformed for any other text.
std::string slice_name(std::string_view name, std::string_view spec);

class Checkpoint {
 public:
  /// `prefix`: the path without ".index". Throws IoError, InvalidModel.
  explicit Checkpoint(const std::string& prefix);
  bool contains(std::string_view name) const { return entries_.contains(name); }
  /// The variable `name`; aligned elements are used in place. Verifies checksums. Throws InvalidModel; Unsupported for strings and for
  /// variables stored in slices (slice_name() names one).
  Tensor read(std::string_view name) const;

 private:
  struct Entry {
    int64_t type = 0, shard = 0, offset = 0, size = 0;
    uint32_t checksum = 0;
    bool sliced = false;
    Ints dims;
  };
  void read_block(std::string_view file, uint64_t offset, uint64_t size,
                  std::map<std::string, std::string_view, std::less<>>& entries) const;
  std::string prefix_;
  std::shared_ptr<const os::MappedFile> index_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::shared_ptr<const os::MappedFile>> shards_;
};

}  // namespace minnow::tensorflow
