// SPDX-License-Identifier: Apache-2.0
// Which keys the queries of an Attention see, and what is added to their scores.
#pragma once
#include <algorithm>
#include <limits>

#include "backends/backend.h"
#include "graph/attention.h"

namespace minnow::cpu {

class AttentionMask {
 public:
  /// `input`: the place of the mask, f32 or bool, among the inputs of the node.
  AttentionMask(const NodeView& node, const AttentionGeometry& a, size_t input)
      : input_(input), keys_(size(a.keys())), past_(size(a.past)), before_(a.before), after_(a.after), is_there_(node.has_input(input)) {
    if (!is_there_) return;
    boolean_ = node.input_dtype(input) == DType::boolean;
    const Shape& mask = node.input_shape(input);
    columns_ = size(mask.back());
    int64_t stride = mask.back();
    for (size_t i = 1; i < mask.rank(); ++i) {  // rows, heads, batch
      const int64_t extent = mask[mask.rank() - 1 - i];
      strides_[i - 1] = extent == 1 ? 0 : size(stride);
      stride *= extent;
    }
    in_place_ = !boolean_ && columns_ == keys_;
  }

  /// The keys up to the last one that a query sees.
  size_t seen_by(size_t query) const noexcept {
    if (after_ < 0 || after_ >= static_cast<int64_t>(keys_)) return keys_;
    return std::min(keys_, past_ + query + 1 + size(after_));
  }

  /// The addend of the scores of one query, for the keys that seen_by() leaves; null: nothing. `to`: room for a number for each key.
  const float* row(RunContext& context, size_t batch, size_t head, size_t query, float* to) const noexcept {
    constexpr float kExcluded = -std::numeric_limits<float>::infinity();
    if (!is_there_ && before_ < 0) return nullptr;
    const size_t at = batch * strides_[2] + head * strides_[1] + query * strides_[0], place = past_ + query;
    const size_t hidden = before_ < 0 || size(before_) >= place ? 0 : std::min(keys_, place - size(before_));
    if (in_place_ && !hidden) return context.in<float>(input_) + at;
    std::fill_n(to, hidden, kExcluded);
    if (!is_there_) {
      std::fill_n(to + hidden, keys_ - hidden, 0.0f);
      return to;
    }
    for (size_t i = hidden; i < keys_; ++i) {
      if (i >= columns_)
        to[i] = kExcluded;
      else if (boolean_)
        to[i] = context.in<uint8_t>(input_)[at + i] ? 0 : kExcluded;
      else
        to[i] = context.in<float>(input_)[at + i];
    }
    return to;
  }

 private:
  static size_t size(int64_t value) { return static_cast<size_t>(value); }
  size_t input_, keys_, past_, columns_ = 0, strides_[3] = {0, 0, 0};
  int64_t before_, after_;
  bool is_there_, boolean_ = false, in_place_ = false;
};

}  // namespace minnow::cpu
