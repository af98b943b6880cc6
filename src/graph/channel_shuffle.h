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

  /// Throws where the node is wrong; all shapes should be known.
  static ChannelShuffle of(const NodeView& node) {
    ChannelShuffle shuffle;
    const Shape& first = node.input_shape(0);
    if (first.rank() < 2) node.fail("takes [batch, channels, ...], the input has shape {}", first);
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Shape& part = node.input_shape(i);
      bool fits = part.rank() == first.rank();
      for (size_t k = 0; fits && k < first.rank(); ++k) fits = k == 1 || part[k] == first[k];
      if (!fits) node.fail("input {} of shape {} cannot follow shape {}", i, part, first);
      shuffle.parts.push_back(part[1]);
      if (__builtin_add_overflow(shuffle.channels, part[1], &shuffle.channels)) node.fail("the inputs have too many channels together");
    }
    shuffle.groups = node.require<int64_t>("groups");
    if (shuffle.groups < 1 || shuffle.channels % shuffle.groups != 0)
      node.fail("{} channels do not make {} groups", shuffle.channels, shuffle.groups);
    const Ints* sizes = node.find<Ints>("sizes");
    shuffle.sizes = sizes ? *sizes : Ints{shuffle.channels};
    int64_t left = shuffle.channels;
    for (int64_t size : shuffle.sizes) {
      if (size < 0 || size > left) node.fail("outputs of {} channels do not fit {} channels", shuffle.sizes, shuffle.channels);
      left -= size;
    }
    if (left != 0) node.fail("outputs of {} channels do not fit {} channels", shuffle.sizes, shuffle.channels);
    if (shuffle.sizes.size() != node.output_count())
      node.fail("there are {} outputs, sizes has {} entries", node.output_count(), shuffle.sizes.size());
    return shuffle;
  }

  /// Where `channel`, counted over all outputs, comes from.
  Place source(int64_t channel) const {
    int64_t from = channel % groups * (channels / groups) + channel / groups;
    size_t part = 0;
    while (from >= parts[part]) from -= parts[part++];
    return {part, from};
  }
};

}  // namespace minnow
