// SPDX-License-Identifier: Apache-2.0
// Custom operators in C++, header-only over the C tables of minnow_c.h: nothing of this crosses the library's border but C.
//
//   struct Swish : minnow::CustomOp {
//     void infer(minnow::OpCall& call) const override { call.set_output(0, call.input(0).dtype, call.shape(0)); }
//     void compute(minnow::OpCall& call) const override { ... call.input_data<float>(0) ... call.output_data<float>(0) ... }
//   };
//   MINNOW_CUSTOM_OPS({"com.example.Swish", new Swish, "y = x * sigmoid(x)"})
//
// A row may go on with schemes, faster ways to compute the operator, and the name of the operator that computes its gradients:
//   {"com.example.Swish", new Swish, "y = x * sigmoid(x)", {{"swish.vectors", new SwishByVectors}}, "com.example.SwishGradient"}
#pragma once
#include <minnow/minnow_c.h>

#include <atomic>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace minnow {

/// One call of an operator: its inputs, outputs and attributes.
class OpCall {
 public:
  OpCall(const minnow_op_api& api, minnow_op_call* call) : api_(api), call_(call) {}
  size_t input_count() const { return api_.input_count(call_); }
  size_t output_count() const { return api_.output_count(call_); }
  const minnow_tensor& input(size_t i) const {
    const minnow_tensor* tensor = i < input_count() ? api_.input(call_, i) : nullptr;
    if (!tensor || tensor->dtype == 0) throw std::invalid_argument("input " + std::to_string(i) + " is missing");
    return *tensor;
  }
  bool has_input(size_t i) const { return i < input_count() && api_.input(call_, i)->dtype != 0; }
  std::span<const int64_t> shape(size_t i) const { return {input(i).dims, static_cast<size_t>(input(i).rank)}; }
  size_t elements(size_t i) const {
    size_t count = 1;
    for (const int64_t dim : shape(i)) count *= static_cast<size_t>(dim);
    return count;
  }
  template <class T>
  const T* input_data(size_t i) const {
    return static_cast<const T*>(input(i).data);
  }
  /// infer: the contents of an input. If only the run can compute them, the node is planned during the run.
  template <class T>
  const T* contents(size_t i) {
    if (input(i).data || elements(i) == 0) return input_data<T>(i);
    api_.need_contents(call_, i);
    throw std::invalid_argument("the contents of input " + std::to_string(i) + " are needed");
  }
  void set_output(size_t i, int32_t dtype, std::span<const int64_t> dims) {
    minnow_tensor& tensor = output(i);
    if (dims.size() > MINNOW_MAX_RANK) throw std::invalid_argument("an output's rank is too large");
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(dims.size());
    for (size_t axis = 0; axis < dims.size(); ++axis) tensor.dims[axis] = dims[axis];
  }
  /// infer: the shape depends on data.
  void set_output_unknown(size_t i, int32_t dtype) {
    output(i).dtype = dtype;
    output(i).rank = -1;
  }
  bool wants_output(size_t i) const { return i < output_count() && api_.output(call_, i)->dtype != 0; }
  template <class T>
  T* output_data(size_t i) {
    return static_cast<T*>(output(i).data);
  }
  template <class T>
  T* allocate_output(size_t i, std::span<const int64_t> dims) {
    void* memory = api_.allocate_output(call_, i, static_cast<int32_t>(dims.size()), dims.data());
    if (!memory) throw std::runtime_error("there is no memory for an output");
    return static_cast<T*>(memory);
  }
  int64_t attribute(const char* name, int64_t fallback) const {
    api_.attribute_int(call_, name, &fallback);
    return fallback;
  }
  float attribute(const char* name, float fallback) const {
    api_.attribute_float(call_, name, &fallback);
    return fallback;
  }
  std::string_view attribute(const char* name, std::string_view fallback) const {
    const char* text = nullptr;
    size_t length = 0;
    return api_.attribute_string(call_, name, &text, &length) ? std::string_view(text, length) : fallback;
  }
  std::span<const int64_t> ints(const char* name) const {
    const int64_t* values = nullptr;
    size_t count = 0;
    api_.attribute_ints(call_, name, &values, &count);
    return {values, count};
  }
  std::span<const float> floats(const char* name) const {
    const float* values = nullptr;
    size_t count = 0;
    api_.attribute_floats(call_, name, &values, &count);
    return {values, count};
  }

  // For schemes.
  int threads() const { return api_.threads(call_); }
  int precision() const { return api_.precision(call_); }
  /// Seconds for arithmetic at `efficiency` of the machine's peak (a multiply-add counts two), on all threads.
  double flop_time(double operations, double efficiency = 1) const { return api_.flop_time(call_, operations, efficiency); }
  /// Seconds to move that many bytes through the smallest cache that holds them.
  double byte_time(double bytes) const { return api_.byte_time(call_, bytes); }
  /// run: the memory that the estimate asked for, aligned to a cache line.
  template <class T>
  T* scratch() const {
    return static_cast<T*>(api_.scratch(call_));
  }
  /// run: task(i) for i in [0, tasks) on the session's threads. The first exception of a task is thrown here, when all are done.
  template <class F>
  void parallel_for(size_t tasks, F&& task) {
    struct Context {
      F& task;
      std::atomic<bool> failed{false};
      std::exception_ptr error;
    } context{task, {}, {}};
    api_.parallel_for(
        call_, tasks,
        [](void* p, size_t i) {
          Context& shared = *static_cast<Context*>(p);
          try {
            shared.task(i);
          } catch (...) {
            if (!shared.failed.exchange(true)) shared.error = std::current_exception();
          }
        },
        &context);
    if (context.error) std::rethrow_exception(context.error);
  }

 private:
  minnow_tensor& output(size_t i) {
    minnow_tensor* tensor = i < output_count() ? api_.output(call_, i) : nullptr;
    if (!tensor) throw std::invalid_argument("output " + std::to_string(i) + " is not wanted");
    return *tensor;
  }
  const minnow_op_api& api_;
  minnow_op_call* call_;
};

/// An operator. Exceptions become the run's error, with the node's name before their text.
class CustomOp {
 public:
  virtual ~CustomOp() = default;
  /// Sets dtype and shape of every output.
  virtual void infer(OpCall& call) const = 0;
  /// Computes the outputs. Called from several threads at once where several sessions run.
  virtual void compute(OpCall& call) const = 0;
};

/// A scheme's answer for one node.
struct SchemeEstimate : minnow_op_estimate {
  /// seconds: that a run will take; scratch_size: bytes for a run alone; overwrites: the input whose memory output 0 may take over, or -1.
  SchemeEstimate(double seconds, uint64_t scratch_size = 0, int32_t overwrites = -1)
      : minnow_op_estimate{seconds, scratch_size, overwrites} {}
};

/// A faster way to compute an operator. The planner uses the accepting scheme with the least estimate; if none accepts, it uses `compute`.
/// Shapes are known. Exceptions are errors of the operator, but one from estimate() is the scheme's reason for declining.
class CustomScheme {
 public:
  /// The result of prepare() for one plan.
  struct Prepared {
    virtual ~Prepared() = default;
  };
  virtual ~CustomScheme() = default;
  /// Called often, while a plan is made; throw to decline, with the reason. Data of inputs that are not constant is null.
  virtual SchemeEstimate estimate(OpCall& call) const = 0;
  /// Called once per plan, for work that runs can share, such as packing constant inputs.
  virtual std::unique_ptr<Prepared> prepare(OpCall&) const { return nullptr; }
  /// Computes the outputs; should allocate nothing. Called from several threads at once, from one at a time for each `prepared`.
  virtual void run(OpCall& call, const Prepared* prepared) const = 0;
};

namespace detail {

template <class F>
int call_guarded(const minnow_op_api* api, minnow_op_call* call, F&& body) {
  try {
    OpCall wrapped(*api, call);
    body(wrapped);
    return 0;
  } catch (const std::exception& error) {
    api->fail(call, error.what());
  } catch (...) {
    api->fail(call, "the operator threw something that is no std::exception");
  }
  return 1;
}

template <void (CustomOp::*kMethod)(OpCall&) const>
int call_custom_op(const minnow_op_api* api, minnow_op_call* call, void* user) {
  return call_guarded(api, call, [&](OpCall& wrapped) { (static_cast<const CustomOp*>(user)->*kMethod)(wrapped); });
}

struct CustomSchemeRow : minnow_op_scheme {
  CustomSchemeRow(const char* name, CustomScheme* scheme)
      : minnow_op_scheme{sizeof(minnow_op_scheme), name, scheme, call_estimate, call_prepare, call_run, call_release}, owner(scheme) {}
  std::shared_ptr<const CustomScheme> owner;

 private:
  static const CustomScheme& scheme(void* user) { return *static_cast<const CustomScheme*>(user); }
  static int call_estimate(const minnow_op_api* api, minnow_op_call* call, minnow_op_estimate* estimate, void* user) {
    return call_guarded(api, call, [&](OpCall& wrapped) { *estimate = scheme(user).estimate(wrapped); });
  }
  static int call_prepare(const minnow_op_api* api, minnow_op_call* call, void** prepared, void* user) {
    return call_guarded(api, call, [&](OpCall& wrapped) { *prepared = scheme(user).prepare(wrapped).release(); });
  }
  static int call_run(const minnow_op_api* api, minnow_op_call* call, void* prepared, void* user) {
    return call_guarded(api, call,
                        [&](OpCall& wrapped) { scheme(user).run(wrapped, static_cast<const CustomScheme::Prepared*>(prepared)); });
  }
  static void call_release(void* prepared, void*) { delete static_cast<CustomScheme::Prepared*>(prepared); }
};

struct CustomOpRow : minnow_custom_op {
  CustomOpRow(const char* name, CustomOp* op, const char* doc = nullptr, const std::vector<CustomSchemeRow>& schemes = {},
              const char* gradient = nullptr)
      : minnow_custom_op{sizeof(minnow_custom_op),
                         name,
                         doc,
                         op,
                         call_custom_op<&CustomOp::infer>,
                         call_custom_op<&CustomOp::compute>,
                         nullptr,
                         schemes.size(),
                         gradient},
        owner(op),
        rows(std::make_shared<const std::vector<CustomSchemeRow>>(schemes)) {
    auto list = std::make_shared<std::vector<const minnow_op_scheme*>>();
    for (const CustomSchemeRow& row : *rows) list->push_back(&row);
    pointers = list;
    this->schemes = pointers->data();
  }
  std::shared_ptr<const CustomOp> owner;  // dies with the library
  std::shared_ptr<const std::vector<CustomSchemeRow>> rows;
  std::shared_ptr<const std::vector<const minnow_op_scheme*>> pointers;
};

}  // namespace detail
}  // namespace minnow

/// Exports the operators of a library: MINNOW_CUSTOM_OPS({"com.example.A", new A}, {"com.example.B", new B, "what it does"})
#define MINNOW_CUSTOM_OPS(...)                                                                                             \
  extern "C" __attribute__((visibility("default"))) const minnow_custom_op* const* minnow_custom_ops(uint32_t abi_version, \
                                                                                                     size_t* count) {      \
    if (abi_version != MINNOW_CUSTOM_OP_ABI) return nullptr;                                                               \
    static const std::vector<minnow::detail::CustomOpRow> rows = {__VA_ARGS__};                                            \
    static const std::vector<const minnow_custom_op*> list = [] {                                                          \
      std::vector<const minnow_custom_op*> pointers;                                                                       \
      for (const auto& row : rows) pointers.push_back(&row);                                                               \
      return pointers;                                                                                                     \
    }();                                                                                                                   \
    *count = list.size();                                                                                                  \
    return list.data();                                                                                                    \
  }
