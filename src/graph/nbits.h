// SPDX-License-Identifier: Apache-2.0
// Numbers of 2 to 8 bits in blocks, as minnow.MatMulNBits and minnow.DequantizeNBits hold them: number i of a block occupies the bits from
// i * bits on of its bytes, the lowest first.
#pragma once
#include <algorithm>

#include "graph/node_view.h"

namespace minnow {

struct NBits {
  int64_t depth = 0;  // numbers of a row
  int64_t bits = 4, block = 32;

  int64_t blocks() const noexcept { return (depth + block - 1) / block; }
  int64_t bytes() const noexcept { return (block * bits + 7) / 8; }                // of a block
  int64_t zero_point_bytes() const noexcept { return (blocks() * bits + 7) / 8; }  // of a row
  int middle() const noexcept { return 1 << (bits - 1); }                          // the zero point where none is given
  /// Number `i` of a stream of bits.
  int number(const uint8_t* from, size_t i) const noexcept {
    const size_t width = static_cast<size_t>(bits), bit = i * width, place = bit % 8;
    unsigned word = from[bit / 8];
    if (place + width > 8) word |= static_cast<unsigned>(from[bit / 8 + 1]) << 8;
    return static_cast<int>(word >> place & ((1U << width) - 1));
  }
  void set_number(uint8_t* to, size_t i, int value) const noexcept {
    const size_t width = static_cast<size_t>(bits), bit = i * width, place = bit % 8;
    const unsigned word = static_cast<unsigned>(value) << place;
    to[bit / 8] = static_cast<uint8_t>(to[bit / 8] | word);
    if (place + width > 8) to[bit / 8 + 1] = static_cast<uint8_t>(to[bit / 8 + 1] | word >> 8);
  }

  /// The node's attributes, checked. Throws InvalidModel.
  static NBits of(const NodeView& node) {
    const NBits form{node.require<int64_t>("K"), node.require<int64_t>("bits"), node.require<int64_t>("block_size")};
    if (form.bits < 2 || form.bits > 8) node.fail("bits: {} is not from 2 to 8", form.bits);
    constexpr int64_t kMost = int64_t{1} << 20;
    if (form.block < 16 || form.block > kMost || (form.block & (form.block - 1)) != 0)
      node.fail("block_size: {} is no power of two from 16 on", form.block);
    if (form.depth < 1 || form.depth > int64_t{1} << 40) node.fail("K: {} is no number of weights", form.depth);
    return form;
  }
};

}  // namespace minnow
