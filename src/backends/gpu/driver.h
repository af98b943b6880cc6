// SPDX-License-Identifier: Apache-2.0
// A driver (CUDA, OpenCL, Vulkan) as backends see it: memory, compiled functions and a queue. The schemes (schemes/) are written once,
// in a C-like dialect (dialect.h), and know nothing of the driver.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/error.h"
#include "base/no_memory.h"

namespace minnow::gpu {

/// A function of a compiled program.
class Function {
 public:
  virtual ~Function() = default;
};

/// Boxes of a tensor of 16-bit elements that NVIDIA's copy engine brings from the device's memory to shared memory (compute
/// capability 9.0). The innermost dimension comes first. Elements outside of the tensor are 0.
struct Boxes {
  size_t rank = 0;                        // at most 4
  std::array<int64_t, 4> sizes{}, box{};  // of the tensor and of a box, in elements
  std::array<int64_t, 4> steps{};         // bytes between neighbours; those of dimension 0 touch
  bool swizzled = false;                  // rows of 128 bytes exchange their units of 16: unit u of row r lies at u ^ r % 8
};
/// Boxes at an address, as a kernel takes them.
struct alignas(64) EncodedBoxes {
  std::byte bytes[128];
};

/// One argument of a launch: a buffer (an address of the driver's), a number, or the address of an EncodedBoxes.
struct Argument {
  enum class Kind : uint8_t { buffer, i32, f32, boxes };
  Kind kind = Kind::i32;
  union {
    const void* address;
    int32_t i32;
    float f32;
  };
};

/// Faults that kernels find in data, such as an index out of range. A kernel writes the number of its sentence and two numbers to go into
/// it; GpuBackend::finish() throws it.
struct Faults {
  std::shared_ptr<void> memory;  // three i32 on the device; null: no kernel looks for faults
  struct Sentence {
    std::string where, pattern;
  };
  std::vector<Sentence> sentences;
};

inline constexpr size_t kMostArguments = 48;
using Extent = std::array<uint32_t, 3>;

/// The queue of one session on a device. Addresses may be added to within an allocation; only the driver's functions understand them.
/// Functions throw Error, except launch().
class Queue {
 public:
  virtual ~Queue() = default;
  virtual const Device& device() const = 0;
  /// Throws OutOfMemory.
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  /// The same in memory that the host reads quickly; for a few bytes that kernels seldom touch.
  virtual std::shared_ptr<void> allocate_visible(size_t bytes) { return allocate(bytes); }
  // As Backend has them.
  virtual std::shared_ptr<void> adopt(const Backend::Foreign&, std::shared_ptr<const void>) {
    throw Unsupported("the driver of {} takes no memory of other libraries", device().name);
  }
  virtual Backend::Foreign foreign(const void*) const {
    throw Unsupported("the driver of {} gives no memory to other libraries", device().name);
  }
  virtual void copy_from_host(void* to, const void* from, size_t bytes) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes) = 0;
  /// The function `name` of the program `source`, in the dialect's form, which may be launched after compile().
  /// `shared_bytes`: of a group's shared memory whose size the kernel leaves open. `group` and `groups`: the group of its launches, and the
  /// most groups of one.
  virtual std::unique_ptr<Function> function(const std::string& source, const std::string& name, size_t shared_bytes, const Extent& group,
                                             const Extent& groups) = 0;
  /// Compiles the programs of all functions that were asked for: once for a device in a process, several at a time, and not if the file of
  /// compiled kernels has them.
  virtual void compile() {}
  /// The compute capability of NVIDIA's tensor cores, as in 90; 0: there are none.
  virtual int tensor_cores() const { return 0; }
  /// False: the driver refused, or has no such boxes (Device::wgmma_units is 0).
  virtual bool encode(const Boxes&, const void*, EncodedBoxes&) noexcept { return false; }
  /// Enqueues groups * group work items. False: the driver refused.
  virtual bool launch(Function& function, const Extent& groups, const Extent& group, std::span<const Argument> arguments) noexcept = 0;
  virtual void finish() = 0;
  virtual bool can_record() const { return false; }
  virtual void begin_recording() {}
  virtual std::unique_ptr<Recording> end_recording() { return nullptr; }

  // Time stamps, as Backend has them.
  virtual bool can_stamp() { return false; }
  virtual void stamp() noexcept {}
  virtual std::vector<double> take_stamps() { return {}; }
  /// Whether a function has failed because the device is lost, has no memory left, or does not take a kernel.
  bool has_failed() const noexcept { return failed_; }
  void note_failure() noexcept { failed_ = true; }
  /// Calls f(), which calls the driver. A failure is the device's: callers of this class that let errors pass go through here.
  template <class F>
  auto watched(F f) -> decltype(f()) {
    try {
      return f();
    } catch (...) {
      note_failure();
      throw;
    }
  }

  Faults faults;  // its memory goes with the queue

 protected:
  bool failed_ = false;
};

/// Stops a run with an Unsupported: the device failed, not the caller.
template <class... Args>
void fail_unsupported(RunContext& context, std::string_view pattern, const Args&... args) noexcept {
  try {
    context.fail(std::make_exception_ptr(Unsupported(pattern, args...)));
  } catch (...) {
    context.fail(no_memory());
  }
}

/// Throws Unsupported if there are `count` devices and number `device` is not one of them.
void check_number(std::string_view backend, int device, size_t count);
/// The backend called `name` over a queue. `device`: the number of its device, which follows the name if it is not 0.
std::shared_ptr<Backend> make_gpu_backend(std::string_view name, std::unique_ptr<Queue> queue, int device = 0);

}  // namespace minnow::gpu
