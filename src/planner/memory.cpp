// SPDX-License-Identifier: Apache-2.0
// Offsets in the arena. Two arrangements are tried, both greedy (after Pisarchyk, Lee 2020, "Efficient Memory Management for Deep Neural
// Net Inference"): largest items first, and in order of time; the smaller one is taken.
#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <set>

#include "base/error.h"
#include "base/sort.h"
#include "planner/draft.h"

namespace minnow {
namespace {

// Placed items by the steps in which they live, in a segment tree over time, so that looking for neighbours does not visit all items:
// each node lists the items that cover its whole interval, and those that begin or end within.
class Timeline {
 public:
  explicit Timeline(uint32_t steps) {
    while (size_ < steps) size_ *= 2;
    covering_.resize(2 * size_);
    within_.resize(2 * size_);
  }
  void insert(size_t item, uint32_t first, uint32_t last) { insert(1, 0, size_ - 1, item, first, last); }
  void overlapping(uint32_t first, uint32_t last, std::vector<size_t>& found) const { visit(1, 0, size_ - 1, first, last, found); }

 private:
  void insert(size_t at, uint32_t low, uint32_t high, size_t item, uint32_t first, uint32_t last) {
    if (first > high || last < low) return;
    if (first <= low && high <= last) {
      covering_[at].push_back(item);
      return;
    }
    within_[at].push_back(item);
    const uint32_t middle = low + (high - low) / 2;
    insert(2 * at, low, middle, item, first, last);
    insert(2 * at + 1, middle + 1, high, item, first, last);
  }
  void visit(size_t at, uint32_t low, uint32_t high, uint32_t first, uint32_t last, std::vector<size_t>& found) const {
    if (first > high || last < low) return;
    found.insert(found.end(), covering_[at].begin(), covering_[at].end());
    if (first <= low && high <= last) {
      found.insert(found.end(), within_[at].begin(), within_[at].end());
      return;
    }
    const uint32_t middle = low + (high - low) / 2;
    visit(2 * at, low, middle, first, last, found);
    visit(2 * at + 1, middle + 1, high, first, last, found);
  }
  uint32_t size_ = 1;
  std::vector<std::vector<size_t>> covering_, within_;
};

size_t place_in_order(std::span<MemoryItem> items, const std::vector<size_t>& order) {
  uint32_t steps = 1;
  for (const MemoryItem& item : items) steps = std::max(steps, item.last + 1);
  Timeline timeline(steps);
  std::vector<size_t> neighbours;
  size_t total = 0;
  for (size_t i : order) {
    MemoryItem& item = items[i];
    neighbours.clear();
    timeline.overlapping(item.first, item.last, neighbours);
    sort_indices(neighbours, [&](size_t a, size_t b) { return items[a].offset < items[b].offset; });
    // The tightest gap between neighbours that is large enough, else behind the last.
    size_t best = kNowhere, best_gap = kNowhere, end = 0;
    for (size_t n : neighbours) {
      if (items[n].offset > end) {
        const size_t gap = items[n].offset - end;
        if (gap >= item.bytes && gap < best_gap) best = end, best_gap = gap;
      }
      end = std::max(end, items[n].offset + items[n].bytes);
    }
    item.offset = best != kNowhere ? best : end;
    if (__builtin_add_overflow(item.offset, item.bytes, &end))
      throw out_of_memory("the values between operators need more than {} bytes", kNowhere);
    total = std::max(total, end);
    timeline.insert(i, item.first, item.last);
  }
  return total;
}

/// The most items that live at once.
size_t most_alive(std::span<const MemoryItem> items) {
  std::map<uint32_t, int64_t> changes;
  for (const MemoryItem& item : items) ++changes[item.first], --changes[item.last + 1];
  int64_t now = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, now += change);
  return static_cast<size_t>(most);
}

/// Holes between items, by offset and by size.
class Holes {
 public:
  void add(size_t offset, size_t bytes) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) offset = before->first, bytes += before->second, take(before);
    }
    if (after != by_offset_.end() && offset + bytes == after->first) bytes += after->second, take(after);
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  /// The tightest hole of at least `bytes` bytes; if there is none, the end of the arena, which then grows.
  size_t find(size_t bytes, size_t& total) {
    size_t offset = total, size = 0;
    if (const auto found = by_size_.lower_bound({bytes, 0}); found != by_size_.end()) {
      offset = found->second, size = found->first;
      take(by_offset_.find(offset));
    } else if (!by_offset_.empty()) {
      const auto last = std::prev(by_offset_.end());
      if (last->first + last->second == total) offset = last->first, size = last->second, take(last);
    }
    if (size > bytes) add(offset + bytes, size - bytes);
    size_t end;
    if (__builtin_add_overflow(offset, bytes, &end)) throw out_of_memory("the values between operators need more than {} bytes", kNowhere);
    total = std::max(total, end);
    return offset;
  }

 private:
  void take(std::map<size_t, size_t>::iterator hole) {
    by_size_.erase({hole->second, hole->first});
    by_offset_.erase(hole);
  }
  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
};

/// The same as place_in_order by time, where so many items live at once that looking at all of them for each would take quadratic time.
size_t place_among_many(std::span<MemoryItem> items, const std::vector<size_t>& by_time) {
  using End = std::pair<uint32_t, size_t>;  // last step, item
  std::priority_queue<End, std::vector<End>, std::greater<>> alive;
  Holes holes;
  size_t total = 0;
  for (size_t i : by_time) {
    for (; !alive.empty() && alive.top().first < items[i].first; alive.pop())
      if (const MemoryItem& ended = items[alive.top().second]; ended.bytes) holes.add(ended.offset, ended.bytes);
    items[i].offset = items[i].bytes ? holes.find(items[i].bytes, total) : 0;
    alive.emplace(items[i].last, i);
  }
  return total;
}

/// The most items times items alive for which all neighbours of each item are looked at: ten times what the networks need that we know.
constexpr size_t kManyNeighbours = size_t{1} << 20;

}  // namespace

size_t plan_memory(std::span<MemoryItem> items) {
  for (MemoryItem& item : items) item.bytes = align_up(item.bytes);
  std::vector<size_t> by_size(items.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::vector<size_t> by_time = by_size;
  sort_indices(by_size, [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  sort_indices(by_time, [&](size_t a, size_t b) { return items[a].first < items[b].first; });
  if (most_alive(items) > kManyNeighbours / std::max(items.size(), size_t{1})) return place_among_many(items, by_time);
  const size_t in_time = place_in_order(items, by_time);
  std::vector<size_t> offsets;
  for (const MemoryItem& item : items) offsets.push_back(item.offset);
  const size_t in_size = place_in_order(items, by_size);
  if (in_size <= in_time) return in_size;
  for (size_t i = 0; i < items.size(); ++i) items[i].offset = offsets[i];
  return in_time;
}

size_t memory_lower_bound(std::span<const MemoryItem> items) {
  std::map<uint32_t, std::pair<size_t, size_t>> events;  // step: bytes that begin, bytes that ended before it
  for (const MemoryItem& item : items) {
    events[item.first].first += item.bytes;
    events[item.last + 1].second += item.bytes;
  }
  size_t now = 0, most = 0;
  for (const auto& [step, change] : events) {
    now = now + change.first - change.second;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace minnow
