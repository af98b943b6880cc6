// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/launches.h"

#include <cstring>

#include "backends/gpu/gpu_backend.h"

namespace minnow::gpu {

Queue& queue_of(PrepareContext& context) { return static_cast<GpuBackend&>(*context.memory()).queue(); }

Launches::Launches(PrepareContext& context)
    : context_(&context), queue_(queue_of(context)), where_(context.node().where()), constant_of_input_(context.node().input_count(), 0) {}

void Launches::add(const std::string& source, const std::string& name, Extent groups, Extent group, std::vector<Given> arguments,
                   size_t shared_bytes) {
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  MINNOW_CHECK(arguments.size() <= kMostArguments, "a launch has too many arguments");
  Launch launch{queue_.function(source, name, shared_bytes, group, groups), name, groups, group, {}, {}};
  const NodeView& node = context_->node();
  for (Given& given : arguments) {
    Argument argument;
    if (given.kind == Given::Kind::i32) {
      argument.kind = Argument::Kind::i32;
      argument.i32 = given.i32;
    } else if (given.kind == Given::Kind::f32) {
      argument.kind = Argument::Kind::f32;
      argument.f32 = given.f32;
    } else {
      if (given.kind == Given::Kind::input && given.index < kConstants && node.is_constant(given.index)) {
        size_t& known = constant_of_input_[given.index];
        const size_t bytes = node.contents(given.index).bytes();
        if (!known)
          known = 1 + add_packed(given.index, "plain", {}, bytes,
                                 [&](const TensorView& weight, void* out) { std::memcpy(out, weight.data(), bytes); });
        given = constant(known - 1);
      }
      argument.kind = given.boxes ? Argument::Kind::boxes : Argument::Kind::buffer;
      argument.address = nullptr;
      if (given.kind == Given::Kind::scratch) check_reach(context_->scratch_bytes() - given.index, false);
      if (given.kind == Given::Kind::input && given.index >= kConstants)
        argument.address = constants_[given.index - kConstants].get();
      else
        launch.placed.push_back({launch.arguments.size(), given.kind, given.index, given.boxes});
    }
    launch.arguments.push_back(argument);
  }
  launches_.push_back(std::move(launch));
}

void Launches::check_reach(size_t bytes, bool is_constant) const {
  if (queue_.device().reaches(bytes, is_constant)) return;
  queue_.note_failure();
  throw Unsupported("{}: a buffer has {} bytes, {} reaches {} of one", where_, bytes, queue_.device().name,
                    queue_.device().max_tensor_bytes);
}

void Launches::add_1d(const std::string& source, const std::string& name, int64_t items, std::vector<Given> arguments) {
  constexpr int64_t kGroup = 256;
  add(source, name, {static_cast<uint32_t>((items + kGroup - 1) / kGroup), 1, 1}, {kGroup, 1, 1}, std::move(arguments));
}

size_t Launches::add_constant(std::shared_ptr<const void> memory) {
  constants_.push_back(std::move(memory));
  return constants_.size() - 1;
}

size_t Launches::add_packed(size_t input, std::string_view form, PackingParameters parameters, size_t bytes, WeightStore::Pack pack) {
  check_reach(bytes, true);
  return add_constant(context_->packed(input, form, std::move(parameters), std::max<size_t>(bytes, 1), pack));
}

size_t Launches::add_table(const void* data, size_t bytes) {
  check_reach(bytes, true);
  return queue_.watched([&] {
    std::shared_ptr<void> memory = queue_.allocate(std::max<size_t>(bytes, 1));
    queue_.copy_from_host(memory.get(), data, bytes);
    return add_constant(std::move(memory));
  });
}

Given Launches::add_boxes(Given buffer, const Boxes& boxes) {
  boxes_.push_back(std::make_unique<PlacedBoxes>());
  boxes_.back()->boxes = boxes;
  buffer.boxes = boxes_.size();
  return buffer;
}

int32_t Launches::add_fault(std::string_view pattern) {
  Faults& faults = queue_.faults;
  if (!faults.memory) {
    const int32_t none[3] = {};
    queue_.watched([&] {
      std::shared_ptr<void> memory = queue_.allocate_visible(sizeof none);
      queue_.copy_from_host(memory.get(), none, sizeof none);
      faults.memory = std::move(memory);
    });
  }
  faults.sentences.push_back({where_, std::string(pattern)});
  return static_cast<int32_t>(faults.sentences.size());
}

void Launches::run(RunContext& context) const noexcept {
  for (Launch& launch : launches_) {
    if (launch.same && static_cast<const char*>(context.inputs[launch.same->input]->view.data()) + launch.same->input_offset ==
                           static_cast<const char*>(context.outputs[launch.same->output]->view.data()) + launch.same->output_offset)
      continue;
    bool taken = true;
    for (const Placed& placed : launch.placed) {
      const void*& address = launch.arguments[placed.argument].address;
      if (placed.kind == Given::Kind::input)
        address = context.inputs[placed.index]->view.data();
      else if (placed.kind == Given::Kind::output)
        address = context.outputs[placed.index]->view.data();
      else
        address = static_cast<const char*>(context.scratch) + placed.index;
      if (placed.boxes) {
        PlacedBoxes& boxes = *boxes_[placed.boxes - 1];
        if (boxes.address != address) taken = taken && queue_.encode(boxes.boxes, address, boxes.encoded);
        boxes.address = address, address = &boxes.encoded;
      }
    }
    if (!taken || !queue_.launch(*launch.function, launch.groups, launch.group, launch.arguments)) {
      queue_.note_failure();
      fail_unsupported(context, "{}: the driver of {} did not accept the kernel {}", where_, queue_.device().name, launch.name);
      return;
    }
  }
}

}  // namespace minnow::gpu
