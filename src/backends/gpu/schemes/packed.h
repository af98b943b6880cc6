// SPDX-License-Identifier: Apache-2.0
// The packed layout on a device with tensor cores: [N][C / 8][spatial...][8] of bytes or of 16-bit floats, also for f32 tensors where
// precision is low. Where precision is tf32, f32 tensors lie in it as f32 rounded to TF32. Lanes behind the last channel are 0.
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
/// The type of packed elements: f16, bf16, tf32, u8 or i8; empty: there are none.
std::string_view packed_name(const NodeView& node, const Device& device);
/// Seconds of an operator that takes `plain` seconds in the plain layout. Between packed neighbours the packed one saves changes of layout;
/// alone, only 16 bits save time, and TF32 would cost digits.
inline double packed_seconds(const NodeView& node, const Device& device, double plain) {
  return (packed_name(node, device) == "tf32" ? 1.01 : 0.5) * (3e-6 + plain);
}
/// Bytes of a packed element.
inline size_t packed_size(std::string_view type) { return type == "tf32" ? 4 : type == "u8" || type == "i8" ? 1 : 2; }
/// For kernels of CUDA: CHUNK is 8 lanes of that type.
std::string chunk_definitions(std::string_view type);

}  // namespace minnow::gpu
