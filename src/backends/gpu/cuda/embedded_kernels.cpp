// SPDX-License-Identifier: Apache-2.0
// Kernels in the library itself, for machines without NVRTC. cmake/embedded_bytes.cmake writes the bytes of a file of kernels.
#include "backends/gpu/cuda/compiler.h"

namespace minnow::gpu::cuda {
#ifdef MINNOW_CUDA_KERNELS
namespace {
alignas(64) constexpr unsigned char kBytes[] = {
#include <cuda_kernels.inc>
};
}  // namespace
std::span<const std::byte> embedded_kernels() noexcept { return std::as_bytes(std::span(kBytes)); }
#else
std::span<const std::byte> embedded_kernels() noexcept { return {}; }
#endif
}  // namespace minnow::gpu::cuda
