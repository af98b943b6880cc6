// SPDX-License-Identifier: Apache-2.0
#include "runtime/node_event.h"

#include <cstring>
#include <vector>

#include "base/numeric.h"

namespace minnow {
namespace {

void widen_f16(char* to, const char* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  const float value = f32_from_f16(bits);
  std::memcpy(to, &value, sizeof value);
}

void round_to_f16(char* to, const char* from) {
  float value;
  std::memcpy(&value, from, sizeof value);
  const uint16_t bits = f16_from_f32(value);
  std::memcpy(to, &bits, sizeof bits);
}

}  // namespace

StepEvent::~StepEvent() {
  while (!replacements_.empty()) {  // backwards: an input may have been replaced twice
    state_.inputs[replacements_.back().input] = replacements_.back().original;
    replacements_.pop_back();
  }
}

std::string_view StepEvent::input_name(size_t i) const {
  return i < step_.node->input_count() && step_.node->input(i) ? std::string_view(step_.node->input(i)->name()) : std::string_view();
}
std::string_view StepEvent::output_name(size_t i) const {
  return i < step_.node->output_count() && step_.node->output(i) ? std::string_view(step_.node->output(i)->name()) : std::string_view();
}

uint32_t StepEvent::find(std::string_view what, size_t i, const std::vector<uint32_t>& values, Moment moment) const {
  if (moment != moment_)
    throw InvalidArgument("{}: {}s can be read and replaced {} the node", step_.node->where(), what,
                          moment == Moment::before ? "before" : "after");
  if (i >= values.size() || values[i] == kNone) throw InvalidArgument("{}: has no {} {}", step_.node->where(), what, i);
  if (plan_.values()[values[i]].info.kind != ValueInfo::Kind::tensor)
    throw InvalidArgument("{}: {} {} is a sequence or an optional, callbacks see tensors", step_.node->where(), what, i);
  return values[i];
}

void StepEvent::check_same_form(std::string_view what, size_t i, const TensorView& is, const TensorView& value) const {
  if (value.dtype() != is.dtype() || !(value.shape() == is.shape()))
    throw InvalidArgument("{}: {} {} is {}{}, it cannot be replaced by {}{}", step_.node->where(), what, i, is.dtype(), is.shape(),
                          value.dtype(), value.shape());
  if (!value.data() && value.elements() != 0)
    throw InvalidArgument("{}: what should replace {} {} has no data", step_.node->where(), what, i);
}

Tensor StepEvent::input(size_t i) const {
  const uint32_t v = find("input", i, step_.inputs, Moment::before);
  return read(state_.inputs[i]->view, v);
}

void StepEvent::replace_input(size_t i, const TensorView& value) {
  const uint32_t v = find("input", i, step_.inputs, Moment::before);
  const PlanValue& is = plan_.values()[v];
  if (is.info.contents)
    throw InvalidArgument("{}: input {} {}, it cannot be replaced", step_.node->where(), i,
                          is.place == PlanValue::Place::constant ? "is constant" : "holds what a shape depends on");
  const TensorView& view = state_.inputs[i]->view;
  check_same_form("input", i, view, value);
  const Layout layout = is.layout;
  const size_t bytes = step_.backend->device().bytes(value.dtype(), value.shape(), layout);
  auto slot = std::make_unique<Slot>();
  if (kHasDevices && is.memory) {
    device_memory_.push_back(is.memory->allocate(bytes));
    slot->view = TensorView(value.dtype(), value.shape(), device_memory_.back().get());
  } else {
    slot->datum = Datum(Tensor(DType::u8, {static_cast<int64_t>(bytes)}));
    slot->view = TensorView(value.dtype(), value.shape(), slot->datum.tensor.data());
  }
  write(value, v, const_cast<void*>(slot->view.data()));
  replacements_.push_back({i, state_.inputs[i], std::move(slot)});
  state_.inputs[i] = replacements_.back().slot.get();
}

Tensor StepEvent::output(size_t i) const {
  const uint32_t v = find("output", i, step_.outputs, Moment::after);
  return read(state_.outputs[i]->view, v);
}

void StepEvent::replace_output(size_t i, const TensorView& value) {
  const uint32_t v = find("output", i, step_.outputs, Moment::after);
  Slot& slot = *state_.outputs[i];
  check_same_form("output", i, slot.view, value);
  if (plan_.values()[v].place == PlanValue::Place::dynamic || slot.datum.kind == Datum::Kind::tensor) {
    // The plan gave it no memory: it may share that of an item of a sequence, say.
    slot.datum = Datum(Tensor(value));
    slot.view = slot.datum.tensor.view();
  } else {
    write(value, v, const_cast<void*>(slot.view.data()));
  }
}

Tensor StepEvent::read(const TensorView& view, uint32_t v) const {
  if (Backend* const memory = plan_.values()[v].memory; kHasDevices && memory) {
    Tensor copy(view.dtype(), view.shape());
    if (is_packed(v)) {
      std::vector<char> packed(plan_.values()[v].bytes);
      memory->copy_to_host(packed.data(), view.data(), packed.size());
      char* to = copy.writable().data<char>();
      for_each_lane(view, memory->device(), [&](size_t from, size_t at, size_t bytes) {
        if (bytes == size_of(view.dtype()))
          std::memcpy(to + at, packed.data() + from, bytes);
        else
          widen_f16(to + at, packed.data() + from);
      });
    } else {
      memory->copy_to_host(copy.writable().data<char>(), view.data(), copy.bytes());
    }
    return copy;
  }
  if (!is_packed(v)) return Tensor(view);
  Tensor plain(view.dtype(), view.shape());
  char* to = plain.writable().data<char>();
  for_each_lane(view, step_.backend->device(),
                [&](size_t packed, size_t at, size_t bytes) { std::memcpy(to + at, view.data<char>() + packed, bytes); });
  return plain;
}

void StepEvent::write(const TensorView& value, uint32_t v, void* to) const {
  if (Backend* const memory = plan_.values()[v].memory; kHasDevices && memory) {
    if (!is_packed(v)) return memory->copy_from_host(to, value.data(), value.bytes());
    std::vector<char> packed(plan_.values()[v].bytes, 0);
    for_each_lane(value, memory->device(), [&](size_t at, size_t from, size_t bytes) {
      if (bytes == size_of(value.dtype()))
        std::memcpy(packed.data() + at, value.data<char>() + from, bytes);
      else
        round_to_f16(packed.data() + at, value.data<char>() + from);
    });
    memory->copy_from_host(to, packed.data(), packed.size());
  } else if (is_packed(v))
    for_each_lane(value, step_.backend->device(), [&](size_t packed, size_t plain, size_t bytes) {
      std::memcpy(static_cast<char*>(to) + packed, value.data<char>() + plain, bytes);
    });
  else if (const size_t bytes = value.bytes())
    std::memmove(to, value.data(), bytes);
}

// Calls f(packed byte offset, plain byte offset, bytes of a packed element) for every element.
void StepEvent::for_each_lane(const TensorView& view, const Device& device, FunctionRef<void(size_t, size_t, size_t)> f) const {
  const Shape& shape = view.shape();
  const size_t size = size_of(view.dtype()), stored = size_of(device.stored_as(view.dtype(), Layout::packed)),
               pack = static_cast<size_t>(device.pack);
  const size_t batch = static_cast<size_t>(shape[0]), channels = static_cast<size_t>(shape[1]);
  const size_t pixels = static_cast<size_t>(shape.product(2, shape.rank())), blocks = (channels + pack - 1) / pack;
  for (size_t n = 0; n < batch; ++n)
    for (size_t c = 0; c < channels; ++c)
      for (size_t p = 0; p < pixels; ++p)
        f((((n * blocks + c / pack) * pixels + p) * pack + c % pack) * stored, ((n * channels + c) * pixels + p) * size, stored);
}

}  // namespace minnow
