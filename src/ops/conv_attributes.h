// SPDX-License-Identifier: Apache-2.0
// Attributes that convolutions and pools share.
#pragma once
#include "ops/operator.h"

namespace minnow {

inline constexpr Attribute<Name> kAutoPad{
    "auto_pad", "NOTSET",
    MINNOW_DOC(
        "NOTSET: as `pads` says; VALID: none; SAME_UPPER, SAME_LOWER: as much as makes ceil(input / stride) windows, the odd one at the "
        "end or at the beginning")};
inline constexpr Attribute<int64_t> kGroup{"group", 1, MINNOW_DOC("groups that the channels fall into")};
inline constexpr AttributeSpec kStrides = optional("strides", AttributeKind::integers, MINNOW_DOC("steps between windows; 1 where absent"));
inline constexpr AttributeSpec kDilations =
    optional("dilations", AttributeKind::integers, MINNOW_DOC("steps between the taps of a window; 1 where absent"));
inline constexpr AttributeSpec kPads =
    optional("pads", AttributeKind::integers, MINNOW_DOC("padding before each dimension, then after each; 0 where absent"));
inline constexpr AttributeSpec kKernelShape =
    optional("kernel_shape", AttributeKind::integers, MINNOW_DOC("shape of the kernel; that of the weights where absent"));

/// An input of the dtype of input `like`.
constexpr InputSpec like(Name name, DTypes dtypes, Name input, Arity arity = Arity::required) {
  return {.name = name, .dtypes = dtypes, .arity = arity, .like = input};
}
/// A weight that kernels pack, of the dtype of another input.
constexpr InputSpec packed_weight(Name name, DTypes dtypes, Name input) {
  return {.name = name, .dtypes = dtypes, .weight = Weight::packed, .like = input};
}

constexpr List<AttributeSpec> conv_attributes() { return {kAutoPad, kDilations, kGroup, kKernelShape, kPads, kStrides}; }

}  // namespace minnow
