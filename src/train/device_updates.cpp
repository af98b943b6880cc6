// SPDX-License-Identifier: Apache-2.0
#include "train/device_updates.h"

#include <minnow/device.h>
#include <minnow/express.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/backends.h"

namespace minnow::train {
namespace {

std::string first_gpu() {
  const std::string name = resolved_names({"auto"}).front();  // a device, and the processor behind it
  return name == "cpu" ? std::string() : name;
}

/// Calls f(value, input) for the weights and states that are not the old ones: the new value, and the number of the input that it replaces.
template <class F>
void for_each_change(const Tape& tape, F f) {
  if (tape.weight != 0) f(tape.weight, 0);
  for (int16_t k = 0; k < tape.states; ++k)
    if (const int16_t at = tape.new_states[static_cast<size_t>(k)]; at != 2 + k) f(at, 2 + k);
}

/// The values of a tape for tensors of `count` elements: what changes, and sums.
Vars outputs_of(const Tape& tape, Vars& inputs, DType dtype, int64_t count) {
  Vars values;
  const Var zero = expr::constant(Tensor(dtype, Shape()));
  for (const Tape::Entry& entry : tape.entries) {
    const auto of = [&](int i) { return entry.of[i] == Tape::kZero ? zero : values[static_cast<size_t>(entry.of[i])]; };
    switch (entry.op) {
      case Tape::Op::input: {
        const bool is_coefficient = values.size() >= 2 + static_cast<size_t>(tape.states);
        values.push_back(inputs.emplace_back(expr::placeholder("x" + std::to_string(values.size()), dtype,
                                                               is_coefficient ? std::vector<int64_t>{} : std::vector<int64_t>{count})));
        break;
      }
      case Tape::Op::add:
        values.push_back(of(0) + of(1));
        break;
      case Tape::Op::subtract:
        values.push_back(of(0) - of(1));
        break;
      case Tape::Op::multiply:
        values.push_back(of(0) * of(1));
        break;
      case Tape::Op::divide:
        values.push_back(of(0) / of(1));
        break;
      case Tape::Op::root:
        values.push_back(expr::op("Sqrt", {of(0)}));
        break;
      case Tape::Op::size:
        values.push_back(expr::op("Abs", {of(0)}));
        break;
      case Tape::Op::larger:
        values.push_back(expr::op("Max", {of(0), of(1)}));
        break;
      case Tape::Op::smaller:
        values.push_back(expr::op("Min", {of(0), of(1)}));
        break;
      case Tape::Op::clamped:
        values.push_back(expr::op("Max", {of(0), expr::op("Min", {of(1), of(2)})}));
        break;
      case Tape::Op::by_sign:
        values.push_back(expr::op(
            "Where", {expr::op("Greater", {of(0), zero}), of(1), expr::op("Where", {expr::op("Less", {of(0), zero}), of(2), of(3)})}));
        break;
    }
  }
  const auto value = [&](int16_t at) { return values[static_cast<size_t>(at)]; };
  Vars outputs;
  for_each_change(tape, [&](int16_t at, int) { outputs.push_back(value(at)); });
  for (const int16_t sum : tape.sums) outputs.push_back(expr::op("ReduceSum", {value(sum)}, {{"keepdims", int64_t{0}}}));
  return outputs;
}

}  // namespace

std::unique_ptr<DeviceUpdates> DeviceUpdates::make(const Rule& rule, const Optimizer::Config& config) {
  using Device = Optimizer::Device;
  std::string name = config.backend;
  if (name.empty()) {
    if (config.device == Device::automatic || config.device == Device::cpu) return nullptr;
    if (config.device == Device::gpu) name = first_gpu();
    if (name.empty())
      throw Unsupported("optimizer \"{}\": {}", rule.name,
                        config.device == Device::gpu ? "this build finds no GPU; set device to cpu or automatic"
                                                     : "device is other; name its backend, too");
  } else if (const std::vector<std::string> names = backend_names();
             std::find(names.begin(), names.end(), family_of(name)) == names.end()) {
    throw InvalidArgument("optimizer \"{}\": there is no backend \"{}\"; this build has {}", rule.name, name, names);
  }
  if (rule.phases.empty() || !rule.whole.empty() || rule.together || rule.table)
    throw Unsupported("optimizer \"{}\": looks at whole tensors, which the processor alone computes; leave device and backend away",
                      rule.name);
  auto made = std::make_unique<DeviceUpdates>();
  made->options_.backends = {name};
  made->options_.threads = config.threads;
  return made;
}

DeviceUpdates::Plan& DeviceUpdates::plan_for(const Loop& loop, DType dtype, int64_t count) {
  const auto [at, is_new] = plans_.try_emplace({&loop, {dtype, count}});
  Plan& plan = at->second;
  if (!is_new) return plan;
  try {
    plan.tape = loop.tape();
    Vars inputs;
    const Vars outputs = outputs_of(plan.tape, inputs, dtype, count);
    plan.session = std::make_unique<Session>(expr::to_model(outputs, inputs), options_);
  } catch (...) {
    plans_.erase(at);
    throw;
  }
  return plan;
}

void DeviceUpdates::run(const Loop& loop, const MutableTensorView& weights, const TensorView& gradient,
                        std::span<const MutableTensorView> states, const double* coefficients, double* sums) {
  const DType dtype = weights.dtype();
  const int64_t count = weights.elements();
  Plan& plan = plan_for(loop, dtype, count);
  const Shape flat{count};
  std::vector<TensorView> inputs{{dtype, flat, weights.data()}, {dtype, flat, gradient.data()}};
  for (int16_t k = 0; k < plan.tape.states; ++k) inputs.emplace_back(dtype, flat, states[static_cast<size_t>(k)].data());
  float narrow[kMostCoefficients];
  for (int16_t k = 0; k < plan.tape.coefficients; ++k) {
    narrow[k] = static_cast<float>(coefficients[k]);
    inputs.emplace_back(dtype, Shape(), dtype == DType::f32 ? static_cast<const void*>(narrow + k) : coefficients + k);
  }
  const std::vector<Tensor> outputs = plan.session->run(inputs);
  size_t next = 0;
  for_each_change(plan.tape, [&](int16_t, int input) {
    const Tensor& from = outputs[next++];
    std::memcpy(input ? states[static_cast<size_t>(input - 2)].data() : weights.data(), from.data(), from.bytes());
  });
  for (size_t k = 0; k < plan.tape.sums.size(); ++k) {
    const Tensor& sum = outputs[next + k];
    sums[k] = dtype == DType::f32 ? static_cast<double>(sum.data<float>()[0]) : sum.data<double>()[0];
  }
}

}  // namespace minnow::train
