// SPDX-License-Identifier: Apache-2.0
// Chains of convolutions computed by bands of rows: of an image between two of them only those rows are kept that the next one still reads,
// in a cache rather than in memory.
#include <algorithm>

#include "backends/bands.h"
#include "planner/plan.h"

namespace minnow {
#if MINNOW_SMALL  // no kernel has bands
bool has_bands(const Plan&) { return false; }
void join_bands(Plan&) {}
#else
namespace {

// Smaller images stay in the caches as a whole.
size_t least_bytes(const Device& device) {
  return device.low_memory ? size_t{64} << 10 : 4 * device.l2 * static_cast<size_t>(device.threads);
}

// What the steps of a chain use at a time: rows, and their weights. Beyond the cores' own caches, because much of it is read once or is
// needed no more: MobileNet-v1, 1792x1792, took 548 ms whole, 527, 511, 505 and 504 by chains of 0.75, 1, 1.5 and 2.5 times L2 (AVX-512,
// Xeon, one thread, 2026-11-23, `minnow bench`).
size_t most_bytes_in_use(const Device& device) {
  return device.low_memory ? SIZE_MAX : device.l2 / 2 * 3 * static_cast<size_t>(device.threads);
}

// How many rows each thread computes at a time, at most.
constexpr size_t kMostRows = 4;

// One step of a chain, and the image that it makes.
struct Stage {
  BandKernel* kernel;
  BandKernel::Reading reading;
  size_t height, row, image;    // rows of its output; bytes of a row of all channels, and of the image
  size_t weights;               // bytes
  size_t at_once = 0;           // rows that are computed at a time
  size_t kept = 0, offset = 0;  // rows of the ring that the output is, and where in scratch; the last stage's is whole, elsewhere
  size_t done = 0;              // rows
  // Where the rows of the input end that rows up to `end` are made from.
  size_t read_end(size_t end, size_t in_height) const noexcept {
    const size_t at = (end - 1) * reading.stride + reading.extent;
    return std::min(in_height, at > reading.pad ? at - reading.pad : 0);
  }
};

Stage stage_of(const Step& step, const std::vector<PlanValue>& values) {
  const PlanValue& y = values[step.outputs[0]];
  Stage s{};
  s.kernel = static_cast<BandKernel*>(step.kernel.get());
  s.reading = s.kernel->reading();
  s.height = static_cast<size_t>(y.info.shape[2]);
  s.image = y.bytes / static_cast<size_t>(y.info.shape[0]);
  s.row = s.image / s.height;
  s.weights = values[step.inputs[1]].bytes;
  return s;
}

// Settles how many rows each stage computes at a time and keeps, where the last one computes `rows`. Gives the bytes in use at a time.
size_t arrange(std::vector<Stage>& stages, size_t rows) {
  size_t bytes = 0;
  for (size_t i = stages.size(); i-- > 0;) {
    Stage& s = stages[i];
    s.at_once = s.kept = std::min(rows, s.height);
    if (i + 1 < stages.size()) {
      const Stage& next = stages[i + 1];
      s.kept = std::min(s.height, std::max(s.at_once, (next.at_once - 1) * next.reading.stride + next.reading.extent));
    }
    bytes += s.kept * s.row + s.weights;
    rows = s.at_once * s.reading.stride;
  }
  return bytes;
}

// Settles that so that what is in use is not too much; false if it cannot be, or if most of an image would be kept.
bool fit(std::vector<Stage>& stages, const Device& device) {
  const size_t threads = static_cast<size_t>(device.threads);
  size_t rows = threads;
  const size_t most = most_bytes_in_use(device);
  if (arrange(stages, rows) > most) return false;
  while (!device.low_memory && rows < kMostRows * threads && arrange(stages, 2 * rows) <= most) rows *= 2;
  arrange(stages, rows);
  return std::all_of(stages.begin(), stages.end() - 1, [](const Stage& s) { return 2 * s.kept <= s.height; });
}

// Runs the kernels of consecutive steps: some rows of the last one, in order, and of those before it what they are about to read. Images
// between them are rings of rows.
class Chain final : public Kernel {
 public:
  /// `add`: whether the last step adds the second of the joint step's inputs; `scratch`: bytes that every kernel may use.
  Chain(std::vector<Stage> stages, size_t images, size_t input_bytes, size_t scratch, bool add)
      : stages_(std::move(stages)), add_(add), images_(images), input_image_(input_bytes / images), scratch_(scratch) {
    for (size_t i = 0; i < stages_.size(); ++i) {
      Stage& s = stages_[i];
      const bool last = i + 1 == stages_.size();
      s.kernel->cut_rows(i ? stages_[i - 1].kept : SIZE_MAX, last ? SIZE_MAX : s.kept);
      s.offset = scratch_;
      if (!last) scratch_ += align_up(s.kept * s.row);
    }
  }
  size_t scratch_bytes() const noexcept { return scratch_; }

  void run(RunContext& context) noexcept override {
    for (image_ = 0; image_ < images_; ++image_) {
      for (Stage& s : stages_) s.done = 0;
      advance(stages_.size() - 1, stages_.back().height, context);
    }
  }

 private:
  // Computes the stage's output up to that row, and of the stages before it what that takes.
  void advance(size_t i, size_t row, RunContext& context) noexcept {
    Stage& s = stages_[i];
    const bool last = i + 1 == stages_.size();
    const float* add = add_ && last ? context.in<float>(1) + image_ * s.image / sizeof(float) : nullptr;
    const char* x = i > 0 ? context.scratch_at(stages_[i - 1].offset) : context.in<char>(0) + image_ * input_image_;
    char* y = last ? context.out<char>(0) + image_ * s.image : context.scratch_at(s.offset);
    while (s.done < row) {
      const size_t end = std::min(row, s.done + s.at_once);
      if (i > 0) advance(i - 1, s.read_end(end, stages_[i - 1].height), context);
      s.kernel->run_rows(context, reinterpret_cast<const float*>(x), add, reinterpret_cast<float*>(y), s.done, end);
      s.done = end;
    }
  }

  std::vector<Stage> stages_;
  bool add_;
  size_t images_, image_ = 0, input_image_, scratch_;
};

bool has_rows(const Step& step, const std::vector<PlanValue>& values, bool from_ring) {
  const auto is_ready = [&](size_t i) {
    return i >= step.inputs.size() || step.inputs[i] == kNone || values[step.inputs[i]].place == PlanValue::Place::constant;
  };
  const auto kernel = dynamic_cast<BandKernel*>(step.kernel.get());
  const PlanValue& y = values[step.outputs[0]];
  if (!kernel || !is_ready(1) || !is_ready(2) || y.bytes == 0 || y.info.shape.rank() != 4 || y.info.extent != ValueInfo::Extent::exact)
    return false;
  return kernel->reading().by_rows && (!from_ring || kernel->reading().from_ring);
}

bool adds(const Step& step) { return step.inputs.size() > 3 && step.inputs[3] != kNone; }

// Whether the second step reads what the first one makes, and nobody else does.
bool may_follow(const Step& first, const Step& second, const std::vector<PlanValue>& values, const std::vector<uint32_t>& uses) {
  const uint32_t v = first.outputs[0];
  const PlanValue& y = values[v];
  return second.inputs[0] == v && uses[v] == 1 && !adds(first) && first.backend == second.backend && y.layout == Layout::packed &&
         has_rows(second, values, true) && y.bytes / static_cast<size_t>(y.info.shape[0]) >= least_bytes(first.backend->device());
}

// How many read each value; a reader outside the plan counts two.
std::vector<uint32_t> count_uses(const Plan& plan) {
  std::vector<uint32_t> uses(plan.values().size() + 1, 0);
  const auto add = [&](const std::vector<uint32_t>& read, uint32_t count) {
    for (uint32_t v : read) uses[v == kNone ? uses.size() - 1 : v] += count;
  };
  for (const Step& step : plan.steps()) add(step.inputs, 1), add(step.captured, 2);
  add(plan.outputs(), 2);
  add(plan.exports(), 2);
  return uses;
}

// The longest chain of steps that begins there; empty: it is one step.
std::vector<Stage> chain_at(const Plan& plan, size_t first, const std::vector<uint32_t>& uses) {
  const std::vector<Step>& steps = plan.steps();
  std::vector<Stage> chain, longest;
  if (!has_rows(steps[first], plan.values(), false)) return {};
  chain.push_back(stage_of(steps[first], plan.values()));
  for (size_t s = first + 1; s < steps.size() && may_follow(steps[s - 1], steps[s], plan.values(), uses); ++s) {
    chain.push_back(stage_of(steps[s], plan.values()));
    if (fit(chain, steps[first].backend->device())) longest = chain;
  }
  return longest;
}

}  // namespace

bool has_bands(const Plan& plan) {
  const std::vector<uint32_t> uses = count_uses(plan);
  for (size_t s = 0; s < plan.steps().size(); ++s)
    if (!chain_at(plan, s, uses).empty()) return true;
  return false;
}

void join_bands(Plan& plan) {
  const std::vector<uint32_t> uses = count_uses(plan);
  std::vector<Step>& steps = plan.steps();
  const std::vector<PlanValue>& values = plan.values();
  std::vector<Step> joined;
  for (size_t first = 0, end; first < steps.size(); first = end) {
    std::vector<Stage> chain = chain_at(plan, first, uses);
    end = first + std::max<size_t>(1, chain.size());
    if (chain.empty()) {
      joined.push_back(std::move(steps[first]));
      continue;
    }
    const Step& last = steps[end - 1];
    Step step;
    step.node = last.node, step.definition = last.definition, step.backend = last.backend, step.scheme = last.scheme;
    step.inputs = {steps[first].inputs[0]};
    if (adds(last)) step.inputs.push_back(last.inputs[3]);
    step.outputs = last.outputs;
    size_t scratch = 0;
    for (size_t s = first; s < end; ++s) scratch = std::max(scratch, align_up(steps[s].scratch_bytes));
    auto kernel = std::make_unique<Chain>(std::move(chain), static_cast<size_t>(values[last.outputs[0]].info.shape[0]),
                                          values[step.inputs[0]].bytes, scratch, adds(last));
    step.scratch_bytes = kernel->scratch_bytes();
    step.kernel = std::move(kernel);
    for (size_t s = first; s < end; ++s) {
      step.operations += steps[s].operations;
      step.bands.push_back(std::move(steps[s]));
    }
    joined.push_back(std::move(step));
  }
  steps = std::move(joined);
}
#endif

}  // namespace minnow
