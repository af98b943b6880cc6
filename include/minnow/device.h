// SPDX-License-Identifier: Apache-2.0
// Tensors that stay in a device's memory between runs.
//
//   minnow::DeviceSession session(model, {.backends = {"cuda"}});
//   minnow::DeviceTensor x = session.adopt(minnow::DType::f32, {1, 3, 224, 224}, {address});  // another library's memory, or upload(view)
//   std::vector<minnow::DeviceTensor> outputs = session.run({{x}});
//   minnow::Tensor y = outputs[0].to_host();
#pragma once
#include <minnow/minnow.h>

namespace minnow {

/// Memory on a device as other libraries name it. CUDA: an address of the device's primary context. OpenCL: a cl_mem, and an offset in
/// bytes.
struct DeviceMemory {
  void* handle = nullptr;
  size_t offset = 0;
};

/// A plain (row-major) tensor in a device's memory. Copies share the memory.
class MINNOW_API DeviceTensor {
 public:
  DeviceTensor() = default;
  explicit operator bool() const noexcept { return impl_ != nullptr; }
  // The rest is for tensors that are not empty.
  DType dtype() const noexcept;
  const Shape& shape() const noexcept;
  /// "cuda", "opencl"
  std::string_view backend() const noexcept;
  /// Where it begins. The work that writes it has been done.
  DeviceMemory memory() const;
  /// A copy in the host's memory. Like a run, not at the same time as another call of the session that it comes from. Throws Unsupported if
  /// the device fails.
  Tensor to_host() const;

  struct Impl;

 private:
  friend class DeviceSession;
  explicit DeviceTensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

/// A session whose inputs, outputs and states stay on a device. One call at a time, as for Session.
class MINNOW_API DeviceSession {
 public:
  /// The device is the first of options.backends; the others serve as for Session. Throws InvalidArgument if that is no device, Unsupported
  /// if the device cannot be used, or if an input or output of the model is not a tensor. The option fallback concerns sessions alone.
  explicit DeviceSession(const Model& model, const SessionOptions& options);
  ~DeviceSession();
  DeviceSession(DeviceSession&&) noexcept;
  DeviceSession& operator=(DeviceSession&&) noexcept;

  /// The device's: "cuda", "opencl".
  std::string_view backend() const noexcept;
  /// A copy of a tensor. Throws OutOfMemory; Unsupported if the device fails.
  DeviceTensor upload(const TensorView& tensor);
  /// The memory of another library, without a copy, if it begins at a multiple of 64 bytes; else a copy. `owner` keeps it alive. Work that
  /// writes it must have been done; with CUDA it may be in the default stream. Throws InvalidArgument for memory that is no buffer of the
  /// device's, where the driver can tell.
  DeviceTensor adopt(DType dtype, const Shape& shape, const DeviceMemory& memory, std::shared_ptr<const void> owner = nullptr);

  /// Runs the model on inputs in the model's order, which must be of this device. The outputs are new tensors; their memory is reused once
  /// nobody holds them. When it returns, the device has done the work. Throws as Session::run; an index out of range is an error too.
  std::vector<DeviceTensor> run(std::span<const DeviceTensor> inputs);

  /// States, by the model's order; state() copies to the host.
  void reset_states();
  Tensor state(size_t i) const;
  void set_state(size_t i, const TensorView& value);

  /// The plan that ran last.
  PlanReport plan_report() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace minnow
