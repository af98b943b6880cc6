// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/gles/api.h"

#include "base/error.h"
#include "base/format.h"

namespace minnow::gpu::gles {
namespace {

std::unique_ptr<os::SharedLibrary> open(std::initializer_list<const char*> names) {
  for (const char* name : names) try {
      return std::make_unique<os::SharedLibrary>(name);
    } catch (const Error&) {}
  return nullptr;
}

struct Loaded {
  Api api;
  std::string problem;

  Loaded() {
    api.egl = open({"libEGL.so.1", "libEGL.so"});
    api.gl = open({"libGLESv2.so.2", "libGLESv3.so", "libGLESv2.so"});
    if (!api.egl || !api.gl) {
      problem = format("{} is not installed", api.egl ? "OpenGL ES (libGLESv2.so.2)" : "EGL (libEGL.so.1)");
      return;
    }
    const auto get = reinterpret_cast<void* (*)(const char*)>(api.egl->symbol("eglGetProcAddress"));
    if (!get) {
      problem = "libEGL has no function eglGetProcAddress";
      return;
    }
    const auto find = [&](os::SharedLibrary& library, const char* name) {
      void* found = library.symbol(name);
      return found ? found : get(name);
    };
#define MINNOW_LOAD_OPTIONAL(function, result, parameters) \
  api.function = reinterpret_cast<decltype(api.function)>(find(*api.egl, #function));
#define MINNOW_LOAD_EGL(function, result, parameters) \
  MINNOW_LOAD_OPTIONAL(function, result, parameters)  \
  if (!api.function && problem.empty()) problem = "libEGL has no function " #function;
#define MINNOW_LOAD_GL(function, result, parameters)                                 \
  api.function = reinterpret_cast<decltype(api.function)>(find(*api.gl, #function)); \
  if (!api.function && problem.empty()) problem = "OpenGL ES has no function " #function;
    MINNOW_EGL(MINNOW_LOAD_EGL)
    MINNOW_EGL_OPTIONAL(MINNOW_LOAD_OPTIONAL)
    MINNOW_GLES(MINNOW_LOAD_GL)
    MINNOW_GLES_OPTIONAL(MINNOW_LOAD_OPTIONAL)
#undef MINNOW_LOAD_OPTIONAL
#undef MINNOW_LOAD_EGL
#undef MINNOW_LOAD_GL
  }
};

}  // namespace

const Api* load_api(std::string& problem) {
  static const Loaded& loaded = *new Loaded;  // never closed: drivers run code when the process ends
  problem = loaded.problem;
  return loaded.problem.empty() ? &loaded.api : nullptr;
}

}  // namespace minnow::gpu::gles
