// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/winograd_conv.h"

#include <map>

#include "backends/cpu/kernel_support.h"
#include "backends/cpu/kernels/gemm_conv.h"

namespace minnow::cpu {
namespace {

class WinogradConvTest : public EveryIsa {};

// batch, in, out, groups, in_h, in_w, kernel, stride, dilation, pads: top, left, bottom, right
const std::vector<ConvShape> kWinogradShapes = conv_shapes({
    {1, 16, 16, 1, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},   {1, 16, 32, 1, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {2, 17, 33, 1, 13, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 3, 5, 1, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0},
    {1, 1, 1, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},     {1, 40, 72, 1, 30, 27, 3, 3, 1, 1, 1, 1, 1, 0, 0, 1},
    {3, 64, 64, 1, 15, 9, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2},  {1, 128, 16, 1, 28, 28, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 20, 100, 1, 2, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 8, 8, 1, 5, 6, 3, 3, 1, 1, 1, 1, 0, 2, 1, 0},
    {1, 8, 8, 1, 4, 4, 3, 3, 1, 1, 1, 1, 5, 6, 5, 6},     {1, 16, 32, 1, 14, 14, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {2, 19, 17, 1, 15, 13, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1}, {1, 64, 40, 1, 7, 7, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
    {1, 5, 5, 1, 1, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},     {1, 12, 20, 1, 33, 31, 3, 3, 2, 2, 1, 1, 1, 0, 0, 1},
    {1, 12, 20, 1, 30, 31, 4, 4, 1, 1, 1, 1, 2, 2, 1, 1}, {2, 7, 9, 1, 5, 6, 4, 4, 1, 1, 1, 1, 0, 0, 0, 0},
    {5, 33, 20, 1, 11, 10, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 9, 18, 1, 5, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 9, 18, 1, 27, 21, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},  {2, 20, 33, 1, 9, 11, 2, 2, 1, 1, 1, 1, 1, 0, 0, 1},
    {1, 7, 16, 1, 3, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0},    {1, 40, 9, 1, 16, 14, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 48, 64, 1, 17, 14, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2}, {2, 17, 33, 1, 5, 6, 5, 5, 1, 1, 1, 1, 0, 1, 2, 3},
    {1, 3, 5, 1, 1, 2, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},     {1, 16, 16, 1, 9, 13, 7, 7, 1, 1, 1, 1, 3, 3, 3, 3},
    {1, 24, 40, 1, 11, 17, 1, 7, 1, 1, 1, 1, 0, 3, 0, 3}, {1, 24, 40, 1, 17, 11, 7, 1, 1, 1, 1, 1, 3, 0, 3, 0},
    {2, 19, 7, 1, 3, 8, 1, 3, 1, 1, 1, 1, 0, 1, 0, 1},    {2, 19, 7, 1, 8, 3, 3, 1, 1, 1, 1, 1, 1, 0, 1, 0},
    {1, 40, 33, 1, 1, 50, 1, 5, 1, 1, 1, 1, 0, 4, 0, 0},  {1, 33, 20, 1, 23, 2, 5, 1, 1, 1, 1, 1, 0, 0, 4, 0},
    {1, 5, 9, 1, 1, 1, 1, 7, 1, 1, 1, 1, 0, 3, 0, 3},     {1, 5, 9, 1, 1, 1, 7, 1, 1, 1, 1, 1, 6, 0, 0, 0},
    {1, 9, 18, 1, 7, 10, 3, 5, 1, 1, 1, 1, 1, 2, 1, 2},   {3, 16, 17, 1, 6, 3, 7, 3, 1, 1, 1, 1, 3, 0, 3, 1},
    {1, 9, 18, 1, 5, 9, 1, 3, 2, 2, 1, 1, 0, 1, 0, 1},    {1, 9, 18, 1, 40, 1, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0},
});

std::vector<WinogradForms> all_forms() {
  std::vector<WinogradForms> forms;
  for (size_t i = 0; i < static_cast<size_t>(WinogradForm::count); ++i)
    for (size_t j = 0; j < static_cast<size_t>(WinogradForm::count); ++j)
      if (is_built(static_cast<WinogradForm>(i)) && is_built(static_cast<WinogradForm>(j)))
        forms.emplace_back(static_cast<WinogradForm>(i), static_cast<WinogradForm>(j));
  return forms;
}
std::string name_of_forms(WinogradForms forms) {
  const auto name = [](const WinogradNumbers& n) {
    return "F(" + std::to_string(n.outputs) + "," + std::to_string(n.taps) + ")" + (n.stride == 2 ? " of stride 2" : "");
  };
  return name(numbers_of(forms.down)) + " x " + name(numbers_of(forms.across));
}

// The result of plain loops in f64 for numbers that follow from the shape and `name`, computed once for all forms and instruction sets.
const std::vector<double>& expected(const std::string& name, const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w,
                                    const std::vector<float>& bias) {
  static std::map<std::string, std::vector<double>> known;
  std::vector<double>& want = known[name + describe(s)];
  if (want.empty()) want = convolve(s, x, w, bias);
  return want;
}

TEST_P(WinogradConvTest, agrees_with_plain_loops) {
  const Kernels& kernels = kernels_for(GetParam());
  for (const ConvShape& s : kWinogradShapes) {
    const size_t in = s.in_h * s.in_w, out = s.out_h * s.out_w, depth = s.in_channels * s.taps();
    const std::vector<float> x = random_floats(s.batch * s.in_channels * in, 1);
    const std::vector<float> w = random_floats(s.out_channels * depth, 2, 1 / std::sqrt(float(depth)));
    const std::vector<float> bias = random_floats(s.out_channels, 3), add = random_floats(s.batch * s.out_channels * out, 4);
    const std::vector<double>& want = expected("agrees ", s, x, w, bias);
    const std::vector<float> packed_x = pack(x, s.batch, s.in_channels, in, kernels.lanes);
    const std::vector<float> packed_add = pack(add, s.batch, s.out_channels, out, kernels.lanes);
    for (const WinogradForms& form : all_forms()) {
      if (!WinogradConv::can_serve(s, form)) continue;
      SCOPED_TRACE(describe(s) + ", " + name_of_forms(form));
      std::vector<float> one_thread[2];
      for (bool finished : {false, true})
        for (size_t threads : {1, 2, 3}) {
          const WinogradConv conv(kernels, s,
                                  {form, threads, finished ? size_t{1} << 20 : size_t{1} << 14, finished ? size_t{1} << 25 : 64},
                                  finished ? Epilogue{-0.5f, 1.0f, (*kernels.unary)[Unary::tanh], 0, 0} : Epilogue{});
          std::vector<float> weights(conv.weight_floats()), packed_bias(conv.bias_floats());
          std::vector<float> scratch(conv.scratch_floats(), NAN), shared(conv.shared_floats(), NAN), y(packed_add.size(), -7);
          conv.pack_weights(w.data(), weights.data());
          conv.pack_bias(bias.data(), packed_bias.data());
          const WinogradConv::Arguments arguments{packed_x.data(), weights.data(), packed_bias.data(),
                                                  finished ? packed_add.data() : nullptr, y.data()};
          for (size_t unit = 0; unit < conv.transform_units(); ++unit) conv.transform(unit, arguments, shared.data());
          for (size_t unit = 0; unit < conv.units(); ++unit) conv.run(unit, arguments, shared.data(), scratch.data());
          std::vector<double> finished_want = want;
          if (finished)
            for (size_t i = 0; i < want.size(); ++i) finished_want[i] = std::tanh(std::min(1.0, std::max(-0.5, want[i] + add[i])));
          const std::vector<float> got = unpack(y, s.batch, s.out_channels, out, kernels.lanes);
          const bool many = std::max(numbers_of(form.down).served(), numbers_of(form.across).served()) > 7;
          ASSERT_TRUE(close(got, finished_want, many ? 1e-5 * form.error() : 2e-5));
          if (threads == 1) one_thread[finished] = got;
          ASSERT_EQ(got, one_thread[finished]) << "results depend on the number of threads";
        }
    }
  }
}

// The mean error against double precision, relative to the outputs' size, where `conv` computes `s` in two stages or, as GemmConv, in one.
template <class Conv, class Run>
double mean_error(const Kernels& kernels, const ConvShape& s, const Conv& conv, Run run) {
  const float sigma = 1 / std::sqrt(float(s.in_channels * s.taps()));
  const std::vector<float> x = random_floats(s.in_channels * s.in_h * s.in_w, 1);
  const std::vector<float> w = random_floats(s.out_channels * s.in_channels * s.taps(), 2, sigma);
  const std::vector<double>& want = expected("errors ", s, x, w, {});
  const std::vector<float> packed = pack(x, 1, s.in_channels, s.in_h * s.in_w, kernels.lanes);
  std::vector<float> weights(conv.weight_floats()), scratch(conv.scratch_floats());
  std::vector<float> y(ceil_div(s.out_channels, kernels.lanes) * kernels.lanes * s.out_h * s.out_w);
  conv.pack_weights(w.data(), weights.data());
  for (size_t unit = 0; unit < conv.units(); ++unit)
    run(unit, typename Conv::Arguments{packed.data(), weights.data(), nullptr, nullptr, y.data()}, scratch.data());
  const std::vector<float> got = unpack(y, 1, s.out_channels, s.out_h * s.out_w, kernels.lanes);
  double error = 0, squares = 0;
  for (size_t i = 0; i < want.size(); ++i) error += std::fabs(got[i] - want[i]), squares += want[i] * want[i];
  return error / double(want.size()) / std::sqrt(squares / double(want.size()));
}

// "normal" precision promises at most four times the error of summing directly, also at borders, where fewer points serve. The errors in
// the table of forms must be right within a quarter.
TEST_P(WinogradConvTest, errors_stay_small) {
  const Kernels& kernels = kernels_for(GetParam());
  for (size_t size : {18, 13, 15})
    for (const WinogradForms& form : all_forms()) {
      const WinogradNumbers &down = numbers_of(form.down), &across = numbers_of(form.across);
      if (form.down != form.across && (form.down != WinogradForm::none || across.stride == 2)) continue;
      const bool first_layer = form.down == WinogradForm::four_f4;
      if (form.error() > 3 && !fuses(GetParam())) continue;  // schemes decline there: without fused multiply-adds it is over four times
      const size_t channels = first_layer ? 12 : 64;
      const size_t left = across.taps > 4 ? across.taps / 2 : 1, top = down.taps > 1 ? left : 0;
      const ConvShape s = conv_shapes(
          {{1, channels, 32, 1, size, size, down.taps, across.taps, across.stride, across.stride, 1, 1, top, left, top, left}})[0];
      if (!WinogradConv::can_serve(s, form)) continue;  // of one tap
      const GemmConv direct(kernels, s, {}, {});
      const double plain =
          mean_error(kernels, s, direct, [&](size_t unit, const GemmConv::Arguments& a, float* scratch) { direct.run(unit, a, scratch); });
      for (size_t l3 : {size_t{1} << 25, size_t{1} << 10}) {  // a small one has weights kept as columns
        const WinogradConv conv(kernels, s, {form, 1, 1 << 20, l3}, {});
        const double error = mean_error(
            kernels, s, conv, [&](size_t unit, const WinogradConv::Arguments& a, float* scratch) { conv.run(unit, a, nullptr, scratch); });
        SCOPED_TRACE(name_of_forms(form) + ", size " + std::to_string(size) + (conv.kept_columns()[0] ? ", columns" : ", positions"));
        EXPECT_LT(error, 1.25 * form.error() * plain);
        if (form.error() > 4) continue;  // of precision "low" alone
        EXPECT_LT(error, 4 * plain);
        if (across.taps <= 4) {
          EXPECT_LT(error, first_layer ? 7e-7 : 6e-7);
        }
      }
    }
}

TEST_P(WinogradConvTest, forms_of_kernels) {
  const auto forms_of = [](std::array<size_t, 16> shape, size_t outputs, size_t stride = 1) {
    return WinogradForms::of(conv_shapes({shape})[0], outputs, stride);
  };
  const auto is = [](const std::optional<WinogradForms>& forms, WinogradForm down, WinogradForm across) {
    return forms && forms->down == down && forms->across == across;
  };
  EXPECT_TRUE(is(forms_of({1, 3, 8, 1, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 4), WinogradForm::f4, WinogradForm::f4));
  EXPECT_TRUE(is(forms_of({1, 3, 8, 1, 9, 9, 1, 3, 1, 1, 1, 1, 0, 1, 0, 1}, 2), WinogradForm::none, WinogradForm::f2));
  EXPECT_TRUE(is(forms_of({1, 3, 8, 1, 9, 9, 5, 1, 1, 1, 1, 1, 2, 0, 2, 0}, 2), WinogradForm::five_f2, WinogradForm::none));
  EXPECT_TRUE(is(forms_of({1, 3, 8, 1, 9, 9, 3, 5, 1, 1, 1, 1, 1, 2, 1, 2}, 2), WinogradForm::f2, WinogradForm::five_f2));
  EXPECT_FALSE(forms_of({1, 3, 8, 1, 9, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}, 4));  // nothing to save
  EXPECT_FALSE(forms_of({1, 3, 8, 1, 9, 9, 6, 6, 1, 1, 1, 1, 0, 0, 0, 0}, 2));  // no points
  EXPECT_FALSE(forms_of({1, 3, 8, 1, 9, 9, 3, 3, 1, 2, 1, 1, 1, 1, 1, 1}, 2));  // two strides
  EXPECT_FALSE(forms_of({1, 3, 8, 1, 9, 9, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 2));  // another stride
  EXPECT_FALSE(forms_of({1, 3, 8, 1, 9, 9, 3, 3, 1, 1, 1, 2, 1, 1, 1, 1}, 2));  // dilated
  EXPECT_FALSE(forms_of({1, 4, 8, 2, 9, 9, 1, 3, 1, 1, 1, 1, 0, 1, 0, 1}, 2));  // grouped
}

MINNOW_EVERY_ISA(WinogradConvTest);

}  // namespace
}  // namespace minnow::cpu
