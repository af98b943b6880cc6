// SPDX-License-Identifier: Apache-2.0
// The packed layout on a device with tensor cores: [N][C / 8][spatial...][8] of 16-bit floats, also for f32 tensors where precision is low.
// Lanes behind the last channel are 0.
#pragma once
#include "backends/gpu/schemes/schemes.h"

namespace minnow::gpu {

inline constexpr int64_t kPack = 8;

/// Places of a tensor [batch, channels, spatial...] in the packed layout.
struct Packed {
  int64_t batch, channels, chunks, positions;
  explicit Packed(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), chunks((shape[1] + kPack - 1) / kPack), positions(shape.product(2, shape.rank())) {}
  int64_t count() const { return batch * chunks * positions; }  // of chunks of 8 lanes
};

/// Why input 0 cannot lie packed on this device, or input 0 and output 0; empty: they can.
std::string refusal_of_packed_input(const NodeView& node, const Device& device);
std::string refusal_to_pack(const NodeView& node, const Device& device);
/// The dtype of packed elements in the dialect.
std::string_view packed_name(const NodeView& node, const Device& device);

/// For kernels of CUDA: chunks of 8 lanes of T16, which is f16 or bf16.
inline constexpr std::string_view kChunks = R"(
#define TO_F32(x) CAT(T16, _to_f32)(x)
#define FROM_F32(x) CAT(f32_to_, T16)(x)
INLINE void load_chunk(float* lanes, const uint4* from) {
  const uint4 chunk = *from;
  const u32 words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
  UNROLL for (int i = 0; i < 4; ++i) lanes[2 * i] = TO_F32((u16)words[i]), lanes[2 * i + 1] = TO_F32((u16)(words[i] >> 16));
}
INLINE void store_chunk(uint4* to, const float* lanes) {
  u32 words[4];
  UNROLL for (int i = 0; i < 4; ++i) words[i] = (u32)FROM_F32(lanes[2 * i]) | (u32)FROM_F32(lanes[2 * i + 1]) << 16;
  *to = make_uint4(words[0], words[1], words[2], words[3]);
}
)";

}  // namespace minnow::gpu
