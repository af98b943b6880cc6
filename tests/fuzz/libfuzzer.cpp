// SPDX-License-Identifier: Apache-2.0
// The libFuzzer target of all formats; the environment variable FUZZ_FORMAT names one.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/complete_path.h"

using namespace minnow::fuzz;

namespace {

const Target& target() {
  static const Target& chosen = [&]() -> const Target& {
    const char* format = std::getenv("FUZZ_FORMAT");
    return find_target(format ? format : "onnx");
  }();
  return chosen;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Random random(seed);
  if (random.one_in(16)) return LLVMFuzzerMutate(data, size, max_size);
  const std::string made = target().mutate(std::string(reinterpret_cast<const char*>(data), size), random);
  if (made.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, made.data(), made.size());
  return made.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    run_complete_path(target(), {reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  return 0;
}
