// SPDX-License-Identifier: Apache-2.0
// Values that lie in one another's memory: views (Reshape), values written in place of an input that nobody reads later, or parts of a
// whole (the inputs of a join, the outputs of a split), which then need no copy.
#include <algorithm>

#include "planner/draft.h"

namespace minnow {
namespace {

// Kernels of devices read words of so many bytes, whatever the dtype.
constexpr size_t kWordsOnDevices = 16;

class Sharing {
 public:
  Sharing(const std::vector<Step>& steps, std::vector<PlanValue>& values, bool may_share_views)
      : steps_(steps), values_(values), may_share_views_(may_share_views), members_(values.size()), same_(values.size()) {
    for (uint32_t v = 0; v < values.size(); ++v) members_[v] = {v}, same_[v] = v, last_.push_back(values[v].last);
  }

  /// Returns whether views lie in the memory of inputs that are read later.
  bool run() {
    for (uint32_t s = 0; s < steps_.size(); ++s) overwrite(s);
    for (uint32_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      if (step.estimate.joins) join(step.outputs[0], step.inputs, s);
      if (step.estimate.parts && step.inputs[0] != kNone) join(step.inputs[0], step.outputs, s);
    }
    for (uint32_t v = 0; v < values_.size(); ++v) {
      if (values_[v].alias == kNone) continue;
      PlanValue& owner = values_[values_[v].alias];
      owner.first = std::min(owner.first, values_[v].first);
      owner.last = std::max(owner.last, values_[v].last);
    }
    return shares_views_;
  }

 private:
  uint32_t owner_of(uint32_t v) const { return values_[v].alias != kNone ? values_[v].alias : v; }
  bool in_arena(uint32_t v) const {
    return v != kNone && values_[v].place == PlanValue::Place::arena && values_[v].info.kind == ValueInfo::Kind::tensor &&
           values_[v].info.extent == ValueInfo::Extent::exact;
  }

  // Output 0 takes over the memory of the input that the kernel may overwrite, or is a view of.
  void overwrite(uint32_t s) {
    const Step& step = steps_[s];
    const int overwritten = step.estimate.overwrites;
    if (overwritten < 0 || static_cast<size_t>(overwritten) >= step.inputs.size()) return;
    const uint32_t from = step.inputs[static_cast<size_t>(overwritten)], to = step.outputs[0];
    if (!in_arena(from) || !in_arena(to) || values_[from].memory != values_[to].memory) return;
    // A kernel that reads the value as another input too may not be done with it when it writes: a convolution that adds its own input.
    if (std::count_if(step.inputs.begin(), step.inputs.end(), [&](uint32_t v) { return v != kNone && same_[v] == same_[from]; }) > 1)
      return;
    const bool is_view = step.estimate.is_view && may_share_views_ && !values_[from].memory, ends = last_[same_[from]] == s;
    if (!ends && !is_view) return;
    const uint32_t owner = owner_of(from);
    if (values_[to].bytes > values_[owner].bytes) return;
    values_[to].alias = owner;
    members_[owner].push_back(to);
    if (!is_view) return;
    shares_views_ = shares_views_ || !ends;
    same_[to] = same_[from];
    last_[same_[to]] = std::max(last_[same_[to]], values_[to].last);
  }

  // At step s, `whole` consists of the parts one after another. Places as many parts as possible inside its memory.
  void join(uint32_t whole, const std::vector<uint32_t>& parts, uint32_t s) {
    if (!in_arena(whole)) return;
    size_t offset = 0;
    for (uint32_t part : parts) {
      if (part == kNone) return;
      if (in_arena(part)) place_within(part, whole, offset, s);
      offset += values_[part].bytes;
    }
  }

  void place_within(uint32_t part, uint32_t whole, size_t offset, uint32_t s) {
    // The earlier of the two values must end with this step: while both live, a callback may replace the contents of one.
    if (values_[values_[part].first < s ? part : whole].last != s || values_[part].memory != values_[whole].memory) return;
    const uint32_t inner = owner_of(part), outer = owner_of(whole);
    if (inner == outer || values_[part].bytes == 0) return;
    const size_t place = values_[whole].alias_offset + offset;
    if (place < values_[part].alias_offset) return;
    const size_t shift = place - values_[part].alias_offset;  // of the part's owner in the whole's
    if (shift + values_[inner].bytes > values_[outer].bytes) return;
    if (values_[part].memory && shift % kWordsOnDevices != 0) return;
    for (uint32_t a : members_[inner])
      for (uint32_t b : members_[outer]) {
        if (a == part && b == whole) continue;
        const size_t at = values_[a].alias_offset + shift;
        const bool same_time = values_[a].first <= values_[b].last && values_[b].first <= values_[a].last;
        const bool same_place = at < values_[b].alias_offset + values_[b].bytes && values_[b].alias_offset < at + values_[a].bytes;
        if (same_time && same_place) return;
      }
    for (uint32_t a : members_[inner]) {
      values_[a].alias = outer;
      values_[a].alias_offset += shift;
    }
    members_[outer].insert(members_[outer].end(), members_[inner].begin(), members_[inner].end());
    members_[inner].clear();
  }

  const std::vector<Step>& steps_;
  std::vector<PlanValue>& values_;
  bool may_share_views_, shares_views_ = false;
  std::vector<std::vector<uint32_t>> members_;  // of every owner, itself included
  std::vector<uint32_t> same_;                  // the value that each is a view of, or itself
  std::vector<uint32_t> last_;                  // by that value: the last step that reads it or a view
};

}  // namespace

bool share_memory(const std::vector<Step>& steps, std::vector<PlanValue>& values, bool may_share_views) {
  return Sharing(steps, values, may_share_views).run();
}

}  // namespace minnow
