// SPDX-License-Identifier: Apache-2.0
// The structures of DLPack's ABI (dlpack.h): unversioned before 1.0, versioned since.
#pragma once
#include <nanobind/ndarray.h>

#include <array>
#include <memory>
#include <utility>

#include "binding.h"

namespace minnow::python::dlpack {

struct Unversioned {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsedName = "used_dltensor";
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsedName = "used_dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  nb::dlpack::dltensor tensor;
};
inline constexpr uint64_t kReadOnly = 1, kCopied = 2;
inline constexpr int32_t kCpu = 1, kCuda = 2, kOpenCl = 4;

/// No bits where DLPack has no code for the dtype.
nb::dlpack::dtype code_of(DType dtype);
/// Undefined where there is no such dtype.
DType dtype_of(const nb::dlpack::dtype& type);

/// A place in memory.
struct Place {
  void* data;
  int32_t device_type, device_id;
  uint64_t byte_offset;
  DType dtype;
  Shape shape;
};

/// A managed tensor and what keeps its memory.
template <class Managed, class Owner>
struct Exported {
  Managed managed{};
  Owner owner;
  std::array<int64_t, kMaxRank> shape{}, strides{};
};

/// A capsule over row-major memory that `owner` keeps.
template <class Managed, class Owner>
nb::object capsule_of(const Place& place, Owner owner, [[maybe_unused]] uint64_t flags) {
  auto exported = std::make_unique<Exported<Managed, Owner>>();
  exported->owner = std::move(owner);
  int64_t step = 1;
  for (size_t i = place.shape.rank(); i-- > 0; step *= exported->shape[i]) {
    exported->shape[i] = place.shape[i];
    exported->strides[i] = step;
  }
  Managed& managed = exported->managed;
  managed.tensor = {place.data,
                    {place.device_type, place.device_id},
                    static_cast<int32_t>(place.shape.rank()),
                    code_of(place.dtype),
                    exported->shape.data(),
                    exported->strides.data(),
                    place.byte_offset};
  managed.context = exported.get();
  managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed, Owner>*>(self->context); };
  if constexpr (std::is_same_v<Managed, Versioned>) {
    managed.major = 1, managed.minor = 0;
    managed.flags = flags;
  }
  const nb::object capsule = nb::steal(PyCapsule_New(&managed, Managed::kName, [](PyObject* made) {
    if (!PyCapsule_IsValid(made, Managed::kName)) return;  // somebody took the tensor, and renamed the capsule
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(made, Managed::kName));
    unused->deleter(unused);
  }));
  if (!capsule.is_valid()) nb::raise_python_error();
  exported.release();
  return capsule;
}

/// The two integers of an option.
std::pair<long, long> two_integers(nb::handle given, const char* name);

}  // namespace minnow::python::dlpack
