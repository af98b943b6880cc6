// SPDX-License-Identifier: Apache-2.0
// The meaning of a node minnow.ChannelShuffle: which input channel each output channel is.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/node_view.h"

namespace minnow {

struct ChannelShuffle {
  struct Place {
    size_t part;  // of the inputs
    int64_t channel;
  };

  int64_t groups = 1, channels = 0;
  Ints parts, sizes;  // channels of each input, and of each output

  /// All shapes should be known.
  static ChannelShuffle of(const NodeView& node);

  /// Where `channel`, counted over all outputs, comes from.
  Place source(int64_t channel) const {
    int64_t from = channel % groups * (channels / groups) + channel / groups;
    size_t part = 0;
    while (from >= parts[part]) from -= parts[part++];
    return {part, from};
  }
};

/// The shape rule: channels of each output. Throws where the node is wrong.
inline std::vector<Size> shuffle_sizes(const NodeView& node) {
  const Sizes first = node.input_sizes(0);
  if (first.rank() < 2) node.fail("takes [batch, channels, ...], the input has shape {}", first);
  Size channels = 0;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Sizes part = node.input_sizes(i);
    bool fits = part.rank() == first.rank();
    for (size_t k = 0; fits && k < first.rank(); ++k) fits = k == 1 || !differ(part[k], first[k]);
    if (!fits) node.fail("input {} of shape {} cannot follow shape {}", i, part, first);
    channels += part[1];
  }
  const int64_t groups = node.require<int64_t>("groups");
  if (groups < 1 || leaves_rest(channels, groups)) node.fail("{} channels do not make {} groups", channels, groups);
  const Ints* given = node.find<Ints>("sizes");
  const std::vector<Size> sizes = given ? std::vector<Size>(given->begin(), given->end()) : std::vector<Size>{channels};
  Size left = channels;
  for (const Size size : sizes) {
    if (less(size, 0) || less(left, size)) node.fail("outputs of {} channels do not fit {} channels", sizes, channels);
    left -= size;
  }
  if (differ(left, 0)) node.fail("outputs of {} channels do not fit {} channels", sizes, channels);
  if (sizes.size() != node.output_count()) node.fail("there are {} outputs, sizes has {} entries", node.output_count(), sizes.size());
  return sizes;
}

inline ChannelShuffle ChannelShuffle::of(const NodeView& node) {
  ChannelShuffle shuffle;
  for (const Size size : shuffle_sizes(node)) shuffle.sizes.push_back(size.number());
  for (size_t i = 0; i < node.input_count(); ++i) shuffle.parts.push_back(node.input_shape(i)[1]);
  for (const int64_t part : shuffle.parts) shuffle.channels += part;
  shuffle.groups = node.require<int64_t>("groups");
  return shuffle;
}

}  // namespace minnow
