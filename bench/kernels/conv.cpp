// SPDX-License-Identifier: Apache-2.0
// Convolutions of well-known networks by every kernel that can serve them. Counters: GFLOP/s of the direct computation.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "backends/cpu/kernels/depthwise_conv.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/strassen_conv.h"
#include "backends/cpu/kernels/stride2_conv.h"
#include "backends/cpu/kernels/winograd_conv.h"
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
    {"48x35->64 5x5", 48, 64, 35, 5, 1, 2},
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

// Cold: the weights of many layers in turn, so that they come from memory, as in a network.
template <class Conv, class Run>
void measure(benchmark::State& state, const Conv& conv, const ConvShape& s, size_t lanes, Run run) {
  const size_t copies = state.range(0) ? (64u << 18) / conv.weight_floats() + 1 : 1;
  Memory x(ceil_div(s.in_channels, lanes) * lanes * s.in_h * s.in_w), y(ceil_div(s.out_channels, lanes) * lanes * s.out_h * s.out_w);
  Memory w(conv.weight_floats() * copies), bias(conv.bias_floats()), scratch(conv.scratch_floats() + 16);
  size_t turn = 0;
  for (auto _ : state) {
    const typename Conv::Arguments arguments{x.data, w.data + turn * conv.weight_floats(), bias.data, nullptr, y.data};
    for (size_t unit = 0; unit < conv.units(); ++unit) run(unit, arguments, scratch.data);
    turn = (turn + 1) % copies;
  }
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * double(s.out_channels * s.out_h * s.out_w * s.in_channels / s.groups * s.taps()),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

Epilogue relu() {
  Epilogue epilogue;
  epilogue.low = 0;
  return epilogue;
}

void gemm_conv(benchmark::State& state, const Layer& layer, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  const ConvShape s = shape_of(layer);
  GemmConv::Options options;
  options.plain_input = layer.plain;
  const GemmConv conv(kernels, s, options, relu());
  measure(state, conv, s, kernels.lanes, [&](size_t unit, const GemmConv::Arguments& a, float* scratch) { conv.run(unit, a, scratch); });
}

void depthwise_conv(benchmark::State& state, const Layer& layer, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  ConvShape s = shape_of(layer);
  s.groups = s.in_channels;
  const DepthwiseConv conv(kernels, s, {}, relu());
  measure(state, conv, s, kernels.lanes,
          [&](size_t unit, const DepthwiseConv::Arguments& a, float* scratch) { conv.run(unit, a, scratch); });
}

void winograd_conv(benchmark::State& state, const Layer& layer, Isa isa, WinogradForms form) {
  const Kernels& kernels = kernels_for(isa);
  const ConvShape s = shape_of(layer);
  const WinogradConv conv(kernels, s, {form, 1, 1 << 20}, relu());
  measure(state, conv, s, kernels.lanes,
          [&](size_t unit, const WinogradConv::Arguments& a, float* scratch) { conv.run(unit, a, nullptr, scratch); });
}

void strassen_conv(benchmark::State& state, const Layer& layer, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  const ConvShape s = shape_of(layer);
  const StrassenConv conv(kernels, s, relu(), {1, false, 1, true});
  measure(state, conv, s, kernels.lanes,
          [&](size_t unit, const StrassenConv::Arguments& a, float* scratch) { conv.run(unit, a, scratch, unit ? unit - 1 : SIZE_MAX); });
}

void winograd_first_layer(benchmark::State& state, const Layer& layer, Isa isa) {
  const Kernels& kernels = kernels_for(isa);
  const ConvShape s = shape_of(layer);
  const Stride2Conv conv(kernels, s, {*Stride2Conv::form_of(s), 1, 1 << 20}, relu());
  Memory blocks(conv.blocks_floats());
  measure(state, conv.conv(), s, kernels.lanes, [&](size_t unit, WinogradConv::Arguments a, float* scratch) {
    if (unit == 0)
      for (size_t i = 0; i < conv.gather_units(); ++i) conv.gather(i, a.x, blocks.data);
    a.x = blocks.data;
    conv.conv().run(unit, a, nullptr, scratch);
  });
}

constexpr Layer kDepthwise[] = {{"32x112", 32, 32, 112, 3, 1, 1},         {"64x112 s2", 64, 64, 112, 3, 2, 1},
                                {"128x56", 128, 128, 56, 3, 1, 1},        {"128x56 s2", 128, 128, 56, 3, 2, 1},
                                {"256x28", 256, 256, 28, 3, 1, 1},        {"512x14", 512, 512, 14, 3, 1, 1},
                                {"1024x7", 1024, 1024, 7, 3, 1, 1},       {"240x14 5x5", 240, 240, 14, 5, 1, 2},
                                {"240x28 5x5 s2", 240, 240, 28, 5, 2, 2}, {"96x56 7x7", 96, 96, 56, 7, 1, 3}};

const bool registered = [] {
  const auto add = [](const std::string& name, auto... arguments) {
    benchmark::RegisterBenchmark(name.c_str(), arguments...)->ArgName("cold")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);
  };
  for (Isa isa : available_isas()) {
    const std::string set = std::string(name_of(isa)) + "/";
    for (const Layer& layer : kLayers) {
      add("gemm_conv/" + set + layer.name, gemm_conv, layer, isa);
      for (size_t outputs : {2, 3, 4, 6}) {
        const std::optional<WinogradForms> form = WinogradForms::of(shape_of(layer), outputs, layer.stride);
        const std::string name = (layer.stride == 2 ? "winograd_stride2_f" : "winograd_f") + std::to_string(outputs) + "/";
        if (!layer.plain && form) add(name + set + layer.name, winograd_conv, layer, isa, *form);
      }
    }
    for (const Layer& layer : kLayers) {
      const ConvShape s = shape_of(layer);
      if (!layer.plain && StrassenConv::can_serve(s, kernels_for(isa).lanes))
        add("strassen_conv/" + set + layer.name, strassen_conv, layer, isa);
      if (layer.plain && Stride2Conv::form_of(s)) add("winograd_first_layer/" + set + layer.name, winograd_first_layer, layer, isa);
    }
    for (const Layer& layer : kDepthwise) add("depthwise_conv/" + set + layer.name, depthwise_conv, layer, isa);
  }
  return true;
}();
}  // namespace
