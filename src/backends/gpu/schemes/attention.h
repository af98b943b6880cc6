// SPDX-License-Identifier: Apache-2.0
// Shared by the kernels for attention: which nodes they take, and where queries, keys, values and masks lie.
#pragma once
#include "backends/gpu/schemes/kernel_text.h"
#include "graph/attention.h"

namespace minnow::gpu {

/// Why no kernel takes the node; empty: one may.
std::string refusal_of_attention(const NodeView& node);
/// From the bytes and both products; `efficiency` of the peak.
Estimate attention_estimate(const NodeView& node, const Device& device, const AttentionGeometry& a, double efficiency);

/// Macros for the places of keys and values, those of the cache and the new ones: KEY_AT(j, d), NEW_KEY_AT(j), PAST_AT(width, j) ...
std::string_view attention_sources();
/// Statements that make `before_queries`, the place of query 0 among the keys, and `end`, behind the last key that a group sees; `rows`: of
/// a group, from `row0` on.
std::string attention_end(std::string_view rows);
/// All arguments and definitions for the result; rows are queries of the heads that share keys.
void add_attention_arguments(KernelText& text, const PrepareContext& context, const AttentionGeometry& a);
/// Launches that write present keys and values, where they are wanted.
void add_present(Launches& kernel, const PrepareContext& context, const AttentionGeometry& a);

}  // namespace minnow::gpu
