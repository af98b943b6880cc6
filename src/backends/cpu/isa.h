// SPDX-License-Identifier: Apache-2.0
// The instruction sets that kernels are compiled for, and which of them this machine may use.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace minnow::cpu {

/// In ascending order of width within one architecture.
enum class Isa : uint8_t { sse4, avx2, avx3, neon, simd128 };

/// "sse4", "avx2", "avx3" (AVX-512 F, BW, DQ, VL), "neon", "simd128" (WebAssembly's).
std::string_view name_of(Isa isa) noexcept;
/// Floats in one vector: c of the packed layout NCHWc.
int lanes_of(Isa isa) noexcept;
/// Whether kernels fuse multiplications with additions.
constexpr bool fuses(Isa isa) noexcept { return isa != Isa::sse4 && isa != Isa::simd128; }
/// Whether the kernels of avx2 may use AVX-VNNI: the machine has it, and MINNOW_ISA is not "avx2".
bool may_use_avx_vnni() noexcept;
/// Whether this processor computes the vectors of `isa` in two halves (AVX-512 on AMD's Zen 4), so that they are no faster than half as
/// long ones.
bool is_double_pumped(Isa isa) noexcept;
/// Those that this build has kernels for and this machine can run, the widest last. May be empty.
std::vector<Isa> available_isas();
/// The widest available instruction set that neither `cap` nor the environment variable MINNOW_ISA excludes; an empty cap excludes nothing.
/// "avx2_vnni" stands for avx2 with AVX-VNNI. Throws InvalidArgument for an unknown name, and Unsupported if nothing is left.
Isa best_isa(std::string_view cap = {});

}  // namespace minnow::cpu
