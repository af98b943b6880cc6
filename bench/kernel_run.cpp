// SPDX-License-Identifier: Apache-2.0
// Runs one kernel on made-up data and prints how many multiply-adds a run has, for programs that count what the machine does meanwhile
// (scripts/instruction_counts.py --emulate).
//
// usage: kernel_run KERNEL SIZE RUNS      SIZE: channels of input and output; products of bytes: channels of the input
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "backends/cpu/isa.h"
#include "backends/cpu/kernels/depthwise_conv.h"
#include "backends/cpu/kernels/gemm_conv.h"
#include "backends/cpu/kernels/integer.h"
#include "backends/cpu/kernels/winograd_conv.h"

namespace minnow::cpu {
namespace {

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  uint32_t state = 1;
  for (float& value : values) value = static_cast<float>((state = state * 1664525 + 1013904223) >> 16) / 65536 - 0.5f;
  return values;
}

// An image of 28 x 28.
ConvShape shape_of(size_t channels, size_t kernel, size_t groups) {
  ConvShape s;
  s.in_channels = s.out_channels = channels, s.groups = groups;
  s.in_h = s.in_w = s.out_h = s.out_w = 28;
  s.kernel_h = s.kernel_w = kernel, s.pad_top = s.pad_left = kernel / 2;
  return s;
}
size_t multiply_adds(const ConvShape& s) { return s.out_channels * s.out_h * s.out_w * s.in_channels / s.groups * s.taps(); }

// Shared by all kinds of convolutions: run_once(arguments, scratch). x holds f32 of whole vectors of channels.
template <class Conv, class RunOnce>
size_t run_conv(const ConvShape& s, const Conv& conv, std::vector<float> w, size_t scratch_floats, int runs, RunOnce run_once) {
  const std::vector<float> x = numbers(s.in_channels * s.in_h * s.in_w), bias = numbers(s.out_channels);
  std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats()), y(s.out_channels * s.out_h * s.out_w);
  std::vector<float> scratch(scratch_floats);
  conv.pack_weights(w.data(), weights.data());
  conv.pack_bias(bias.data(), packed_bias.data());
  const typename Conv::Arguments arguments{x.data(), weights.data(), packed_bias.data(), nullptr, y.data()};
  for (int run = 0; run < runs; ++run) run_once(arguments, scratch.data());
  return multiply_adds(s);
}

size_t run_gemm(const Kernels& kernels, size_t channels, size_t kernel, const LowPrecisionKernels* low_precision, int runs) {
  const ConvShape s = shape_of(channels, kernel, 1);
  GemmConv::Options options;
  options.low_precision = low_precision;
  const GemmConv conv(kernels, s, options, {});
  std::vector<float> w = numbers(channels * channels * s.taps());
  return run_conv(s, conv, std::move(w), conv.scratch_floats(), runs, [&](const GemmConv::Arguments& arguments, float* scratch) {
    for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, scratch, unit ? unit - 1 : SIZE_MAX);
  });
}

size_t run_depthwise(const Kernels& kernels, size_t channels, int runs) {
  const ConvShape s = shape_of(channels, 3, channels);
  const DepthwiseConv conv(kernels, s, {}, {});
  return run_conv(s, conv, numbers(channels * 9), conv.scratch_floats(), runs,
                  [&](const DepthwiseConv::Arguments& arguments, float* scratch) {
                    for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, scratch);
                  });
}

size_t run_winograd(const Kernels& kernels, size_t channels, int runs) {
  const ConvShape s = shape_of(channels, 3, 1);
  const WinogradConv conv(kernels, s, {}, {});
  std::vector<float> shared(conv.shared_floats());
  std::vector<float> w = numbers(channels * channels * 9);
  return run_conv(s, conv, std::move(w), conv.scratch_floats(), runs, [&](const WinogradConv::Arguments& arguments, float* scratch) {
    for (size_t unit = 0; unit < conv.transform_units(); ++unit) conv.transform(unit, arguments, shared.data());
    for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, shared.data(), scratch);
  });
}

// One tile of the most rows, requantized to u8.
size_t run_integer(const Kernels& kernels, IntegerForm form, size_t channels, int runs) {
  const IntegerKernels& integer = *kernels.integer;
  const auto rows = static_cast<size_t>(most_rows(integer, form));
  const size_t lanes = kernels.lanes, outputs = 2 * lanes, groups = groups_of(form, channels);
  const size_t row_bytes = form == IntegerForm::matrices ? group_bytes(form) : groups * group_bytes(form);
  const std::vector<uint8_t> x(groups * (rows + 2) * group_bytes(form), 3), w(groups * outputs * group_bytes(form), 2);
  const std::vector<int32_t> bias(outputs, 5);
  const std::vector<float> multiplier(outputs, 0.01f);
  std::vector<uint8_t> y(rows * outputs);
  const ptrdiff_t tap = 0;
  const size_t half = (rows + 1) / 2;
  IntegerTile t{};
  t.x[0] = x.data(), t.x[1] = x.data() + half * row_bytes;
  t.taps = &tap, t.groups = groups;
  t.row_stride = static_cast<ptrdiff_t>(row_bytes), t.group_stride = static_cast<ptrdiff_t>((rows + 2) * row_bytes);
  t.w = w.data(), t.bias = bias.data(), t.multiplier = multiplier.data();
  t.high = 255;
  t.y[0] = y.data(), t.y[1] = y.data() + half * outputs;
  t.pixel_stride = static_cast<ptrdiff_t>(outputs), t.vector_stride = static_cast<ptrdiff_t>(lanes);
  t.rows = rows;
  const IntegerTiles tiles(integer, form);
  for (int run = 0; run < runs; ++run) tiles.run(t);
  return rows * outputs * channels;
}

/// Multiply-adds of one run; 0: this machine has no such kernel.
size_t run(std::string_view kernel, size_t size, int runs) {
  const Kernels& kernels = kernels_for(available_isas().back());
  const auto run_form = [&](IntegerForm form) { return cpu::runs(*kernels.integer, form) ? run_integer(kernels, form, size, runs) : 0; };
  if (kernel == "f32") return run_gemm(kernels, size, 1, nullptr, runs);
  if (kernel == "f32-3x3") return run_gemm(kernels, size, 3, nullptr, runs);
  if (kernel == "bf16") return has_bf16_products() ? run_gemm(kernels, size, 1, &kernels.bf16->direct, runs) : 0;
  if (kernel == "f16") return has_f16_products() ? run_gemm(kernels, size, 1, &kernels.f16->direct, runs) : 0;
  if (kernel == "i8-amx") return run_form(IntegerForm::amx);
  if (kernel == "i8-matrices") return run_form(IntegerForm::matrices);
  if (kernel == "i8-dot") return run_form(IntegerForm::bytes);
  if (kernel == "i8-words") return run_form(IntegerForm::words);
  if (kernel == "depthwise") return run_depthwise(kernels, size, runs);
  if (kernel == "winograd") return run_winograd(kernels, size, runs);
  std::fprintf(stderr, "kernel_run: no kernel %.*s\n", static_cast<int>(kernel.size()), kernel.data());
  std::exit(2);
}

}  // namespace
}  // namespace minnow::cpu

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: kernel_run KERNEL SIZE RUNS\n", stderr);
    return 2;
  }
  std::printf("%zu\n", minnow::cpu::run(argv[1], std::strtoul(argv[2], nullptr, 10), std::atoi(argv[3])));
}
