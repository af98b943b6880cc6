// SPDX-License-Identifier: Apache-2.0
// Recording a step of training, and running it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/no_memory.h"
#include "base/numeric.h"
#include "express/backward.h"
#include "express/lower.h"
#include "express/scope.h"
#include "graph/rewriter.h"
#include "ops/infer.h"
#include "runtime/executor.h"
#include "runtime/model.h"
#include "train/device_step.h"
#include "train/recompute.h"
#include "train/trace.h"

namespace minnow {

using namespace express;

namespace {

bool is_finite(const TensorView& x) {
  const size_t count = static_cast<size_t>(x.elements());
  if (x.dtype() == DType::f32) return std::all_of(x.data<float>(), x.data<float>() + count, [](float v) { return std::isfinite(v); });
  if (x.dtype() == DType::f64) return std::all_of(x.data<double>(), x.data<double>() + count, [](double v) { return std::isfinite(v); });
  return true;
}

double scalar_of(const TensorView& x) {
  double value = 0;
  widen(x.dtype(), x.data(), 1, &value);
  return value;
}

/// The step for batches of some dtypes and shapes.
struct Recorded {
  std::vector<std::pair<DType, Shape>> batch;
  std::unique_ptr<Graph> graph;
  std::shared_ptr<const OperatorSet> operators;  // null: the built-in ones
  std::shared_ptr<const Runtime> runtime;
  PackedWeights packed;
  SessionContext context;
  std::shared_ptr<MemoryAccount> account;
  std::optional<Executor> executor;

  // Live-ins: batch, parameters, buffers, keys. Outputs: results, gradients, next values of buffers.
  std::vector<Slot> slots;
  std::vector<const Slot*> live_ins;
  struct Buffer {
    Var variable;
    bool changes;
  };
  std::vector<Buffer> buffers;
  std::vector<Tensor> next;                      // of those that change
  std::vector<Tensor> keys, results, gradients;  // gradients: where the optimizer takes all together
  bool one_at_a_time = false;
  bool is_rerun = false;

  // Where a device computes steps and updates: its memory. Addresses stay the same, so that all of a step can be recorded.
  std::shared_ptr<train::DevicePlace> place;
  train::DeviceCopies fed;  // of live-ins that come from the host in each step; null: a variable's
  train::DeviceCopies parameters;
  std::vector<train::DeviceCopies> result_copies;  // of each result, for each shape that it had
  train::DeviceCopies next_copies;
  std::optional<train::DeviceUpdate> update;
  bool has_squares = false;  // the last result, which is not the caller's

  // In the present run.
  bool has_begun = false, is_bad = false;
  uint64_t last_used = 0;

  bool is_for(std::span<const TensorView> given) const {
    if (given.size() != batch.size()) return false;
    for (size_t i = 0; i < batch.size(); ++i)
      if (given[i].dtype() != batch[i].first || !(given[i].shape() == batch[i].second)) return false;
    return true;
  }
};

constexpr size_t kMostRecorded = 16;

}  // namespace

struct TrainingStep::Impl {
  struct Parameter {
    std::string name;
    Var variable;
    std::shared_ptr<LazyNode> node;  // whose memory is ours
  };

  Loss loss;
  std::vector<Parameter> parameters;
  std::vector<Trainable> tensors;
  std::shared_ptr<Optimizer> optimizer;
  uint64_t seed = 0;
  size_t memory = 0;
  int64_t calls = 0;
  Loss curvature;
  std::vector<std::shared_ptr<train::DevicePlace>> places;
  std::string device, reason;                                   // TrainingStep::device(), why_not_on_device()
  std::vector<std::unique_ptr<Recorded>> recorded, curvatures;  // the latter with estimates of the curvature in place of gradients
  uint64_t clock = 0;

  /// Gives a parameter memory that nobody else holds.
  void own(size_t i) {
    Parameter& parameter = parameters[i];
    LazyValue now = value_of(parameter.variable);
    // Held by the variable, by the parameter and here.
    if (now.node != parameter.node || now.node.use_count() != 3 || output_of(now).tensor.owner().use_count() != 1) {
      const Tensor& given = tensor_of_constant(parameter, now);
      const TensorView& values = tensors[i].values;
      if (given.dtype() != values.dtype() || !(given.shape() == values.shape()))
        throw InvalidArgument("the parameter \"{}\" was {}{}, and now is {}{}", parameter.name, values.dtype(), values.shape(),
                              given.dtype(), given.shape());
      parameter.variable.assign(Var(given.clone()));
      now = value_of(parameter.variable);
      parameter.node = now.node;
    }
    const Tensor& tensor = output_of(now).tensor;
    tensors[i].values = MutableTensorView(tensor.dtype(), tensor.shape(), const_cast<void*>(tensor.data()));
  }

  static const Tensor& tensor_of_constant(const Parameter& parameter, const LazyValue& value) {
    if (value.node->kind != LazyNode::Kind::constant || !value.node->trainable || !output_of(value).tensor)
      throw InvalidArgument("the parameter \"{}\" is no parameter; make it by expr::trainable", parameter.name);
    return output_of(value).tensor;
  }

  static Recorded* find(const std::vector<std::unique_ptr<Recorded>>& list, std::span<const TensorView> batch) noexcept {
    for (const auto& each : list)
      if (each->is_for(batch)) return each.get();
    return nullptr;
  }

  Recorded& find_or_record(bool of_curvature, std::span<const TensorView> batch) {
    if (Recorded* const found = find(of_curvature ? curvatures : recorded, batch)) return *found;
    std::vector<std::pair<DType, Shape>> types;
    for (const TensorView& view : batch) types.emplace_back(view.dtype(), view.shape());
    return record(of_curvature, std::move(types));
  }

  /// Hutchinson's estimates of the diagonal of the Hessian.
  static Vars curvatures_of(const Vars& gradients, const Vars& wanted) {
    const auto op = [](const char* name, const Vars& inputs, const expr::Attributes& attributes = {}) {
      return expr::op(name, inputs, attributes);
    };
    Vars signs;
    Var along;
    for (const Var& gradient : gradients) {
      const Shape shape = gradient.shape();
      const Var drawn =
          op("minnow.KeyedUniform", {nn::random_key(), Var(Tensor::of_i64({static_cast<int64_t>(shape.rank())}, shape.dims()))});
      signs.push_back((op("Floor", {drawn * 2.0f}) * 2.0f - 1.0f).astype(gradient.dtype()));
      const Var product = op("ReduceSum", {gradient * signs.back()}, {{"keepdims", int64_t{0}}}).astype(DType::f32);
      along = along.has_value() ? along + product : product;
    }
    std::vector<LazyValue> parameters;
    for (const Var& x : wanted) parameters.push_back(value_of(x));
    const LazyValue root = value_of(along), one = constant_value(Tensor::scalar_f32(1));
    const std::vector<LazyValue> found = differentiate({&root, 1}, {&one, 1}, parameters);
    Vars made;
    for (size_t i = 0; i < found.size(); ++i) made.push_back(signs[i] * (found[i] ? var_of(found[i]) : Var::scalar(0, signs[i].dtype())));
    return made;
  }

  [[gnu::cold]] Recorded& record(bool of_curvature, std::vector<std::pair<DType, Shape>> batch) {
    std::vector<std::unique_ptr<Recorded>>& list = of_curvature ? curvatures : recorded;
    const bool by_gradient = of_curvature && curvature;
    auto made = std::make_unique<Recorded>();
    made->runtime = current_runtime();
    made->place = place_on(*made->runtime);  // before the loss reads the parameters, which may move to memory of their own
    Vars inputs, results, gradients;
    train::Trace trace;
    for (size_t i = 0; i < batch.size(); ++i)
      inputs.push_back(
          expr::placeholder(format("batch{}", i), batch[i].first, std::vector<int64_t>(batch[i].second.begin(), batch[i].second.end())));
    results = by_gradient ? curvature(inputs) : loss(inputs);
    if (results.empty() || !results[0].has_value()) throw InvalidArgument("the loss function gives no loss");
    if (results[0].is_computed())
      throw InvalidArgument("the loss does not depend on a parameter: it was computed when the step was recorded");
    Vars wanted;
    for (const Parameter& parameter : parameters) wanted.push_back(parameter.variable);
    try {
      gradients = expr::gradients(results[0], wanted);
      if (by_gradient) {
        const bool is_batch = !batch.empty() && batch[0].second.rank() > 0;
        for (Var& x : gradients) x = x * x * Var::scalar(is_batch ? static_cast<double>(batch[0].second[0]) : 1.0, x.dtype());
      } else if (of_curvature) {
        gradients = curvatures_of(gradients, wanted);
      }
    } catch (const InvalidArgument&) {
      rethrow_with_name(results[0]);
      throw;
    }
    made->batch = std::move(batch);
    made->one_at_a_time = !of_curvature && !made->place && optimizer->takes_one_at_a_time();
    if (made->place && made->place->optimizer().clips_norm())
      results.push_back(sum_of_squares(gradients, made->place->optimizer().clip_value())), made->has_squares = true;
    lower(*made, trace, inputs, results, gradients);
    results = gradients = inputs = wanted = {};  // lets go of the parameters
    if (list.size() >= kMostRecorded)
      list.erase(std::min_element(list.begin(), list.end(), [](const auto& a, const auto& b) { return a->last_used < b->last_used; }));
    list.push_back(std::move(made));
    return *list.back();
  }

  /// Where steps with such backends keep what they change; null: in the host's memory.
  std::shared_ptr<train::DevicePlace> place_on(const Runtime& runtime) {
    const std::shared_ptr<Backend>& backend = runtime.backends.front();
    device.clear(), reason.clear();
    if (!memory_of(*backend)) return nullptr;
    auto* const rules = dynamic_cast<train::RuleOptimizer*>(optimizer.get());
    if (rules) {
      for (size_t i = 0; i < parameters.size(); ++i) own(i);
      rules->on_get_parameters(tensors);
      reason = rules->keeps_off_devices();
    } else {
      reason = "the optimizer is none of Minnow's own";
    }
    if (!reason.empty()) return nullptr;
    device = backend->name();
    for (const auto& place : places)
      if (place->device() == backend) return place;
    return places.emplace_back(std::make_shared<train::DevicePlace>(backend, *rules));
  }

  static Var sum_of_squares(const Vars& gradients, double clip_value) {
    Var sum;
    for (const Var& gradient : gradients) {
      const auto bound = [&](double x) { return Var::scalar(x, gradient.dtype()); };
      const Var x = clip_value > 0 ? expr::op("Clip", {gradient, bound(-clip_value), bound(clip_value)}) : gradient;
      const Var squares = expr::op("ReduceSumSquare", {x}, {{"keepdims", int64_t{0}}});
      sum = sum.has_value() ? sum + squares : squares;
    }
    return sum;
  }

  /// The error about parameters that the loss does not reach, with their names.
  void rethrow_with_name(const Var& loss_value) {
    const Shape* shape = known_shape(value_of(loss_value));
    if ((shape && shape->elements() != 1) || !is_float(loss_value.dtype())) return;
    std::string names, why;
    size_t count = 0;
    for (const Parameter& parameter : parameters) {
      try {
        expr::gradients(loss_value, {parameter.variable});
      } catch (const InvalidArgument&) {
        if (why.empty()) why = express::why_no_gradient(value_of(loss_value), value_of(parameter.variable));
        if (++count <= 5) names += format("{}\"{}\"", count > 1 ? ", " : "", parameter.name);
      }
    }
    if (count > 0)
      throw InvalidArgument("the loss does not depend on the parameter{} {}{}{}; leave {} out of the optimizer, or freeze {} before",
                            count > 1 ? "s" : "", names, count > 5 ? format(" and {} more", count - 5) : "", why, count > 1 ? "them" : "it",
                            count > 1 ? "them" : "it");
  }

  void lower(Recorded& made, const train::Trace& trace, const Vars& inputs, const Vars& results, const Vars& gradients) {
    std::vector<LazyValue> roots, leaves;
    for (const Var& x : results) roots.push_back(required_value(x));
    for (const Var& x : gradients) roots.push_back(required_value(x));
    for (const train::Trace::Buffer& buffer : trace.buffers) {
      made.buffers.push_back({buffer.variable, buffer.next.has_value()});
      if (buffer.next.has_value()) roots.push_back(required_value(buffer.next));
    }
    for (const Var& x : inputs) leaves.push_back(value_of(x));
    for (const Parameter& parameter : parameters) leaves.push_back(value_of(parameter.variable));
    for (const train::Trace::Buffer& buffer : trace.buffers) leaves.push_back(value_of(buffer.symbol));
    for (const Var& x : trace.keys) leaves.push_back(value_of(x)), made.keys.push_back(Tensor(DType::u32, {2}));
    made.graph = graph_of(roots, leaves, made.operators);
    forget_gradient_rules(*made.graph);
    const OperatorSet& operators = made.operators ? *made.operators : OperatorSet::builtin();
    if (const GraphRewriter rewrite = step_rewriter().load()) {
      infer_static_types(operators, *made.graph);
      rewrite(operators, *made.graph);
    }
    train::move_gradients_forward(*made.graph, operators);
    infer_types(operators, *made.graph);
    made.account = std::make_shared<MemoryAccount>(made.runtime->options.memory_limit);
    plan_with(made, operators);
    made.slots.resize(leaves.size());
    for (const Slot& slot : made.slots) made.live_ins.push_back(&slot);
    made.results.resize(results.size());
    made.gradients.resize(gradients.size());
    made.next.resize(roots.size() - results.size() - gradients.size());
    if (made.place) prepare_memory(made, inputs.size());
    std::vector<HandedOver> handed{{0, kNone}};
    if (made.one_at_a_time)
      for (size_t i = 0; i < gradients.size(); ++i) handed.push_back({results.size() + i, static_cast<uint32_t>(inputs.size() + i)});
    if (memory == 0) return make_executor(made, handed);
    size_t bytes = fit(made, handed, operators);
    if (bytes > memory && !made.place && made.runtime->options.memory == "normal") {  // kernels that need less scratch
      SessionOptions options = made.runtime->options;
      options.memory = "low";
      const expr::Scope scope(options);
      made.executor.reset();
      made.runtime = current_runtime();
      plan_with(made, operators);
      bytes = fit(made, handed, operators);
    }
    if (bytes > memory)
      throw out_of_memory("a step needs {} bytes for values between operators although activations are computed again, the limit is {}",
                          bytes, memory);
  }

  static void plan_with(Recorded& made, const OperatorSet& operators) {
    made.context.threads = made.runtime->threads;
    made.context.environment.wanted_backends = made.runtime->wanted_backends;
    made.context.plan_with(operators, made.runtime->backends, made.packed, made.runtime->options.memory_limit);
  }

  /// Plans the step with activations computed again; returns the bytes that it then needs, the least of all tries where none fits.
  size_t fit(Recorded& made, const std::vector<HandedOver>& handed, const OperatorSet& operators) {
    const std::unique_ptr<Graph> whole = made.graph->clone();
    size_t bytes = 0, least = SIZE_MAX;
    // The plan needs more than its values: scratch, gaps. So aim lower until it fits.
    for (double target = static_cast<double>(memory); target > static_cast<double>(memory) / 8;
         target *= 0.95 * static_cast<double>(memory) / static_cast<double>(bytes)) {
      made.executor.reset();
      made.graph = whole->clone();
      train::recompute(*made.graph, operators, static_cast<size_t>(target));
      make_executor(made, handed);
      bytes = planned_bytes(made);
      if (bytes <= memory) return bytes;
      least = std::min(least, bytes);
    }
    made.executor.reset();
    made.graph = whole->clone();
    return least;
  }

  void make_executor(Recorded& made, const std::vector<HandedOver>& handed) {
    made.executor.emplace(*made.graph, made.context);
    if (made.place) return made.executor->keep_on(*made.place->device(), true);
    made.executor->hand_over(handed, [this, &made](size_t output, const TensorView& value) { receive(made, output, value); });
  }

  static size_t planned_bytes(Recorded& made) {
    std::vector<ValueInfo> infos;
    for (const auto& input : made.graph->inputs()) {
      ValueInfo& info = infos.emplace_back();
      info.dtype = input->type.dtype;
      info.shape = input->type.shape();
    }
    made.executor->prepare(infos);
    size_t bytes = 0;
    for (const PlanState* state : made.executor->last_plans()) bytes += bytes_of(state->plan());
    return bytes;
  }
  static size_t bytes_of(const Plan& plan) {
    size_t bytes = plan.arena_bytes();
    for (const DeviceArena& arena : plan.device_arenas()) bytes += arena.bytes;
    return bytes;
  }

  /// The loss, or a gradient.
  void receive(Recorded& step, size_t output, const TensorView& value) {
    if (output == 0) {
      keep(step.results[0], value.dtype(), value.shape());
      std::memcpy(const_cast<void*>(step.results[0].data()), value.data(), value.bytes());
      step.is_bad = !std::isfinite(scalar_of(value));
    } else if (!step.is_bad && !step.is_rerun) {
      if (!step.has_begun) optimizer->begin(tensors), step.has_begun = true;
      if (optimizer->not_finite().empty()) optimizer->update(output - step.results.size(), value);
    }
  }

  static void* keep(Tensor& tensor, DType dtype, const Shape& shape) {
    if (!tensor || tensor.dtype() != dtype || !(tensor.shape() == shape)) {
      const ChargeTo nobody;
      tensor = Tensor(dtype, shape);
    }
    return const_cast<void*>(tensor.data());
  }

  void execute(Recorded& step) {
    const ChargeTo session(step.account);
    const size_t results = step.results.size(), gradients = step.gradients.size();
    step.executor->run(step.live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
      if (k == 0) return nullptr;
      if (k < results) return keep(step.results[k], dtype, shape);
      if (k < results + gradients) return step.one_at_a_time ? nullptr : keep(step.gradients[k - results], dtype, shape);
      return keep(step.next[k - results - gradients], dtype, shape);
    });
  }

  /// The memory of live-ins and outputs on the device.
  void prepare_memory(Recorded& made, size_t inputs) {
    train::DevicePlace& place = *made.place;
    const auto add_fed = [&](DType dtype, const Shape& shape) {
      made.fed.push_back(std::make_shared<train::DeviceCopy>(place.device(), dtype, shape));
    };
    for (size_t i = 0; i < inputs; ++i) add_fed(made.batch[i].first, made.batch[i].second);
    for (size_t i = 0; i < parameters.size(); ++i) {
      made.parameters.push_back(place.place_of(parameters[i].variable, tensors[i].values.dtype(), tensors[i].values.shape()));
      made.fed.push_back(nullptr);
    }
    std::vector<train::DeviceUpdate::Copied> copied;
    for (const auto& buffer : made.buffers) {
      const DType dtype = buffer.variable.dtype();
      const Shape shape = buffer.variable.shape();
      // minnow.UpdateElements, which copies them, is for f32; others are changed here.
      const bool stays = dtype == DType::f32;
      if (stays)
        made.fed.push_back(nullptr);
      else
        add_fed(dtype, shape);
      if (!buffer.changes) continue;
      made.next_copies.push_back(std::make_shared<train::DeviceCopy>(place.device(), dtype, shape));
      if (stays) copied.push_back({made.next_copies.back().get(), place.place_of(buffer.variable, dtype, shape).get()});
    }
    for (size_t i = 0; i < made.keys.size(); ++i) add_fed(DType::u32, {2});
    made.result_copies.resize(made.results.size());
    made.update.emplace(place, made.parameters, copied, made.context);
  }

  /// Brings the value of a variable to the device, unless it is there.
  static TensorView take(train::DevicePlace& place, const Var& variable, const TensorView& expected, std::string_view kind) {
    const std::shared_ptr<train::DeviceCopy>& copy = place.place_of(variable, expected.dtype(), expected.shape());
    if (Access::cell(variable)->newer == copy) return copy->view();
    const Tensor& given = variable.tensor();
    if (given.dtype() != copy->view().dtype() || !(given.shape() == copy->view().shape()))
      throw InvalidArgument("the {} \"{}\" was {}{}, and now is {}{}", kind, variable.name(), copy->view().dtype(), copy->view().shape(),
                            given.dtype(), given.shape());
    copy->upload(given);
    return copy->view();
  }

  void fill_device(Recorded& step, std::span<const TensorView> batch) {
    train::DevicePlace& place = *step.place;
    step.last_used = ++clock;
    size_t slot = 0;
    const auto feed = [&](const TensorView& given) {
      step.fed[slot]->upload(given);
      step.slots[slot].view = step.fed[slot]->view();
      ++slot;
    };
    for (const TensorView& view : batch) feed(view);
    for (size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].node = nullptr;  // its memory may be written where nobody else holds it
      const Var& variable = parameters[i].variable;
      if (!Access::cell(variable)->newer) tensor_of_constant(parameters[i], value_of(variable));
      step.slots[slot++].view = take(place, variable, tensors[i].values, "parameter");
    }
    for (const auto& buffer : step.buffers) {
      if (step.fed[slot])
        feed(buffer.variable.tensor().view());
      else
        step.slots[slot].view = take(place, buffer.variable, TensorView(DType::f32, buffer.variable.shape(), nullptr), "buffer"), ++slot;
    }
    for (size_t i = 0; i < step.keys.size(); ++i) {
      train::fill_key(static_cast<uint32_t*>(const_cast<void*>(step.keys[i].data())), seed, static_cast<uint64_t>(calls), i);
      feed(step.keys[i].view());
    }
    place.take_states();
    step.has_begun = step.is_bad = false;
  }

  void execute_on_device(Recorded& step) {
    const ChargeTo session(step.account);
    const size_t results = step.results.size(), gradients = step.gradients.size();
    std::vector<const train::DeviceCopy*> made(results);
    step.executor->run(step.live_ins, [&](size_t k, DType dtype, const Shape& shape) -> void* {
      const auto memory = [](const train::DeviceCopy& copy) { return const_cast<void*>(copy.view().data()); };
      if (k >= results + gradients) return memory(*step.next_copies[k - results - gradients]);
      if (k >= results) return memory(*step.place->gradients()[k - results]);
      train::DeviceCopies& known = step.result_copies[k];
      auto found = std::find_if(known.begin(), known.end(),
                                [&](const auto& copy) { return copy->view().dtype() == dtype && copy->view().shape() == shape; });
      if (found == known.end()) {
        const ChargeTo nobody;
        found = known.insert(known.end(), std::make_shared<train::DeviceCopy>(step.place->device(), dtype, shape));
      }
      return memory(*(made[k] = found->get()));
    });
    for (size_t k = 0; k < results; ++k) made[k]->download(keep(step.results[k], made[k]->view().dtype(), made[k]->view().shape()));
    step.is_bad = !std::isfinite(scalar_of(step.results[0].view()));
  }

  void run_on_device(Recorded& step, std::span<const TensorView> batch) {
    train::DevicePlace& place = *step.place;
    fill_device(step, batch);
    execute_on_device(step);
    if (step.is_bad) complain(step, batch);
    place.optimizer().step_elsewhere(tensors, step.has_squares ? scalar_of(step.results.back().view()) : 0);
    place.take_coefficients();
    place.keep_states();
    for (size_t i = 0; i < parameters.size(); ++i) Access::cell(parameters[i].variable)->newer = step.parameters[i];
    const size_t first = batch.size() + parameters.size();
    for (size_t i = 0; i < step.buffers.size(); ++i)
      if (step.buffers[i].changes && !step.fed[first + i])
        Access::cell(step.buffers[i].variable)->newer = place.place_of(step.buffers[i].variable, DType::f32, {});
    try {
      const ChargeTo session(step.account);
      step.update->run();
    } catch (const InvalidArgument&) {
      for (size_t i = 0; i < parameters.size(); ++i)
        if (!is_finite(place.gradients()[i]->to_host().view())) throw_bad_gradient(parameters[i].name);
      throw;
    }
    size_t changed = 0;
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      if (!step.buffers[i].changes) continue;
      if (step.fed[first + i]) {
        step.next_copies[changed]->download(
            keep(step.next[changed], step.next_copies[changed]->view().dtype(), step.next_copies[changed]->view().shape()));
        update_buffer(step.buffers[i].variable, step.next[changed]);
      }
      ++changed;
    }
    ++calls;
  }

  [[noreturn, gnu::cold]] void throw_bad_gradient(std::string_view name) const {
    throw InvalidArgument(
        "the loss of step {} is finite, but the gradient of the parameter \"{}\" is not, the first one that came; parameters have been "
        "updated by it, so that training goes on from what was saved before",
        calls + 1, name);
  }

  /// Everything that a recorded step reads.
  void fill(Recorded& step, std::span<const TensorView> batch) {
    step.last_used = ++clock;
    size_t slot = 0;
    for (const TensorView& view : batch) step.slots[slot++].view = view;
    for (size_t i = 0; i < parameters.size(); ++i) own(i), step.slots[slot++].view = tensors[i].values;
    for (const auto& buffer : step.buffers) step.slots[slot++].view = buffer.variable.tensor().view();
    for (size_t i = 0; i < step.keys.size(); ++i) {
      train::fill_key(static_cast<uint32_t*>(const_cast<void*>(step.keys[i].data())), seed, static_cast<uint64_t>(calls), i);
      step.slots[slot++].view = step.keys[i].view();
    }
    step.has_begun = step.is_bad = false;
  }

  std::span<const Tensor> run(std::span<const TensorView> batch) {
    Recorded& step = find_or_record(false, batch);
    for (Trainable& tensor : tensors) tensor.curvature = {};
    if (optimizer->wants_curvature()) {
      Recorded& estimated = find_or_record(true, batch);
      fill(estimated, batch);
      execute(estimated);  // changes no buffers
      for (size_t i = 0; i < tensors.size(); ++i) tensors[i].curvature = estimated.gradients[i].view();
    }
    if (step.place)
      run_on_device(step, batch);
    else
      run(step, batch);
    return std::span(step.results).first(step.results.size() - (step.has_squares ? 1 : 0));
  }

  void run(Recorded& step, std::span<const TensorView> batch) {
    fill(step, batch);
    const bool is_second = optimizer->is_uphill();  // of the same batch: running statistics have it already
    execute(step);
    if (step.is_bad) complain(step, batch);
    if (step.one_at_a_time) {
      if (step.has_begun) optimizer->end();
    } else {
      for (size_t i = 0; i < tensors.size(); ++i) tensors[i].gradient = step.gradients[i].view();
      optimizer->on_execute(tensors);
      for (Trainable& tensor : tensors) tensor.gradient = {};
    }
    if (const std::string_view name = optimizer->not_finite(); !name.empty()) throw_bad_gradient(name);
    size_t changed = 0;
    for (const auto& buffer : step.buffers)
      if (buffer.changes && !is_second) update_buffer(buffer.variable, step.next[changed++]);
    ++calls;
  }

  void update_buffer(const Var& buffer, Tensor& next) {
    const TensorView now = buffer.tensor().view();
    if (now.dtype() != next.dtype() || !(now.shape() == next.shape()))
      throw InvalidArgument("the buffer \"{}\" is {}{}, its next value is {}{}", buffer.name(), now.dtype(), now.shape(), next.dtype(),
                            next.shape());
    const LazyValue value = value_of(buffer);
    Output& output = output_of(value);
    if (value.node->kind == LazyNode::Kind::constant && value.node.use_count() == 2 && output.tensor.owner().use_count() == 1 &&
        next.owner().use_count() == 1)
      std::swap(output.tensor, next);
    else
      buffer.assign(Var(next.clone()));
  }

  /// Computes the step again, to find the first value that is not finite.
  [[noreturn, gnu::cold]] void complain(Recorded& step, std::span<const TensorView> batch) {
    const double value = scalar_of(step.results[0]);
    std::string first;
    for (size_t i = 0; i < batch.size() && first.empty(); ++i)
      if (!is_finite(batch[i])) first = format("array {} of the batch", i);
    for (size_t i = 0; i < tensors.size() && first.empty(); ++i)
      if (!is_finite(parameters[i].variable.tensor().view())) first = format("the parameter \"{}\"", tensors[i].name);
    if (first.empty()) {
      step.context.after = [&](NodeEvent& event) {
        for (size_t i = 0; i < event.output_count() && first.empty(); ++i)
          if (!event.output_name(i).empty() && !is_finite(event.output(i)))
            first = format("the result of {} \"{}\"", event.op(), event.name().empty() ? event.output_name(i) : event.name());
        return first.empty();
      };
      step.is_rerun = true;
      try {
        if (step.place)
          execute_on_device(step);
        else
          execute(step);
      } catch (const Error&) {}
      step.is_rerun = false;
      step.context.after = nullptr;
    }
    throw InvalidArgument("the loss is {} in step {}, and nothing was updated; the first value that is not finite is {}",
                          std::isnan(value) ? std::nan("") : value, calls + 1, first.empty() ? std::string("the loss itself") : first);
  }
};

TrainingStep::TrainingStep(Loss loss, std::vector<std::pair<std::string, Var>> parameters, std::shared_ptr<Optimizer> optimizer,
                           const Options& options) try
    : impl_(std::make_unique<Impl>()) {
  if (!loss || !optimizer) throw InvalidArgument("a training step is made of a loss function and an optimizer; one is missing");
  if (parameters.empty()) throw InvalidArgument("a training step has no parameters; give it those that should be trained");
  impl_->loss = std::move(loss);
  impl_->optimizer = std::move(optimizer);
  impl_->seed = options.seed;
  impl_->memory = options.memory;
  impl_->curvature = options.curvature;
  for (auto& [name, variable] : parameters) {
    impl_->parameters.push_back({name, variable, nullptr});
    const LazyValue value = required_value(variable);
    const Tensor& tensor = Impl::tensor_of_constant(impl_->parameters.back(), value);
    impl_->tensors.push_back({name, MutableTensorView(tensor.dtype(), tensor.shape(), nullptr), {}, {}});
  }
} catch (...) {
  throw_as_error();
}
TrainingStep::~TrainingStep() = default;
TrainingStep::TrainingStep(TrainingStep&&) noexcept = default;
TrainingStep& TrainingStep::operator=(TrainingStep&&) noexcept = default;

std::span<const Tensor> TrainingStep::run(std::span<const TensorView> batch) try { return impl_->run(batch); } catch (...) {
  throw_as_error();
}

std::span<const Tensor> TrainingStep::operator()(std::initializer_list<Tensor> batch) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : batch) views.push_back(tensor.view());
  return run(views);
}

void TrainingStep::prepare(std::span<const std::pair<DType, Shape>> batch) try {
  std::vector<TensorView> views;
  for (const auto& [dtype, shape] : batch) views.emplace_back(dtype, shape, nullptr);
  if (!Impl::find(impl_->recorded, views)) Impl::planned_bytes(impl_->record(false, {batch.begin(), batch.end()}));
  if (impl_->optimizer->wants_curvature()) impl_->find_or_record(true, views);
} catch (...) {
  throw_as_error();
}

bool TrainingStep::is_prepared(std::span<const TensorView> batch) const noexcept {
  return Impl::find(impl_->recorded, batch) && (!impl_->optimizer->wants_curvature() || Impl::find(impl_->curvatures, batch));
}
void TrainingStep::reset() {
  impl_->recorded.clear();
  impl_->curvatures.clear();
}
int64_t TrainingStep::calls() const noexcept { return impl_->calls; }
void TrainingStep::set_calls(int64_t calls) noexcept { impl_->calls = calls; }
size_t TrainingStep::arena_bytes() const noexcept {
  size_t most = 0;
  for (const auto& each : impl_->recorded) {
    size_t planned = 0;
    for (const PlanState* state : each->executor->last_plans()) planned += Impl::bytes_of(state->plan());
    most = std::max({most, each->executor->arena_bytes(), planned});
  }
  return most;
}
std::string_view TrainingStep::device() const noexcept { return impl_->device; }
std::string_view TrainingStep::why_not_on_device() const noexcept { return impl_->reason; }
Optimizer& TrainingStep::optimizer() const noexcept { return *impl_->optimizer; }

}  // namespace minnow
