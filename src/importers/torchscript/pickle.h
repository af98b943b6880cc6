// SPDX-License-Identifier: Apache-2.0
// The pickled objects of a TorchScript file, read as data: a closed list of opcodes and of names, nothing is called.
#pragma once
#include "importers/torchscript/archive.h"
#include "importers/torchscript/value.h"

namespace minnow::torchscript {

/// All objects ever made, so that cyclic and very deeply nested objects can be freed.
class ObjectStore {
 public:
  ObjectStore() = default;
  ~ObjectStore();
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;
  const Item& keep(const Item& item) {
    if (item.object()) objects_.push_back(item.object());
    return item;
  }
  size_t size() const noexcept { return objects_.size(); }

 private:
  std::vector<std::shared_ptr<Object>> objects_;
};

/// The object in the entry `<folder>.pkl`; its tensors are the entries `<folder>/...`. They share the entry's bytes if these have an owner
/// and are aligned and contiguous, else they copy them. Throws InvalidModel.
Item unpickle(Archive& archive, const std::string& folder, ObjectStore& store);

/// Minnow's dtype for PyTorch's number; undefined if there is none. Quantized dtypes become their integers.
DType dtype_of(int64_t scalar_type) noexcept;
int64_t scalar_type_of(DType dtype) noexcept;  // -1 if there is none

}  // namespace minnow::torchscript
