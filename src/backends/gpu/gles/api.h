// SPDX-License-Identifier: Apache-2.0
// The functions of EGL 1.5 and OpenGL ES 3.1 that the driver calls, by the Khronos specifications. Both libraries are opened at run time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/os.h"

namespace minnow::gpu::gles {

using Handle = struct Opaque*;  // EGLDisplay, EGLConfig, EGLContext, EGLSurface, EGLDeviceEXT

inline constexpr int kSurfaceType = 0x3033, kRenderableType = 0x3040, kNone = 0x3038, kPbuffer = 1, kEs3 = 0x40, kExtensions = 0x3055,
                     kMajorVersion = 0x3098, kMinorVersion = 0x30FB, kContextLost = 0x300E;
inline constexpr unsigned kOpenGlEs = 0x30A0, kPlatformDevice = 0x313F, kPlatformSurfaceless = 0x31DD;

inline constexpr unsigned kVendor = 0x1F00, kRenderer = 0x1F01, kVersion = 0x1F02, kGlMajorVersion = 0x821B, kGlMinorVersion = 0x821C;
inline constexpr unsigned kComputeShader = 0x91B9, kCompileStatus = 0x8B81, kLinkStatus = 0x8B82;
inline constexpr unsigned kStorageBuffer = 0x90D2, kCopyRead = 0x8F36, kCopyWrite = 0x8F37, kDynamicCopy = 0x88EA;
inline constexpr unsigned kMapRead = 1, kStorageBarrier = 0x2000, kUpdateBarrier = 0x200;
inline constexpr unsigned kMaxGroups = 0x91BE, kMaxGroup = 0x91BF, kMaxGroupItems = 0x90EB, kMaxSharedBytes = 0x8262,
                          kMaxStorageBlocks = 0x90DB, kMaxStorageBytes = 0x90DE, kMaxUniforms = 0x8263;
inline constexpr unsigned kBinaryHint = 0x8257, kBinaryLength = 0x8741, kBinaryFormats = 0x87FE;
inline constexpr unsigned kGlExtensions = 0x1F03, kTimestamp = 0x8E28, kQueryResult = 0x8866, kCounterBits = 0x8864;
inline constexpr unsigned kOutOfMemory = 0x0505, kGlContextLost = 0x0507;

#define MINNOW_EGL(X)                                                    \
  X(eglGetError, int, ())                                                \
  X(eglGetDisplay, Handle, (void*))                                      \
  X(eglInitialize, unsigned, (Handle, int*, int*))                       \
  X(eglQueryString, const char*, (Handle, int))                          \
  X(eglBindAPI, unsigned, (unsigned))                                    \
  X(eglChooseConfig, unsigned, (Handle, const int*, Handle*, int, int*)) \
  X(eglCreateContext, Handle, (Handle, Handle, Handle, const int*))      \
  X(eglDestroyContext, unsigned, (Handle, Handle))                       \
  X(eglMakeCurrent, unsigned, (Handle, Handle, Handle, Handle))
#define MINNOW_EGL_OPTIONAL(X)                                       \
  X(eglGetPlatformDisplayEXT, Handle, (unsigned, void*, const int*)) \
  X(eglQueryDevicesEXT, unsigned, (int, Handle*, int*))
// GL_EXT_disjoint_timer_query
#define MINNOW_GLES_OPTIONAL(X)                        \
  X(glGenQueriesEXT, void, (int, unsigned*))           \
  X(glDeleteQueriesEXT, void, (int, const unsigned*))  \
  X(glQueryCounterEXT, void, (unsigned, unsigned))     \
  X(glGetQueryivEXT, void, (unsigned, unsigned, int*)) \
  X(glGetQueryObjectui64vEXT, void, (unsigned, unsigned, uint64_t*))
#define MINNOW_GLES(X)                                                           \
  X(glGetError, unsigned, ())                                                    \
  X(glGetString, const char*, (unsigned))                                        \
  X(glGetIntegerv, void, (unsigned, int*))                                       \
  X(glGetInteger64v, void, (unsigned, int64_t*))                                 \
  X(glGetIntegeri_v, void, (unsigned, unsigned, int*))                           \
  X(glGenBuffers, void, (int, unsigned*))                                        \
  X(glDeleteBuffers, void, (int, const unsigned*))                               \
  X(glBindBuffer, void, (unsigned, unsigned))                                    \
  X(glBindBufferRange, void, (unsigned, unsigned, unsigned, intptr_t, intptr_t)) \
  X(glBufferData, void, (unsigned, intptr_t, const void*, unsigned))             \
  X(glBufferSubData, void, (unsigned, intptr_t, intptr_t, const void*))          \
  X(glMapBufferRange, void*, (unsigned, intptr_t, intptr_t, unsigned))           \
  X(glUnmapBuffer, uint8_t, (unsigned))                                          \
  X(glCreateShader, unsigned, (unsigned))                                        \
  X(glDeleteShader, void, (unsigned))                                            \
  X(glShaderSource, void, (unsigned, int, const char* const*, const int*))       \
  X(glCompileShader, void, (unsigned))                                           \
  X(glGetShaderiv, void, (unsigned, unsigned, int*))                             \
  X(glGetShaderInfoLog, void, (unsigned, int, int*, char*))                      \
  X(glCreateProgram, unsigned, ())                                               \
  X(glDeleteProgram, void, (unsigned))                                           \
  X(glAttachShader, void, (unsigned, unsigned))                                  \
  X(glLinkProgram, void, (unsigned))                                             \
  X(glGetProgramiv, void, (unsigned, unsigned, int*))                            \
  X(glGetProgramInfoLog, void, (unsigned, int, int*, char*))                     \
  X(glProgramParameteri, void, (unsigned, unsigned, int))                        \
  X(glGetProgramBinary, void, (unsigned, int, int*, unsigned*, void*))           \
  X(glProgramBinary, void, (unsigned, unsigned, const void*, int))               \
  X(glUseProgram, void, (unsigned))                                              \
  X(glUniform1uiv, void, (int, int, const uint32_t*))                            \
  X(glDispatchCompute, void, (unsigned, unsigned, unsigned))                     \
  X(glMemoryBarrier, void, (unsigned))                                           \
  X(glFlush, void, ())                                                           \
  X(glFinish, void, ())

#define MINNOW_GLES_POINTER(name, result, parameters) result(*name) parameters = nullptr;
struct Api {
  MINNOW_EGL(MINNOW_GLES_POINTER)
  MINNOW_EGL_OPTIONAL(MINNOW_GLES_POINTER)
  MINNOW_GLES(MINNOW_GLES_POINTER)
  MINNOW_GLES_OPTIONAL(MINNOW_GLES_POINTER)
  std::unique_ptr<os::SharedLibrary> egl, gl;
};
#undef MINNOW_GLES_POINTER

/// Null, and the reason, where a library or a function is missing.
const Api* load_api(std::string& problem);

}  // namespace minnow::gpu::gles
