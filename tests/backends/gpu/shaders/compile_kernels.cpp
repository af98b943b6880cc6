// SPDX-License-Identifier: Apache-2.0
// Compiles kernels for Vulkan and OpenGL ES: compile_kernels FILE.kernel... (backends/gpu/opencl_driver.cpp writes them). Beside each file
// it writes FILE.kernel.full.spv, for a device with all abilities, FILE.kernel.least.spv, for one with none, which has its words in a
// buffer, and FILE.kernel.comp, GLSL ES. Prints the kernels that do not compile, and the time.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "backends/gpu/shaders/shader_compiler.h"
#include "base/error.h"

using namespace minnow;

namespace {

using Clock = std::chrono::steady_clock;

void write(const std::string& name, const void* data, size_t bytes) {
  std::ofstream(name, std::ios::binary).write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  int faults = 0;
  double seconds = 0, longest = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    std::stringstream text;
    text << std::ifstream(name).rdbuf();
    std::string mark, function;
    gpu::ShaderOptions least;
    text >> mark >> function >> least.group[0] >> least.group[1] >> least.group[2];
    const std::string source = text.str();
    least.push_constants = false;
    least.group_offsets = true;
    gpu::ShaderOptions full = least;
    full.has_i64 = full.has_8bit_storage = full.has_16bit_storage = full.has_signed_zero_inf_nan_preserve = full.has_subgroups =
        full.push_constants = true;
    full.group_offsets = false;
    const auto compiled = [&](const char* what, auto compile) {
      try {
        const Clock::time_point begin = Clock::now();
        compile();
        const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
        seconds += taken;
        longest = std::max(longest, taken);
      } catch (const Error& error) {
        ++faults;
        std::printf("%s, %s: %s\n", name.c_str(), what, error.what());
      }
    };
    for (const bool is_full : {true, false})
      compiled(is_full ? "full" : "least", [&] {
        const std::vector<uint32_t> words = gpu::compile_to_spirv(source, function, is_full ? full : least).spirv;
        write(name + (is_full ? ".full.spv" : ".least.spv"), words.data(), words.size() * 4);
      });
    compiled("GLSL ES", [&] {
      const std::string shader = gpu::compile_to_glsl_es(source, function, least).text;
      write(name + ".comp", shader.data(), shader.size());
    });
  }
  std::printf("%d kernels, %d faults, %.1f ms, the longest %.1f ms\n", argc - 1, faults, seconds * 1e3, longest * 1e3);
  return faults != 0;
}
