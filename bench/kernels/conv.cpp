// SPDX-License-Identifier: Apache-2.0
// Convolutions of well-known networks by every kernel that can serve them. Counters: GFLOP/s of the direct computation.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/cpu/kernels/gemm_conv.h"
#include "base/memory.h"

namespace {
using namespace minnow;
using namespace minnow::cpu;

struct Layer {
  const char* name;
  size_t in, out, size, kernel, stride, pad;
  bool plain = false;
};
constexpr Layer kLayers[] = {
    {"16x112->96", 16, 96, 112, 1, 1, 0},
    {"32x112->64", 32, 64, 112, 1, 1, 0},
    {"64x56->128", 64, 128, 56, 1, 1, 0},
    {"128x28->256", 128, 256, 28, 1, 1, 0},
    {"256x28->256", 256, 256, 28, 1, 1, 0},
    {"512x14->512", 512, 512, 14, 1, 1, 0},
    {"512x7->1024", 512, 1024, 7, 1, 1, 0},
    {"1024x7->1024", 1024, 1024, 7, 1, 1, 0},
    {"512x13->64", 512, 64, 13, 1, 1, 0},
    {"128x55->16", 128, 16, 55, 1, 1, 0},
    {"64x56->128 s2", 64, 128, 56, 1, 2, 0},
    {"64x56->64 3x3", 64, 64, 56, 3, 1, 1},
    {"128x28->128 3x3", 128, 128, 28, 3, 1, 1},
    {"256x14->256 3x3", 256, 256, 14, 3, 1, 1},
    {"512x7->512 3x3", 512, 512, 7, 3, 1, 1},
    {"16x55->64 3x3", 16, 64, 55, 3, 1, 1},
    {"64x13->256 3x3", 64, 256, 13, 3, 1, 1},
    {"64x56->128 3x3 s2", 64, 128, 56, 3, 2, 1},
    {"128x28->256 3x3 s2", 128, 256, 28, 3, 2, 1},
    {"256x14->512 3x3 s2", 256, 512, 14, 3, 2, 1},
    {"3x224->32 3x3 s2", 3, 32, 224, 3, 2, 1, true},
    {"3x224->64 3x3 s2", 3, 64, 224, 3, 2, 0, true},
    {"3x224->64 7x7 s2", 3, 64, 224, 7, 2, 3, true},
};

struct Memory {
  explicit Memory(size_t floats) : owner(allocate_aligned(floats * sizeof(float))), data(static_cast<float*>(owner.get())) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (size_t i = 0; i < floats; ++i) data[i] = uniform(generator);
  }
  AlignedMemory owner;
  float* data;
};

ConvShape shape_of(const Layer& l) {
  ConvShape s;
  s.in_channels = l.in, s.out_channels = l.out, s.in_h = s.in_w = l.size, s.kernel_h = s.kernel_w = l.kernel;
  s.stride_h = s.stride_w = l.stride, s.pad_top = s.pad_left = l.pad;
  s.out_h = s.out_w = (l.size + 2 * l.pad - l.kernel) / l.stride + 1;
  return s;
}

void gemm_conv(benchmark::State& state, const Layer& layer, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  const ConvShape s = shape_of(layer);
  GemmConv::Options options;
  options.plain_input = layer.plain;
  Epilogue epilogue;
  epilogue.low = 0;
  const GemmConv conv(kernels, s, options, epilogue);
  const size_t lanes = kernels.lanes, copies = state.range(0) ? (64u << 18) / conv.weight_floats() + 1 : 1;
  Memory x(ceil_div(s.in_channels, lanes) * lanes * s.in_h * s.in_w), y(ceil_div(s.out_channels, lanes) * lanes * s.out_h * s.out_w);
  Memory w(conv.weight_floats() * copies), bias(conv.bias_floats()), scratch(conv.scratch_floats() + 16);
  size_t turn = 0;
  for (auto _ : state) {
    for (size_t unit = 0; unit < conv.units(); ++unit)
      conv.run(unit, {x.data, w.data + turn * conv.weight_floats(), bias.data, nullptr, y.data}, scratch.data);
    turn = (turn + 1) % copies;
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * double(s.out_channels * s.out_h * s.out_w * s.in_channels * s.taps()),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

const bool registered = [] {
  for (Isa isa : available_isas())
    for (const Layer& layer : kLayers)
      benchmark::RegisterBenchmark((std::string("gemm_conv/") + std::string(name_of(isa)) + "/" + layer.name).c_str(), gemm_conv, layer,
                                   isa)
          ->ArgName("cold")
          ->Arg(0)
          ->Unit(benchmark::kMicrosecond);
  return true;
}();
}  // namespace
