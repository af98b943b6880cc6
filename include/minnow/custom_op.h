// SPDX-License-Identifier: Apache-2.0
// Custom operators in C++, header-only over the C tables of minnow_c.h: nothing of this crosses the library's border but C.
//
//   struct Swish : minnow::CustomOp {
//     void infer(minnow::OpCall& call) const override { call.set_output(0, call.input(0).dtype, call.shape(0)); }
//     void compute(minnow::OpCall& call) const override { ... call.input_data<float>(0) ... call.output_data<float>(0) ... }
//   };
//   MINNOW_CUSTOM_OPS({"com.example.Swish", new Swish, "y = x * sigmoid(x)"})
#pragma once
#include <minnow/minnow_c.h>

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
  /// infer: the contents of an input; where only the run can tell them, planning waits for it.
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

namespace detail {

template <void (CustomOp::*kMethod)(OpCall&) const>
int call_custom_op(const minnow_op_api* api, minnow_op_call* call, void* user) {
  try {
    OpCall wrapped(*api, call);
    (static_cast<const CustomOp*>(user)->*kMethod)(wrapped);
    return 0;
  } catch (const std::exception& error) {
    api->fail(call, error.what());
  } catch (...) {
    api->fail(call, "the operator threw something that is no std::exception");
  }
  return 1;
}

struct CustomOpRow : minnow_custom_op {
  CustomOpRow(const char* name, CustomOp* op, const char* doc = nullptr)
      : minnow_custom_op{sizeof(minnow_custom_op), name, doc, op, call_custom_op<&CustomOp::infer>, call_custom_op<&CustomOp::compute>},
        owner(op) {}
  std::shared_ptr<const CustomOp> owner;  // dies with the library
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
