// SPDX-License-Identifier: Apache-2.0
// The one table of schemes for GPUs: the rows of all files in this folder. To add a scheme, add a row to a file, or a new file with a line
// here and in schemes.cpp.
#pragma once
#include <vector>

#include "backends/gpu/launches.h"

namespace minnow::gpu {

std::span<const Scheme> attention_schemes();
std::span<const Scheme> axes_schemes();
std::span<const Scheme> conv_schemes();
std::span<const Scheme> elementwise_schemes();
std::span<const Scheme> indexing_schemes();
std::span<const Scheme> integer_schemes();
std::span<const Scheme> matmul_schemes();
std::span<const Scheme> movement_schemes();
std::span<const Scheme> nbits_schemes();
std::span<const Scheme> normalization_schemes();
std::span<const Scheme> packed_byte_schemes();
std::span<const Scheme> packed_schemes();
std::span<const Scheme> pool_schemes();
std::span<const Scheme> recurrent_schemes();
std::span<const Scheme> reduce_schemes();
std::span<const Scheme> sampling_schemes();
std::span<const Scheme> scan_schemes();
std::span<const Scheme> softmax_schemes();
std::span<const Scheme> tensor_attention_schemes();
std::span<const Scheme> tensor_conv_schemes();
std::span<const Scheme> tensor_matmul_schemes();
std::span<const Scheme> transfer_schemes();
std::span<const Scheme> transpose_schemes();
std::span<const Scheme> update_schemes();
std::span<const Scheme> winograd_schemes();

/// All of them.
std::vector<Scheme> scheme_table();

/// The dialect's name of a dtype; empty: kernels do not know it.
std::string_view dialect_name(DType dtype);
/// The type that kernels compute in: float for all floats.
std::string_view computed_as(DType dtype);
bool is_real(DType dtype);

/// Why kernels cannot serve the node at all: a dtype, a size beyond 2^31, an empty output. Empty: they can.
std::string refusal(const NodeView& node);
/// f32, f16 and bf16 alone, of all inputs that are given and of the outputs.
std::string refusal_of_reals(const NodeView& node);

/// An estimate from the bytes of all inputs and outputs and the arithmetic; `efficiency` of the peak.
Estimate estimate_of(const NodeView& node, const Device& device, double operations = 0, double efficiency = 0.3, int launches = 1);

/// A literal with exactly these bits.
std::string literal(float value);

}  // namespace minnow::gpu
