// SPDX-License-Identifier: Apache-2.0
// What the schemes of convolutions and products share.
#pragma once
#include <limits>
#include <optional>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/conv_shape.h"
#include "backends/cpu/kernels/epilogue.h"
#include "graph/activation.h"
#include "graph/window.h"

namespace minnow::cpu {

/// The shape of a convolution with one or two spatial dimensions (one becomes a row); nothing for others.
std::optional<ConvShape> conv_shape_of(const NodeView& node);
inline ConvShape conv_shape(const NodeView& node) { return *conv_shape_of(node); }

/// What Conv (nothing) and the fused operators (their activation) do to their sums.
Epilogue epilogue_of(const NodeView& node, const Kernels& kernels);

/// Why no scheme for f32 convolutions of a constant weight can serve; empty where they can.
std::string refusal_of_conv(const NodeView& node);

}  // namespace minnow::cpu
