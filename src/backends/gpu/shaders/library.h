// SPDX-License-Identifier: Apache-2.0
// The dialect's names for shaders, and functions that are written in it.
#pragma once
#include <string>
#include <string_view>

namespace minnow::gpu {

/// The dialect's names; kCommonPrefix follows.
extern const std::string_view kShaderPrefix;

/// The text of the function; empty: there is none. Results are within a few units in the last place, which the functions of Vulkan and
/// OpenGL ES do not promise.
std::string_view library_function(std::string_view name);

/// The prefix and all functions.
std::string library_text();

}  // namespace minnow::gpu
