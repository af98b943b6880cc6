// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include <cstdlib>
#include <optional>

#include "backends/cpu/kernels/targets.h"
#include "base/error.h"
#include "base/os.h"

namespace minnow::cpu {
namespace {

struct Row {
  Isa isa;
  std::string_view name;
  int lanes;
};
constexpr Row kRows[] = {
    {Isa::sse4, "sse4", 4}, {Isa::avx2, "avx2", 8}, {Isa::avx3, "avx3", 16}, {Isa::neon, "neon", 4}, {Isa::simd128, "simd128", 4}};

const Row& row_of(Isa isa) { return kRows[static_cast<size_t>(isa)]; }

#if HWY_ARCH_X86
// The instructions that each target's code may use: the target attributes that Highway compiles it with.
bool runs_sse4() {
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("aes");
}
bool runs_avx2() {  // f16c, which clang 14 cannot ask for, is older than AVX2
  return runs_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}
[[maybe_unused]] bool runs_avx3() {  // unused in a build for one instruction set
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw");
}
#endif

constexpr std::string_view kAvx2Vnni = "avx2_vnni";
const char* environment() {
  const char* name = std::getenv("MINNOW_ISA");
  return name ? name : "";
}

Isa parse(std::string_view name, std::string_view where) {
  if (name == kAvx2Vnni) return Isa::avx2;
  for (const Row& row : kRows)
    if (row.name == name) return row.isa;
  throw InvalidArgument("{} should be sse4, avx2, avx2_vnni, avx3, neon or simd128, it is \"{}\"", where, name);
}

}  // namespace

std::string_view name_of(Isa isa) noexcept { return row_of(isa).name; }
int lanes_of(Isa isa) noexcept { return row_of(isa).lanes; }

bool may_use_avx_vnni() noexcept {
  static const bool may = os::has_avx_vnni() && name_of(Isa::avx2) != environment();
  return may;
}

bool is_double_pumped([[maybe_unused]] Isa isa) noexcept {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  return isa == Isa::avx3 && __builtin_cpu_is("amdfam19h");
#else
  return false;
#endif
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
#if HWY_ARCH_X86
  __builtin_cpu_init();
#if HWY_TARGETS & HWY_SSE4
  if (runs_sse4()) found.push_back(Isa::sse4);
#endif
#if HWY_TARGETS & HWY_AVX2
  if (runs_avx2()) found.push_back(Isa::avx2);
#endif
#if HWY_TARGETS & HWY_AVX3
  if (runs_avx3()) found.push_back(Isa::avx3);
#endif
#elif HWY_TARGETS & HWY_NEON
  found.push_back(Isa::neon);
#elif HWY_TARGETS & HWY_WASM
  found.push_back(Isa::simd128);
#endif
  return found;
}

Isa best_isa(std::string_view cap) {
  const std::string_view allowed = environment();
  std::optional<Isa> most;
  if (!cap.empty()) most = parse(cap, "the option isa");
  if (!allowed.empty()) {
    const Isa isa = parse(allowed, "the environment variable MINNOW_ISA");
    if (!most || isa < *most) most = isa;
  }
  const std::vector<Isa> all = available_isas();
  for (size_t i = all.size(); i-- > 0;)
    if (!most || all[i] <= *most) return all[i];
  throw Unsupported("this machine has no instruction set that the cpu backend was built for{}{}", most ? ", up to " : "",
                    most ? name_of(*most) : "");
}

}  // namespace minnow::cpu
