// SPDX-License-Identifier: Apache-2.0
// A compiler of the dialect (dialect.h) for devices whose drivers take no C: to SPIR-V for Vulkan and to GLSL ES 3.10 for OpenGL ES. It
// knows the part of C that kernels use: functions, arrays, pointers that stay within one buffer or array, loops, and the types of the
// dialect. It does not know structures, recursion, goto, switch and pointers that change.
//
// The interface of a shader, whose entry point is "main":
//  - Its words: one of 32 bits for each parameter, in order. A buffer's word is the index of its first element within the bound buffer, in
//    elements of element_bytes; a number's word is its bits. With `group_offsets` six words follow: the first group in x, y and z, and how
//    many groups the whole launch has in x, y and z.
//  - Buffer number k, counting buffers alone, is storage buffer k (descriptor set 0, binding k; std430).
//  - SPIR-V finds the words in a block of push constants, { uint words[n]; }, or if ShaderOptions says so in a read-only storage buffer of
//    that form, whose binding is the number of buffers. GLSL ES finds them in `layout(location = 0) uniform highp uint words[n]`.
// Bound buffers begin at multiples of 4 bytes, of 8 for elements of 8 bytes, and their sizes are multiples of 4.
//
// A device without integers of 8 and 16 bits in buffers reads and writes the words that contain them, the latter atomically. One without
// integers of 64 bits has pairs of 32 bits for them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu/driver.h"

namespace minnow::gpu {

struct ShaderOptions {
  Extent group = {1, 1, 1};    // items of a group
  size_t shared_bytes = 0;     // the most shared memory that a group may have; 0: any amount
  bool push_constants = true;  // where the words are; for SPIR-V
  bool group_offsets = false;  // the launch is one part of a larger one
  // Abilities of the device, for SPIR-V; GLSL ES has none of them.
  bool has_i64 = false;                           // shaderInt64
  bool has_8bit_storage = false;                  // storageBuffer8BitAccess
  bool has_16bit_storage = false;                 // storageBuffer16BitAccess
  bool has_signed_zero_inf_nan_preserve = false;  // of f32, in VkPhysicalDeviceFloatControlsProperties
  bool has_subgroups = false;                     // with arithmetic in compute shaders, in VkPhysicalDeviceSubgroupProperties
};

struct ShaderInterface {
  std::vector<Argument::Kind> parameters;
  std::vector<uint32_t> element_bytes;  // of each parameter; 0 for numbers
  std::vector<bool> writes;             // of each parameter: a buffer that the kernel may write
};

struct Shader : ShaderInterface {
  std::vector<uint32_t> spirv;  // version 1.3
};

struct GlslShader : ShaderInterface {
  std::string text;
};

/// The kernel `function` of `source`, which is in the dialect and without any prefix.
///   throws   InternalError with the line and the reason, where the source is not in the dialect; Unsupported where the kernel needs
///            more than the device has
///   cost     proportional to the source with its macros expanded: about a millisecond for a hundred lines
///   threads  may be called by several at once
Shader compile_to_spirv(std::string_view source, std::string_view function, const ShaderOptions& options);
GlslShader compile_to_glsl_es(std::string_view source, std::string_view function, const ShaderOptions& options);

}  // namespace minnow::gpu
