// SPDX-License-Identifier: Apache-2.0
// The first 64 bytes of a .minnow file, all numbers little-endian.
#pragma once
#include <bit>
#include <cstdint>

namespace minnow::file {

static_assert(std::endian::native == std::endian::little, "model files are used in place");

struct Header {
  // As in PNG: a byte that is no text, the name, and line ends that a transfer in text mode would change.
  unsigned char magic[8] = {0x89, 'M', 'N', 'W', '\r', '\n', 0x1a, '\n'};
  uint16_t major = kMajor, minor = kMinor;
  uint32_t coded_head = 0;                               // 1 where the head is a HeadCode and a code, in files of major version kCodedMajor
  uint64_t head_offset = sizeof(Header), head_size = 0;  // the FlatBuffer of model.fbs
  uint64_t weights_offset = 0, weights_size = 0;
  uint64_t file_size = 0;
  uint64_t reserved2 = 0;

  /// Readers refuse another major version, and read a newer minor one without what they do not know. Files with entropy codes have a coded
  /// head and the other major version.
  static constexpr uint16_t kMajor = 1, kMinor = 1, kCodedMajor = 2, kCodedMinor = 0;
};
static_assert(sizeof(Header) == 64);

/// Before the code of a head: the bytes of the head, and those of the repeats (base/repeats.h) that the entropy code stands for.
struct HeadCode {
  uint32_t head, repeats;
  static constexpr uint64_t kMostPerByte = 64;  // of the head for a byte of the code, so that a file cannot ask for far more than it has
};

inline constexpr uint32_t kOpset = 26;  // version of ai.onnx that the operators follow
inline constexpr uint32_t kNoSegment = 0xffffffffu;
inline constexpr uint64_t kMaxHead = (uint64_t{1} << 31) - 64;  // what a FlatBuffer can address
inline constexpr int kMaxDepth = 64;                            // of graphs in graphs and types in types

}  // namespace minnow::file
