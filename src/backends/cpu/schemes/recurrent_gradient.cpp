// SPDX-License-Identifier: Apache-2.0
// Back through the steps of an LSTM: the gates of all steps are computed first, where the gradients of their sums will be.
#include <algorithm>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"

namespace minnow::cpu {

#if MINNOW_GRADIENTS

namespace {

Estimate estimate(const NodeView& node, const Device& device) {
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && node.input_dtype(i) != DType::f32) return declined("the dtype is {}, not f32", node.input_dtype(i));
  const double sums = static_cast<double>(node.input_shape(0).elements());
  if (sums == 0) return declined("a tensor is empty");
  Estimate estimate(device.flop_time(2 * sums * static_cast<double>(node.input_shape(1)[1]), 0.7) + device.flop_time(sums * 30) +
                    device.byte_time(16 * sums) + static_cast<double>(node.input_shape(0)[0]) * 2e-6);
  estimate.overwrites = 0;
  return estimate;
}

class LstmGradientKernel final : public Kernel {
 public:
  explicit LstmGradientKernel(PrepareContext& context)
      : kernels_(*cpu_device(context.device()).kernels),
        length_(static_cast<size_t>(context.node().input_shape(0)[0])),
        batch_(static_cast<size_t>(context.node().input_shape(0)[1])),
        hidden_(static_cast<size_t>(context.node().input_shape(1)[1])),
        product_(kernels_, {batch_, 4 * hidden_, hidden_, false, false},
                 MatMul::Options{static_cast<size_t>(context.device().threads), context.device().l2}, Epilogue{}) {
    const auto reserve = [&](size_t floats) { return context.reserve_scratch(product_of({floats, sizeof(float)})); };
    weights_ = reserve(product_.packed_b_floats());
    cells_ = reserve(product_of({length_ + 1, batch_, hidden_}));
    of_h_ = reserve(product_of({batch_, hidden_}));
    of_c_ = reserve(product_of({batch_, hidden_}));
    units_.reserve(context, product_.units(), product_.scratch_floats());
  }

  void run(RunContext& context) noexcept override {
    const size_t state = batch_ * hidden_;
    float *const weights = context.scratch_at<float>(weights_), *const cells = context.scratch_at<float>(cells_),
                 *const gates = context.out<float>(0), *const of_h = context.scratch_at<float>(of_h_),
                 *const of_c = context.scratch_at<float>(of_c_);
    const float *const sums = context.in<float>(0), *const g = context.in<float>(2);
    context.parallel_for(product_.panels(), [&](size_t panel) { product_.pack_b(panel, context.in<float>(1), 1, weights); });
    const auto begin = [&](float* to, size_t input) {
      if (context.has_input(input))
        std::copy_n(context.in<float>(input), state, to);
      else
        std::fill_n(to, state, 0.0f);
    };
    begin(cells, 3), begin(of_c, 5);
    // Sequences do not meet here.
    constexpr size_t kEach = 4;
    const auto share_out = [&](auto&& body) {
      context.parallel_for(ceil_div(batch_, kEach), [&](size_t task) {
        for (size_t b = task * kEach; b < std::min(batch_, (task + 1) * kEach); ++b) body(b);
      });
    };
    const auto cell = [&](size_t t, size_t b) {
      const size_t row = t * batch_ + b;
      return LstmBack{gates + row * 4 * hidden_, cells + row * hidden_, cells + (row + batch_) * hidden_,
                      of_h + b * hidden_,        of_c + b * hidden_,    hidden_};
    };
    share_out([&](size_t b) {
      for (size_t t = 0; t < length_; ++t)
        kernels_.recurrent->lstm_gates(cell(t, b), sums + (t * batch_ + b) * 4 * hidden_, cells + ((t + 1) * batch_ + b) * hidden_);
    });
    const float* last = g + (length_ - 1) * state;
    for (size_t i = 0; i < state; ++i) of_h[i] = last[i] + (context.has_input(4) ? context.in<float>(4)[i] : 0);
    for (size_t t = length_; t-- > 0 && !Watch::stopping();) {
      share_out([&](size_t b) { kernels_.recurrent->lstm_back(cell(t, b)); });
      if (t == 0 && !context.has_output(1)) break;
      units_.run(context, [&](size_t unit, float* scratch, size_t before) {
        product_.run(
            unit, {gates + t * batch_ * 4 * hidden_, weights, nullptr, t ? g + (t - 1) * state : nullptr, t ? of_h : context.out<float>(1)},
            scratch, before);
      });
    }
    if (context.has_output(2)) std::copy_n(of_c, state, context.out<float>(2));
  }

 private:
  const Kernels& kernels_;
  size_t length_, batch_, hidden_;
  MatMul product_;
  size_t weights_, cells_, of_h_, of_c_;  // of scratch
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<LstmGradientKernel>(context); }

constexpr Scheme kSchemes[] = {{"minnow.LstmCellGradient", "lstm_gradient", estimate, prepare}};

}  // namespace

std::span<const Scheme> lstm_gradient_schemes() { return selected<kSchemes>(); }

#endif

}  // namespace minnow::cpu
