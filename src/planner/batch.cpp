// SPDX-License-Identifier: Apache-2.0
// Whether a batch may be computed in parts.
#include <cstring>

#include "graph/plain_attribute.h"
#include "ops/batch.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// How much longer a run may take if low memory is preferred, as a factor.
constexpr double kPriceOfLowMemory = 1.25;

bool is_conversion(const Step& step) { return step.node->op() == kReorder; }

bool is_same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.data() == b.data() || a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

/// Attributes of nodes that a decomposition made anew; tensors and graphs are not looked into.
bool is_same(const AttributeValue& a, const AttributeValue& b) {
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (kIsPlainAttribute<T>)
          return std::holds_alternative<T>(b) && value == std::get<T>(b);
        else
          return false;
      },
      a);
}

bool is_same(const Node& a, const Node& b) {
  if (&a == &b) return true;
  if (a.op() != b.op() || a.attributes.size() != b.attributes.size()) return false;
  for (const auto& [name, value] : a.attributes) {
    const AttributeValue* other = b.attributes.find(name);
    if (!other || !is_same(value, *other)) return false;
  }
  return true;
}

/// Walks over two plans of the same nodes, for `whole` and for `part` entries.
class Comparison {
 public:
  Comparison(const PlanParts& whole, int64_t whole_batch, const PlanParts& part, int64_t part_batch)
      : whole_(whole),
        part_(part),
        whole_batch_(whole_batch),
        part_batch_(part_batch),
        twins_(whole.values.size()),
        whole_origin_(origins(whole)),
        part_origin_(origins(part)) {}

  bool splits() {
    for (uint32_t i = 0; i < whole_.live_ins.size(); ++i)
      if (!pair(i, i, true)) return false;
    size_t s = 0, p = 0;
    const std::vector<Step>&steps = whole_.steps, &part_steps = part_.steps;
    for (;; ++s, ++p) {
      while (s < steps.size() && is_conversion(steps[s])) ++s;
      while (p < part_steps.size() && is_conversion(part_steps[p])) ++p;
      if (s == steps.size() || p == part_steps.size()) break;
      if (!splits(steps[s], part_steps[p])) return false;
    }
    if (s != steps.size() || p != part_steps.size()) return false;
    for (size_t k = 0; k < whole_.outputs.size(); ++k) {
      const uint32_t v = origin(whole_origin_, whole_.outputs[k]);
      if (v == kNone || !twins_[v].batched || twins_[v].part != origin(part_origin_, part_.outputs[k])) return false;
    }
    return true;
  }

 private:
  struct Twin {
    uint32_t part = kNone;
    bool batched = false;
  };

  // Maps the result of each conversion to the value that it converts.
  static std::vector<uint32_t> origins(const PlanParts& plan) {
    std::vector<uint32_t> origin(plan.values.size());
    for (uint32_t v = 0; v < origin.size(); ++v) origin[v] = v;
    for (const Step& step : plan.steps)
      if (is_conversion(step)) origin[step.outputs[0]] = origin[step.inputs[0]];
    return origin;
  }
  static uint32_t origin(const std::vector<uint32_t>& origins, uint32_t v) { return v == kNone ? kNone : origins[v]; }

  // Notes that the values are the same, and whether they are entries of the batch. False if they cannot be either.
  bool pair(uint32_t whole, uint32_t part, bool may_be_batched) {
    const ValueInfo &a = whole_.values[whole].info, &b = part_.values[part].info;
    if (a.kind != ValueInfo::Kind::tensor || a.extent != ValueInfo::Extent::exact || b.kind != a.kind || b.extent != a.extent ||
        a.dtype != b.dtype || a.shape.rank() != b.shape.rank())
      return false;
    bool same = true, batched = a.shape.rank() > 0 && a.shape[0] == whole_batch_ && b.shape[0] == part_batch_;
    for (size_t i = 0; i < a.shape.rank(); ++i) {
      same &= a.shape[i] == b.shape[i];
      batched &= i == 0 || a.shape[i] == b.shape[i];
    }
    batched &= may_be_batched;
    twins_[whole] = {part, batched};
    return batched || same;
  }

  bool splits(const Step& whole, const Step& part) {
    if (!whole.definition || whole.definition != part.definition || !whole.definition->pure || !whole.captured.empty() ||
        whole.inputs.size() != part.inputs.size() || whole.outputs.size() != part.outputs.size() || !is_same(*whole.node, *part.node))
      return false;
    bool batched = false, differing = false;  // differing: a constant is another one
    for (size_t i = 0; i < whole.inputs.size(); ++i) {
      const uint32_t a = origin(whole_origin_, whole.inputs[i]), b = origin(part_origin_, part.inputs[i]);
      if ((a == kNone) != (b == kNone)) return false;
      if (a == kNone) continue;
      const PlanValue &value = whole_.values[a], &other = part_.values[b];
      if (value.place != PlanValue::Place::constant) {
        if (twins_[a].part != b) return false;
        batched |= twins_[a].batched;
      } else if (other.place != PlanValue::Place::constant) {
        return false;
      } else if (!is_same(value.info.contents, other.info.contents)) {
        if (i == 0) return false;
        differing = true;
      }
    }
    if (batched) {
      std::vector<const ValueInfo*> inputs, outputs;
      for (uint32_t v : whole.inputs) inputs.push_back(v == kNone ? nullptr : &whole_.values[v].info);
      for (uint32_t v : whole.outputs) outputs.push_back(v == kNone ? nullptr : &whole_.values[v].info);
      const Batch batch = batch_of(*whole.definition, NodeView(*whole.node, inputs, outputs, whole.definition));
      if (batch == Batch::mixed || (differing && batch != Batch::reshaped)) return false;
    } else if (differing) {
      return false;
    }
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
      const uint32_t a = whole.outputs[i], b = part.outputs[i];
      if ((a == kNone) != (b == kNone)) return false;
      // A value that depends on the batch must have it on axis 0.
      if (a != kNone && (!pair(a, b, batched) || twins_[a].batched != batched)) return false;
    }
    return true;
  }

  const PlanParts &whole_, &part_;
  const int64_t whole_batch_, part_batch_;
  std::vector<Twin> twins_;  // by the whole plan's values
  const std::vector<uint32_t> whole_origin_, part_origin_;
};

// The same for all choices of schemes, so that measuring and tuning see the parts that runs will see.
double seconds_of(const PlanParts& plan) {
  double seconds = 0;
  for (const Step& step : plan.steps) seconds += step.least_seconds;
  return seconds;
}

}  // namespace

int64_t entries_at_once(const PlanParts& plan, const Device& device, size_t memory_limit) {
  const size_t cache =
      device.low_memory ? 0 : std::min(memory_limit, std::max(device.l3 / 2, device.l2 * static_cast<size_t>(device.threads)));
  const int64_t batch = batch_size(plan);
  if (batch < 4 || plan.arena_bytes <= cache || !plan.remaining.empty()) return 0;
  const size_t entry = plan.arena_bytes / static_cast<size_t>(batch) + 1;
  int64_t best = 0;
  for (int64_t n = 2; n * 2 <= batch; ++n)
    if (batch % n == 0 && (best == 0 || static_cast<size_t>(n) * entry <= cache)) best = n;
  return best;
}

int64_t batch_size(const PlanParts& plan) {
  int64_t batch = 0;
  for (const LiveIn& live_in : plan.live_ins) {
    const Shape& shape = live_in.info.shape;
    if (live_in.info.kind != ValueInfo::Kind::tensor || live_in.info.contents || live_in.contents_required || shape.rank() == 0 ||
        (batch != 0 && shape[0] != batch))
      return 0;
    batch = shape[0];
  }
  return batch;
}

bool splits_batch(const PlanParts& whole, const PlanParts& part, const Device& device, size_t memory_limit) {
  const int64_t batch = batch_size(whole), entries = batch_size(part);
  if (entries < 2 || batch % entries != 0 || !part.remaining.empty()) return false;
  // Weights that are read once for all entries may be worth more than values that stay in the cache.
  const double longest = seconds_of(whole) * (device.low_memory ? kPriceOfLowMemory : 1);
  const bool pays = whole.arena_bytes > memory_limit || seconds_of(part) * static_cast<double>(batch / entries) <= longest;
  return pays && Comparison(whole, batch, part, entries).splits();
}

}  // namespace minnow
