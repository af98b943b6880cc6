// SPDX-License-Identifier: Apache-2.0
// Weights as indices into a palette, in a graph.
#pragma once
#include "graph/graph.h"

namespace minnow::compress {

/// The most numbers of a palette that quantization keeps: indices of 4 bits. More take as many bits as integers do.
inline constexpr size_t kSmallPalette = 16;

/// Whether a tensor of f32 or i8 has a small palette: at most kSmallPalette different numbers, and so many elements that indices save
/// memory.
bool has_small_palette(const Tensor& tensor);
/// Input `input` of `node`, a constant, becomes indices of u2, u4 or u8 into `palette`, which has a number for each index of that dtype.
void look_up(Graph& graph, Node& node, size_t input, Tensor indices, Tensor palette);
/// The same for a constant that has a small palette; others stay as they are.
void keep_small_palette(Graph& graph, Node& node, size_t input);

}  // namespace minnow::compress
