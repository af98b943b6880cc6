// SPDX-License-Identifier: Apache-2.0
// The contract between the planner and a backend: a table of schemes, each of which computes one operator, and how they prepare and run.
#pragma once
#include <minnow/tensor.h>

#include <atomic>
#include <bit>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/format.h"
#include "base/function_ref.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "graph/node_view.h"
#include "graph/slot.h"

namespace minnow {

/// `high`: no Winograd beyond F(2x2), no Strassen. `normal`: both allowed. `tf32`: besides, products on a GPU's tensor cores may round
/// their operands to TF32. `low`: bf16 or f16 arithmetic allowed.
enum class Precision : uint8_t { high, normal, tf32, low };

/// The memory layout of a tensor. packed: [N][C / c][spatial...][c] with c = Device::pack; the channels are axis 1 of a tensor of rank 2 or
/// more. If C is not a multiple of c, the remaining lanes are unspecified, possibly NaN, and must not influence other lanes.
enum class Layout : uint8_t { plain, packed };

/// Whether the build has backends with memory of their own; a small build leaves out all that serves them.
#if MINNOW_SMALL
inline constexpr bool kHasDevices = false;
#else
inline constexpr bool kHasDevices = true;
#endif

/// The machine, as estimates and kernels know it.
struct Device {
  std::string name;               // "cpu avx3"
  int pack = 1;                   // c of the packed layout; 1: no packed layout
  DType packed_f32 = DType::f32;  // as what elements of f32 tensors are stored in the packed layout: f32 or f16
  int threads = 1;
  Precision precision = Precision::normal;
  bool low_memory = false;  // schemes that pack weights into more than their plain bytes decline
  double flops = 10e9;      // f32 operations a second of one thread, a multiply-add counting two
  double l1_bandwidth = 100e9, l2_bandwidth = 50e9, l3_bandwidth = 30e9, memory_bandwidth = 10e9;  // bytes a second of one thread
  double far_scaling = 0.5;  // the bandwidth of the last cache and of memory that each further thread adds
  int wgmma_units = 0;       // multiprocessors of an NVIDIA GPU of compute capability 9.0, which has wgmma and copies boxes; else 0
  size_t l1 = 32 << 10, l2 = 512 << 10, l3 = 4 << 20;
  size_t max_tensor_bytes = 0;                          // a kernel reaches no more of a tensor; 0: there is no limit
  double transfer_latency = 0, transfer_bandwidth = 0;  // seconds, bytes a second: of copies between the host's memory and a device's
  /// Seconds for arithmetic at `efficiency` of the peak, split over the threads.
  double flop_time(double operations, double efficiency = 1) const { return operations / (flops * efficiency * threads); }
  /// Seconds to move that many bytes through the smallest cache that holds them.
  double byte_time(double bytes) const {
    const double bandwidth = bytes <= double(l1)   ? l1_bandwidth
                             : bytes <= double(l2) ? l2_bandwidth
                             : bytes <= double(l3) ? l3_bandwidth
                                                   : memory_bandwidth;
    return bytes / (bandwidth * (bytes <= double(l2) ? threads : 1 + far_scaling * (threads - 1)));
  }
  /// Seconds to read that many bytes of constants. Between two runs those of the other nodes push them out of the nearer caches.
  double weight_time(double bytes) const {
    if (bytes <= double(l2) / 16) return byte_time(bytes);
    return bytes / ((bytes <= double(l3) / 8 ? l3_bandwidth : memory_bandwidth) * (1 + far_scaling * (threads - 1)));
  }
  /// Seconds to copy that many bytes from or to the host.
  double transfer_time(double bytes) const { return transfer_latency + bytes / transfer_bandwidth; }
  /// Bytes that a tensor takes in memory.
  size_t bytes(DType dtype, const Shape& shape, Layout layout) const {
    size_t elements = static_cast<size_t>(shape.elements());
    if (layout == Layout::packed && shape.rank() >= 2 && shape[1] > 0)
      elements = elements / static_cast<size_t>(shape[1]) * align_up(static_cast<size_t>(shape[1]), static_cast<size_t>(pack));
    return elements * size_of(stored_as(dtype, layout));
  }
  /// Whether kernels reach all of a tensor. Only constants surely begin where a binding may begin.
  bool reaches(size_t bytes, bool is_constant) const {
    return !kHasDevices || max_tensor_bytes == 0 || bytes + (is_constant ? 0 : kMostOffset) <= max_tensor_bytes;
  }
  static constexpr size_t kMostOffset = 256;
  DType stored_as(DType dtype, Layout layout) const {
    return kHasDevices && dtype == DType::f32 && layout == Layout::packed ? packed_f32 : dtype;
  }
};

/// A scheme's answer for one node: predicted time and wishes, or the reason for declining.
struct Estimate {
  double seconds = 0;
  uint64_t packed_inputs = 0;   // bit i: input i is wanted packed (else plain)
  uint64_t packed_outputs = 0;  // bit i: output i comes packed (else plain)
  int overwrites = -1;          // the input whose memory output 0 may take over while it is being read, or -1
  bool is_view = false;         // output 0 has the bytes of that input, and the kernel copies only where they lie elsewhere
  // joins: output 0 consists of the inputs, one after another in their layout. parts: input 0 consists of the outputs likewise. The planner
  // may then let them share memory; the kernel copies only parts that are elsewhere.
  bool joins = false, parts = false;
  // Not negative: the outputs are neighbouring columns (places on the last axis) of input 0, from this one on. A step whose estimate has
  // bit i of column_inputs may then read them where they lie, as its input i, and needs no copy (PrepareContext::columns).
  int64_t first_column = -1;
  uint64_t column_inputs = 0;
  std::string declined;      // not empty: this scheme cannot serve, because ...
  bool unavailable = false;  // declined because this machine or build lacks a requirement of the scheme, for any node

  Estimate() = default;
  Estimate(double seconds) : seconds(seconds) {}
  Layout input_layout(size_t i) const { return i < 64 && (packed_inputs >> i) & 1 ? Layout::packed : Layout::plain; }
  Layout output_layout(size_t i) const { return i < 64 && (packed_outputs >> i) & 1 ? Layout::packed : Layout::plain; }
};
Estimate declined_with(std::string_view pattern, std::span<const FormatArg> args);
template <class... Args>
Estimate declined(std::string_view pattern, const Args&... args) {
  return declined_with(pattern, erase(args...));
}
/// Declined on this machine or by this build for every node.
Estimate unavailable(std::string_view reason);

/// A value that packing depends on, by its name. A float counts by its bits.
struct PackingParameter {
  template <class T>
  PackingParameter(std::string_view name, T value) : name(name) {
    if constexpr (std::is_same_v<T, float>)
      bits = std::bit_cast<uint32_t>(value);
    else
      bits = static_cast<uint64_t>(value);
  }
  friend bool operator==(const PackingParameter&, const PackingParameter&) = default;
  std::string_view name;  // a literal
  uint64_t bits = 0;
};
using PackingParameters = std::vector<PackingParameter>;

/// The packing of a weight: everything that the packed bytes depend on besides the weight's contents, dtype and shape. Weights with equal
/// packings share their packed form, in memory and in the file of a weight cache.
struct Packing {
  std::string form;    // names the code that packs
  std::string device;  // Device::name, which has the instruction set
  size_t bytes = 0;    // of the packed form
  std::vector<PackingParameter> parameters;
  std::string source;  // the operations on the weight before it is packed (planner/derived.h); empty: none
  friend bool operator==(const Packing&, const Packing&) = default;
  size_t hash() const noexcept;
  /// All of it, as the file of a weight cache has it.
  std::string text() const;
};

class Backend;

/// Packed weights, kept by the model and shared by all its plans and sessions.
class WeightStore {
 public:
  using Pack = FunctionRef<void(const TensorView& weight, void* out)>;
  /// The packed form of `weight`: made by `pack` at the first call with this weight and this `packing`, shared afterwards. Safe to call
  /// from many threads.
  virtual std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing, Pack pack) = 0;
  /// The same in the memory of `backend`; `pack` writes to the host's. Packing::device names the device.
  virtual std::shared_ptr<const void> packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack);
  virtual ~WeightStore() = default;
};

/// Where an input lies in memory, if that is among the columns of a tensor with longer rows but the same other axes.
struct InputColumns {
  int64_t first = 0, row = 0;  // the first column; elements of a row. row is 0 where the input lies by itself
};

/// A scheme's view during preparation: the node with all shapes, the accepted estimate, and the destinations of its results.
class PrepareContext {
 public:
  PrepareContext(const NodeView& node, const Device& device, const Estimate& estimate, WeightStore& weights)
      : node_(&node), device_(&device), estimate_(&estimate), weights_(&weights) {}
  PrepareContext(const NodeView& node, Backend& backend, const Estimate& estimate, WeightStore& weights);
  const NodeView& node() const { return *node_; }
  const Device& device() const { return *device_; }
  /// The backend in whose memory the kernel works; null: the host's.
  Backend* memory() const { return memory_; }
  Layout input_layout(size_t i) const { return estimate_->input_layout(i); }
  Layout output_layout(size_t i) const { return estimate_->output_layout(i); }
  /// How input i lies in memory; others than by itself only where Estimate::column_inputs allows it.
  InputColumns columns(size_t i) const { return i < columns_.size() ? columns_[i] : InputColumns{}; }
  void set_columns(std::span<const InputColumns> columns) { columns_ = columns; }
  /// The packed form of a constant input. `form` names the code of `pack`; `parameters` are all values that it reads besides the weight
  /// and the instruction set. If one is missing, two kernels may share a form that suits only one of them. tests/backends/cpu/
  /// packing_test.cpp compares the packed bytes of equal keys.
  std::shared_ptr<const void> packed(size_t input, std::string_view form, PackingParameters parameters, size_t bytes,
                                     WeightStore::Pack pack);
  /// Reserves memory for runs of this kernel alone, aligned to a cache line; calls add up. Returns the offset from RunContext::scratch().
  /// Throws OutOfMemory if the size exceeds all memory.
  size_t reserve_scratch(size_t bytes);
  size_t scratch_bytes() const { return scratch_; }

 private:
  const NodeView* node_;
  const Device* device_;
  const Estimate* estimate_;
  WeightStore* weights_;
  Backend* memory_ = nullptr;
  std::span<const InputColumns> columns_;
  size_t scratch_ = 0;
};

/// A kernel's view while it runs.
class RunContext {
 public:
  bool has_input(size_t i) const noexcept { return i < inputs.size() && inputs[i] != nullptr; }
  bool has_output(size_t i) const noexcept { return i < outputs.size() && outputs[i] != nullptr; }
  template <class T>
  const T* in(size_t i) const noexcept {
    return static_cast<const T*>(inputs[i]->view.data());
  }
  template <class T>
  T* out(size_t i) const noexcept {
    return static_cast<T*>(const_cast<void*>(outputs[i]->view.data()));
  }
  template <class T = char>
  T* scratch_at(size_t offset = 0) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(scratch) + offset);
  }
  /// Calls task(i) for i in [0, tasks) on the session's threads; see ThreadPool::run.
  void parallel_for(size_t tasks, FunctionRef<void(size_t)> task) const noexcept { ThreadPool::process().run(tasks, threads, task); }
  void parallel_for(size_t tasks, FunctionRef<void(size_t task, size_t runner)> task) const noexcept {
    ThreadPool::process().run(tasks, threads, task);
  }
  /// Stops the run after this kernel; Session::run throws the sentence as InvalidArgument. Only the first failure counts. If there is no
  /// memory for the sentence, the run throws OutOfMemory.
  template <class... Args>
  void fail(std::string_view pattern, const Args&... args) noexcept {
    fail_with(pattern, erase(args...));
  }
  /// The same with an exception for Session::run to throw.
  void fail(std::exception_ptr exception) noexcept {
    if (!has_failed()) thrown = std::move(exception);
  }
  bool has_failed() const noexcept { return thrown || !failure.empty(); }

  std::span<Slot*const> inputs, outputs;
  void* scratch = nullptr;
  int threads = 1;
  SubgraphRunner* subgraphs = nullptr;
  /// Set by a kernel that sums in 16 bits where a sum is infinite or NaN. Its outputs then hold anything. If its inputs are finite, the
  /// executor repeats the run without the scheme.
  std::atomic<bool> overflowed{false};
  std::string failure;
  std::exception_ptr thrown;

 private:
  void fail_with(std::string_view pattern, std::span<const FormatArg> args) noexcept;
};

class RowKernel;

/// A prepared computation, which runs do not change: what they need lies in the context. If all shapes were known, run() allocates nothing,
/// takes no lock, and executes no string or shape logic.
struct Kernel {
  virtual void run(RunContext& context) const noexcept = 0;
  /// The kernel as one that can also compute its output row by row (row_tiling.h); null where it cannot.
  virtual RowKernel* by_rows() noexcept { return nullptr; }
  virtual ~Kernel() = default;
};

/// One way to compute one operator. A row of a backend's table.
inline constexpr std::string_view kAnyOperator = "*";
inline constexpr bool kLargeOnly = true;
struct Scheme {
  std::string_view op;    // "Conv"; kAnyOperator serves every operator, where no other scheme does
  std::string_view name;  // "conv.winograd_f4"
  Estimate (*estimate)(const NodeView& node, const Device& device);
  std::unique_ptr<Kernel> (*prepare)(PrepareContext& context);
  bool large_only = false;  // makes some shapes, dtypes or precisions faster, and nothing else: a small build leaves it out
};

/// The operator that changes a layout. The planner inserts it; a backend with a packed layout has a row for it.
/// Attribute "to": "packed" or "plain". The one input and the one output have the same shape and dtype.
inline constexpr std::string_view kReorder = "minnow.Reorder";

/// The operator that copies a tensor between the host's memory and a device's. The planner inserts it; a backend that does not use the
/// host's memory has a row for it. Attribute "to": "device" or "host".
inline constexpr std::string_view kTransfer = "minnow.Transfer";

/// Work of a device that was recorded once and can be enqueued again and again.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void enqueue(RunContext& context) noexcept = 0;
};

class RegionCompiler;

/// A backend belongs to a session. If it does not use the host's memory, the tensors that its kernels read and write lie in memory of
/// `allocate`, whose addresses only its own functions understand; kernels enqueue their work on the backend's one queue, in order, and
/// return. Constant inputs are not copied for them: a kernel asks for those that it reads by PrepareContext::packed.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;  // "cpu", "reference"
  virtual const Device& device() const = 0;
  virtual std::span<const Scheme> schemes() const = 0;
  /// Whether it serves every operator by the operator's own reference, so that it comes last.
  virtual bool is_fallback() const { return false; }
  /// Whether its kernels read and write host memory. If so, the schemes of custom operators, which work on host memory, are part of its
  /// table.
  virtual bool uses_host_memory() const { return true; }
  /// Throws OutOfMemory.
  virtual std::shared_ptr<void> allocate(size_t bytes) { return allocate_shared(bytes); }
  /// Memory of the device that another library allocated, and the same the other way round: CUDA's address and 0, OpenCL's cl_mem and an
  /// offset into it. `owner` keeps the memory alive. Throw Unsupported where the backend has no such memory.
  struct Foreign {
    void* handle;
    size_t offset;
  };
  virtual std::shared_ptr<void> adopt(const Foreign& memory, std::shared_ptr<const void> owner);
  virtual Foreign foreign(const void* address);
  /// Copies behind all enqueued work; `from` has been read, or `to` written, when they return. Throw Error if the device fails.
  virtual void copy_from_host(void* to, const void* from, size_t bytes);
  virtual void copy_to_host(void* to, const void* from, size_t bytes);
  /// Not null: the backend can also compile connected nodes as one kernel (backends/region.h).
  virtual RegionCompiler* regions() { return nullptr; }
  /// Called when all kernels of a plan are prepared, before they run: a device may have programs to compile. Throws Error.
  virtual void prepared() {}
  /// Whether an error came because the device is lost, has no memory left, or refuses a kernel. It is no use any more.
  virtual bool has_failed() const noexcept { return false; }
  /// Whether work can be recorded, which then costs less than enqueueing it kernel by kernel.
  virtual bool can_record() const { return false; }
  /// From now on kernels record their work instead of doing it.
  virtual void begin_recording() {}
  virtual std::unique_ptr<Recording> end_recording() { return nullptr; }
  /// Whether the device can tell when it has done its work: stamp() enqueues a time stamp, and take_stamps(), behind finish(), gives the
  /// times of all stamps since the last call, in seconds after the first of them.
  virtual bool can_stamp() { return false; }
  virtual void stamp() noexcept {}
  virtual std::vector<double> take_stamps() { return {}; }
  /// Operations a second that this machine really does when it does nothing but f32 multiply-adds, on the backend's threads; takes about
  /// 50 ms. 0: not known.
  virtual double measure_peak() { return 0; }
  /// Waits for all enqueued work. Throws Error if it failed.
  virtual void finish() {}
};

/// The backend in whose memory a step's tensors lie; null: the host's.
inline Backend* memory_of(Backend& backend) { return !kHasDevices || backend.uses_host_memory() ? nullptr : &backend; }

/// A device as `minnow devices` prints it.
struct DeviceRow {
  std::string backend, name, details;
  std::string problem;        // not empty: it cannot be used, because ...
  bool is_processor = false;  // the processor under another name, which the backend "auto" leaves alone
};

struct BackendOptions {
  int threads = 0;  // 0: all cores
  Precision precision = Precision::normal;
  bool low_memory = false;
  std::string isa;           // "", "sse4", "avx2" ...: the most that may be used, as MINNOW_ISA; "8.0" for cuda:8.0, which only compiles
  std::string kernel_cache;  // a file of compiled kernels; "": none
  int device = 0;            // the number behind the backend's name, as in "cuda:1"
};

}  // namespace minnow
