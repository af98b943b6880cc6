// SPDX-License-Identifier: Apache-2.0
// Large products of 16 bits with f32 sums on NVIDIA GPUs of compute capability 9.0: wgmma over tiles that the copy engine brings to shared
// memory. A smaller TensorGemm is faster by tensor_cores.h.
#pragma once
#include "backends/gpu/schemes/tensor_cores.h"

namespace minnow::gpu {

/// How many columns of B one tile has; 0, and the reason, where add_wgmma() cannot serve or add_tensor_gemm() takes less time.
int64_t wgmma_columns(const TensorGemm& gemm, const Device& device, std::string& reason);

/// B for tiles of `columns` columns; `element(tap, channel, column)` tells it.
size_t wgmma_bytes(const TensorGemm& gemm, int64_t columns);
void pack_wgmma(const TensorGemm& gemm, int64_t columns, FunctionRef<float(int64_t tap, int64_t channel, int64_t column)> element,
                int64_t channels, void* out);

/// Appends the launch; `b` is what pack_wgmma made. There is one group.
void add_wgmma(Launches& kernel, PrepareContext& context, const TensorGemm& gemm, Given b);

}  // namespace minnow::gpu
