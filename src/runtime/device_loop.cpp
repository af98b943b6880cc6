// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_loop.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/memory.h"
#include "base/watch.h"
#include "ops/control_flow.h"
#include "ops/kernel_args.h"

namespace minnow {
namespace {

constexpr size_t kAlignOnDevice = 256;  // of tensors within an allocation

size_t bytes_of(DType dtype, const Shape& shape) { return static_cast<size_t>(shape.elements()) * size_of(dtype); }
bool stays_on_device(DType dtype) { return size_of(dtype) > 0 && dtype != DType::f64; }

const Graph* body_of(const Node& node) {
  const auto* const found = node.attributes.find("body");
  const Subgraph* const graph = found ? std::get_if<Subgraph>(found) : nullptr;
  return graph ? graph->get() : nullptr;
}

bool truth_of(const TensorView& condition, KernelArgs& args) {
  if (condition.dtype() != DType::boolean || condition.elements() != 1) args.fail("the condition that the body gives should be one bool");
  return *condition.data<uint8_t>() != 0;
}

}  // namespace

std::unique_ptr<DeviceLoop> DeviceLoop::make(const Node& node, std::span<Slot* const> captured, SessionContext& session) {
  const PlanEnvironment& environment = session.environment;
  if ((node.op() != "Loop" && node.op() != "Scan") || environment.wanted_backends != 1 || !memory_of(*environment.backends.front()))
    return nullptr;
  const Graph* const body = body_of(node);
  if (!body) return nullptr;
  const auto is_tensor = [](const Value* value) {
    return value->type.kind == ValueType::Kind::tensor && (value->type.dtype == DType::undefined || stays_on_device(value->type.dtype));
  };
  const bool is_loop = node.op() == "Loop";
  if (is_loop && (body->inputs().size() < 2 || body->outputs().empty())) return nullptr;
  for (size_t i = is_loop ? 2 : 0; i < body->inputs().size(); ++i)
    if (!is_tensor(body->inputs()[i].get()) || !node.input(i)) return nullptr;
  if (!std::all_of(body->outputs().begin(), body->outputs().end(), is_tensor)) return nullptr;
  return std::make_unique<DeviceLoop>(node, captured, session);
}

DeviceLoop::DeviceLoop(const Node& node, std::span<Slot* const> captured, SessionContext& session)
    : node_(node),
      body_(*body_of(node)),
      captured_(captured),
      device_(*session.environment.backends.front()),
      is_loop_(node.op() == "Loop"),
      first_input_(is_loop_ ? 2 : 0),
      first_output_(is_loop_ ? 1 : 0),
      executor_(body_, session) {
  const auto* const scanned = node.attributes.find("num_scan_inputs");
  scanned_ = is_loop_ || !scanned ? 0 : static_cast<size_t>(std::get<int64_t>(*scanned));
  states_ = body_.inputs().size() - first_input_ - std::min(scanned_, body_.inputs().size() - first_input_);
  stacked_ = body_.outputs().size() - first_output_ - std::min(states_, body_.outputs().size() - first_output_);
  const auto& outputs = body_.outputs();
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto source = std::find(executor_.live_ins().begin(), executor_.live_ins().end(), outputs[k]);
    source_.push_back(source == executor_.live_ins().end() ? kNowhere : static_cast<size_t>(source - executor_.live_ins().begin()));
    same_.push_back(static_cast<size_t>(std::find(outputs.begin() + static_cast<ptrdiff_t>(first_output_), outputs.end(), outputs[k]) -
                                        outputs.begin()));
  }
  on_device_.assign(executor_.live_ins().size(), true);
  if (is_loop_) on_device_[1] = false;  // the condition
  for (size_t i = body_.inputs().size(); i < on_device_.size(); ++i) {
    const Value& value = *executor_.live_ins()[i];
    on_device_[i] = value.type.kind == ValueType::Kind::tensor && !value.constant();
  }
  keep();
}

DeviceLoop::~DeviceLoop() = default;

void DeviceLoop::keep() { executor_.keep_some_on(device_, on_device_, first_output_); }

void DeviceLoop::release() noexcept {
  executor_.release();
  spare_.clear();
}

// Memory that no tensor of the loop lies in any more. Work on the device is in order, so that earlier kernels may still read it.
DeviceLoop::Place DeviceLoop::take(DType dtype, const Shape& shape) {
  const size_t bytes = std::max<size_t>(bytes_of(dtype, shape), 1);
  Memory* best = nullptr;
  auto too_small = spare_.end();
  for (auto one = spare_.begin(); one != spare_.end(); ++one) {
    if (one->memory.use_count() > 1) continue;
    if (one->bytes < bytes)
      too_small = one;
    else if (!best || one->bytes < best->bytes)
      best = &*one;
  }
  if (best) return {best->memory, TensorView(dtype, shape, best->memory.get())};
  // The larger one takes the place of the smaller, so that states which grow do not leave all of their sizes behind.
  size_t wanted = bytes;
  if (too_small != spare_.end()) {
    wanted += bytes / 2;
    spare_.erase(too_small);
  }
  spare_.push_back({device_.allocate(wanted), wanted});
  return {spare_.back().memory, TensorView(dtype, shape, spare_.back().memory.get())};
}

DeviceLoop::Place DeviceLoop::take_slice(Slices& slices, DType dtype, const Shape& shape) {
  const size_t bytes = align_up(std::max<size_t>(bytes_of(dtype, shape), 1), kAlignOnDevice);
  if (slices.blocks.empty() || slices.used + bytes > slices.blocks.back().bytes) {
    const size_t before = slices.blocks.empty() ? 0 : slices.blocks.back().bytes;
    const size_t block = std::max(bytes, std::min<size_t>(2 * before, std::max<size_t>(16 * bytes, size_t{1} << 20)));
    slices.blocks.push_back({device_.allocate(block), block});
    slices.used = 0;
  }
  const Memory& block = slices.blocks.back();
  void* const address = static_cast<std::byte*>(block.memory.get()) + slices.used;
  slices.used += bytes;
  return {block.memory, TensorView(dtype, shape, address)};
}

DeviceLoop::Place DeviceLoop::upload(const TensorView& from) {
  Place to = take(from.dtype(), from.shape());
  if (from.bytes()) device_.copy_from_host(to.owner.get(), from.data(), from.bytes());
  return to;
}

// Slices in the order in which the loop reads them, each at a multiple of kAlignOnDevice; `view` is the first one.
DeviceLoop::Place DeviceLoop::upload_slices(const TensorView& from, size_t axis, bool backward) {
  const int64_t length = from.dim(axis);
  Shape shape = from.shape();
  shape.erase(axis);
  const size_t bytes = bytes_of(from.dtype(), shape), step = align_up(bytes, kAlignOnDevice);
  Place to = take(DType::u8, Shape{static_cast<int64_t>(step) * length});
  if (bytes) {
    if (axis == 0 && !backward && step == bytes) {
      device_.copy_from_host(to.owner.get(), from.data(), from.bytes());
    } else {
      Tensor packed(DType::u8, Shape{static_cast<int64_t>(step) * length});
      uint8_t* next = packed.writable().data<uint8_t>();
      for (int64_t t = 0; t < length; ++t, next += step)
        std::memcpy(next, slice_of(from, axis, backward ? length - 1 - t : t).data(), bytes);
      device_.copy_from_host(to.owner.get(), packed.data(), packed.bytes());
    }
  }
  to.view = TensorView(from.dtype(), shape, to.owner.get());
  return to;
}

void DeviceLoop::download(void* to, const Place& from) const {
  if (from.view.bytes()) device_.copy_to_host(to, from.view.data(), from.view.bytes());
}

Tensor DeviceLoop::to_host(const Place& from) const {
  Tensor copy(from.view.dtype(), from.view.shape());
  download(copy.writable().data(), from);
  return copy;
}

// After the first iteration: shapes may depend on values, which then are better on the host; and the device may have nothing to do.
void DeviceLoop::settle() {
  is_settled_ = true;
  bool moved = false, has_work = false;
  for (const PlanState* state : executor_.last_plans()) {
    const Plan& plan = state->plan();
    for (const Step& step : plan.steps()) has_work |= memory_of(*step.backend) && step.node->op() != kTransfer;
    for (const LiveIn& live_in : plan.live_ins()) {
      const auto at = std::find(executor_.live_ins().begin(), executor_.live_ins().end(), live_in.value);
      const size_t i = static_cast<size_t>(at - executor_.live_ins().begin());
      const bool is_state = i >= first_input_ && i < body_.inputs().size();
      if (!live_in.contents_required || i >= on_device_.size() || is_state || !on_device_[i]) continue;
      on_device_[i] = false;
      moved = true;
    }
  }
  is_useless_ = !has_work;
  if (!moved) return;
  device_.finish();  // the plans go, with memory that kernels may use
  keep();
}

// The values of one run.
class DeviceLoop::Iterations {
 public:
  Iterations(DeviceLoop& loop, KernelArgs& args) : loop_(loop), args_(args), inputs_(loop.on_device_.size()), slots_(inputs_.size()) {
    made_.resize(loop.body_.outputs().size());
    stacks_.resize(loop.stacked_);
    for (const Slot& slot : slots_) live_ins_.push_back(&slot);
  }
  // Kernels may still use the memory when an error ends the run.
  ~Iterations() {
    try {
      loop_.device_.finish();
    } catch (...) {}
  }

  void run(int64_t length, const ScanForm* scan) {
    const NodeView& node = **loop_.view_;
    const size_t captured = loop_.body_.inputs().size(), scanned = loop_.first_input_ + loop_.states_;
    for (size_t i = 0; i < loop_.states_; ++i) inputs_[loop_.first_input_ + i] = loop_.upload(args_.input(loop_.first_input_ + i));
    for (size_t i = 0; i < loop_.scanned_; ++i) {
      const TensorView& x = args_.input(loop_.states_ + i);
      slices_.push_back(loop_.upload_slices(x, node.normalize_axis(scan->input_axes[i], x.rank()), scan->input_backward[i] != 0));
    }
    for (size_t i = captured; i < inputs_.size(); ++i) bind_captured(i);
    bool running = true;
    for (int64_t iteration = 0; running && iteration < length; ++iteration) {
      Watch::check();
      if (loop_.is_loop_) bind_number(iteration), slots_[1].view = TensorView(DType::boolean, Shape{}, &kTrue);
      for (size_t i = 0; i < loop_.scanned_; ++i) {
        const TensorView& first = slices_[i].view;
        const size_t step = align_up(first.bytes(), kAlignOnDevice);
        const std::byte* const address = static_cast<const std::byte*>(slices_[i].owner.get()) + static_cast<size_t>(iteration) * step;
        inputs_[scanned + i] = {slices_[i].owner, TensorView(first.dtype(), first.shape(), address)};
      }
      for (size_t i = loop_.first_input_; i < captured; ++i) slots_[i].view = inputs_[i].view;
      loop_.executor_.run(live_ins_, [&](size_t k, DType dtype, const Shape& shape) { return destination(k, dtype, shape); });
      if (loop_.is_loop_) running = truth_of(loop_.executor_.output(0).view, args_);
      for (size_t i = 0; i < loop_.stacked_; ++i) {
        const size_t k = loop_.first_output_ + loop_.states_ + i;
        if (args_.has_output(loop_.states_ + i)) stacks_[i].all.push_back(made_[k]);
      }
      for (size_t i = 0; i < loop_.states_; ++i) inputs_[loop_.first_input_ + i] = made_[loop_.first_output_ + i];
      std::fill(made_.begin(), made_.end(), Place());
      if (!loop_.is_settled_) {
        loop_.settle();
        for (size_t i = captured; i < inputs_.size(); ++i) bind_captured(i);
        numbers_ = {};
      }
      if (iteration % kChunk == kChunk - 1) loop_.device_.finish();
    }
    loop_.device_.finish();
    give_results(scan);
  }

 private:
  static constexpr uint8_t kTrue = 1;

  void bind_captured(size_t i) {
    Slot& outer = *loop_.captured_[i - loop_.body_.inputs().size()];
    if (!loop_.on_device_[i]) {
      slots_[i].view = outer.view;
      slots_[i].datum = outer.datum;
    } else {
      if (!inputs_[i].owner) inputs_[i] = loop_.upload(outer.view);
      slots_[i].view = inputs_[i].view;
    }
  }

  // Numbers of iterations lie on the device, a chunk at a time.
  void bind_number(int64_t iteration) {
    number_ = iteration;
    if (!loop_.on_device_[0]) {
      slots_[0].view = TensorView(DType::i64, Shape{}, &number_);
      return;
    }
    constexpr int64_t kStep = kAlignOnDevice / sizeof(int64_t);
    if (iteration % kChunk == 0 || !numbers_.owner) {
      Tensor all(DType::i64, Shape{kChunk * kStep});
      for (int64_t i = 0; i < kChunk; ++i) all.writable().data<int64_t>()[i * kStep] = iteration - iteration % kChunk + i;
      numbers_ = loop_.upload(all.view());
    }
    const int64_t* const address = static_cast<const int64_t*>(numbers_.owner.get()) + iteration % kChunk * kStep;
    inputs_[0] = {numbers_.owner, TensorView(DType::i64, Shape{}, address)};
    slots_[0].view = inputs_[0].view;
  }

  void* destination(size_t k, DType dtype, const Shape& shape) {
    if (k < loop_.first_output_) return nullptr;  // the condition
    if (!stays_on_device(dtype)) args_.fail("output {} of the body is {}, which does not stay on a device", k, dtype);
    Place& place = made_[k];
    const size_t source = loop_.source_[k], state = k - loop_.first_output_;
    if (loop_.same_[k] < k && made_[loop_.same_[k]].owner)
      place = made_[loop_.same_[k]];
    else if (source != kNowhere && loop_.on_device_[source])
      place = inputs_[source];
    else if (state < loop_.states_ || !args_.has_output(state))
      place = loop_.take(dtype, shape);
    else
      place = loop_.take_slice(stacks_[state - loop_.states_], dtype, shape);
    return const_cast<void*>(place.view.data());
  }

  void give_results(const ScanForm* scan) {
    const NodeView& node = **loop_.view_;
    for (size_t i = 0; i < args_.output_count(); ++i) {
      if (!args_.has_output(i)) continue;
      if (i < loop_.states_) {
        args_.set_output(i, Datum(loop_.to_host(inputs_[loop_.first_input_ + i])));
        continue;
      }
      const size_t k = i - loop_.states_;
      args_.set_output(i, Datum(stack(stacks_[k])
                                    .take(args_, loop_.body_.outputs()[loop_.first_output_ + i]->type, node.output(i).dtype,
                                          scan ? scan->output_axes[k] : 0, scan && scan->output_backward[k] != 0)));
    }
  }

  // Brings the slices to the host, whole blocks at a time.
  Stack stack(const Slices& slices) {
    Stack result;
    size_t block = 0;
    Tensor copy;
    for (const Place& slice : slices.all) {
      while (block < slices.blocks.size() && copy && slice.owner != slices.blocks[block].memory) ++block, copy = Tensor();
      if (block >= slices.blocks.size() || slice.owner != slices.blocks[block].memory) {
        result.append(args_, loop_.to_host(slice).view());
        continue;
      }
      const Memory& memory = slices.blocks[block];
      if (!copy) {
        copy = Tensor(DType::u8, Shape{static_cast<int64_t>(memory.bytes)});
        loop_.device_.copy_to_host(copy.writable().data(), memory.memory.get(), memory.bytes);
      }
      const ptrdiff_t offset = static_cast<const std::byte*>(slice.view.data()) - static_cast<const std::byte*>(memory.memory.get());
      result.append(args_, TensorView(slice.view.dtype(), slice.view.shape(), copy.data<std::byte>() + offset));
    }
    return result;
  }

  DeviceLoop& loop_;
  KernelArgs& args_;
  std::vector<Place> inputs_;  // of the body, as far as they are on the device
  std::vector<Slot> slots_;
  std::vector<const Slot*> live_ins_;
  std::vector<Place> made_;    // outputs of the present iteration
  std::vector<Place> slices_;  // of scanned inputs
  std::vector<Slices> stacks_;
  Place numbers_;
  int64_t number_ = 0;
};

bool DeviceLoop::run(const Plan& plan, const Step& step, RunContext& context) {
  if (is_useless_) return false;
  if (seen_ != &plan || !view_) {
    std::vector<const ValueInfo*> infos;
    for (const std::vector<uint32_t>* values : {&step.inputs, &step.outputs})
      for (const uint32_t v : *values) infos.push_back(v == kNone ? nullptr : &plan.values()[v].info);
    const std::span<const ValueInfo* const> all = infos;
    view_ = std::make_unique<NodeCopy>(NodeView(node_, all.first(step.inputs.size()), all.subspan(step.inputs.size()), step.definition));
    seen_ = &plan;
  }
  const NodeView& node = **view_;
  KernelArgs args(node, context.inputs, context.outputs, context.subgraphs);
  try {
    for (size_t i = first_input_; i < args.input_count(); ++i)
      if (!stays_on_device(args.input(i).dtype())) return false;
    int64_t length = std::numeric_limits<int64_t>::max();
    ScanForm form;
    if (is_loop_) {
      if (args.has_input(0)) {
        if (args.input(0).elements() != 1) return false;
        length = args.ints(0)[0];
      }
      if (args.has_input(1) && (args.input(1).elements() != 1 || !*args.input(1).data<uint8_t>())) return false;
    } else {
      form = scan_form(node);
      const TensorView& x = args.input(states_);
      length = x.dim(node.normalize_axis(form.input_axes[0], x.rank()));
    }
    if (length <= 0) return false;  // the kernel knows what no iterations give
    Iterations(*this, args).run(length, is_loop_ ? nullptr : &form);
  } catch (const KernelFailure& failure) {
    context.fail("{}", failure.sentence);
  }
  return true;
}

}  // namespace minnow
