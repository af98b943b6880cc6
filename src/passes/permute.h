// SPDX-License-Identifier: Apache-2.0
// Nodes that compute the same on permuted tensors: how a permutation of one value permutes the others, and the necessary changes to the
// node.
#pragma once
#include "passes/rewrite.h"

namespace minnow {

/// As a Transpose's `perm`: axis i of the result is axis perm[i] of the input.
using Permutation = Ints;

bool is_identity(const Permutation& p) noexcept;
/// Transpose by `first`, then by `second`, in one.
Permutation compose(const Permutation& first, const Permutation& second);
Permutation inverse(const Permutation& p);
/// The perm of a Transpose of a value of known rank; nothing if it is not a permutation.
std::optional<Permutation> permutation_of(const Node& transpose);

/// True if a Transpose of `source` moves nothing in memory, because it only moves dimensions of size 1.
bool moves_nothing(const Value& source, const Permutation& perm);

/// The values of a node as Transposes of other values: value = Transpose(other, perm). Empty: the value itself.
struct PermutedNode {
  std::vector<Permutation> inputs, outputs;
};
/// How the node can work on permuted tensors if input `i` is permuted by `perm`. Empty if it cannot.
std::optional<PermutedNode> permuted_by_input(const PassContext& context, const Node& node, size_t i, const Permutation& perm);
/// The same if its one output is to be permuted by `perm`.
std::optional<PermutedNode> permuted_by_output(const PassContext& context, const Node& node, const Permutation& perm);

/// Changes attributes and constant inputs (axes, pads, channel vectors ...) to fit permuted tensors. The caller replaces the other inputs
/// and the outputs.
void permute_node(const PassContext& context, Node& node, const PermutedNode& permuted);

}  // namespace minnow
