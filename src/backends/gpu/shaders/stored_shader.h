// SPDX-License-Identifier: Apache-2.0
// Shaders as Programs (programs.h) has them: the source that names one, and the bytes in the file of compiled kernels.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "backends/gpu/shaders/shader_compiler.h"

namespace minnow::gpu {

/// A kernel to be compiled: all of it but the abilities of the device.
struct ShaderSource {
  std::string function;
  Extent group = {1, 1, 1};
  bool group_offsets = false;
  std::string text;

  std::string to_source() const;
  static ShaderSource of(const std::string& source);  // which to_source() gave
};

/// All that a shader depends on besides its source and the device: the dialect's texts, and a number that changes with the translation.
std::string shader_revision();

/// A compiled shader in the file: its interface, where its words are, and two pieces that the driver knows.
struct StoredShader {
  ShaderInterface interface;
  bool pushes = true, offsets = false;
  std::string code, data;

  uint32_t buffers() const;
  uint32_t words() const { return static_cast<uint32_t>(interface.parameters.size()) + (offsets ? 6 : 0); }
  std::string to_bytes() const;
  /// False: the bytes are too few, or too many.
  bool read(std::span<const std::byte> bytes);
};

}  // namespace minnow::gpu
