// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform, whole and in frames.
#include <cmath>
#include <complex>
#include <numbers>

#include "base/numeric.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

using Complex = std::complex<double>;

constexpr Attribute<bool> kInverse{"inverse", false, MINNOW_DOC("from frequencies back to the signal")};
constexpr Attribute<bool> kOneSided{
    "onesided", false, MINNOW_DOC("keeps the first half of the spectrum of a real signal; inverse: takes it and gives a real signal")};
constexpr Attribute<bool> kStftOneSided{"onesided", true, MINNOW_DOC("keeps the first half of the spectrum of a real signal")};

size_t size(int64_t n) { return static_cast<size_t>(n); }

/// Transforms of one length.
class Fourier {
 public:
  [[gnu::noinline]] Fourier(int64_t length, bool inverse) : length_(size(length)), roots_(length_) {
    for (size_t i = 0; i < length_; ++i) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length_);
      roots_[i] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
    }
  }
  void operator()(const std::vector<Complex>& from, std::vector<Complex>& to) const {
    to.resize(length_);
    transform(from.data(), 1, to.data(), length_);
  }

 private:
  // Halves while the length is even (Cooley, Tukey 1965) and sums up what is left: `count` elements of x, `step` apart.
  [[gnu::noinline]] void transform(const Complex* x, size_t step, Complex* y, size_t count) const {
    if (count % 2 != 0) {
      Pace pace;
      for (size_t k = 0; k < count; ++k, pace.step(count)) {
        Complex sum = 0;
        for (size_t i = 0, place = 0; i < count; ++i) {
          sum += x[i * step] * roots_[place * step];
          if ((place += k) >= count) place -= count;
        }
        y[k] = sum;
      }
      return;
    }
    const size_t half = count / 2;
    if (half == 0) return;
    transform(x, 2 * step, y, half);
    transform(x + step, 2 * step, y + half, half);
    for (size_t k = 0; k < half; ++k) {
      const Complex even = y[k], odd = y[half + k] * roots_[k * step];
      y[k] = even + odd;
      y[half + k] = even - odd;
    }
  }

  size_t length_;
  std::vector<Complex> roots_;
};

/// The shape rule of DFT.
struct DftSizes {
  size_t axis;
  Size length;  // of the transform
  Sizes result;
  bool inverse, one_sided;

  static DftSizes of(const NodeView& node) {
    DftSizes plan;
    const Sizes x = node.input_sizes(0);
    if (x.rank() < 2 || (differ(x.back(), 1) && differ(x.back(), 2)))
      node.fail("the last dimension should be 1 (real) or 2 (real and imaginary part), the shape is {}", x);
    plan.axis = node.normalize_axis(node.has_input(2) ? node.int_scalar(2) : -2, x.rank());
    if (plan.axis == x.rank() - 1) node.fail("the last dimension holds real and imaginary parts and cannot be transformed");
    plan.inverse = node.attribute(kInverse), plan.one_sided = node.attribute(kOneSided);
    plan.length = x[plan.axis];
    if (plan.inverse && plan.one_sided) plan.length = (plan.length - 1) * 2;
    if (node.has_input(1)) plan.length = node.size_scalar(1);
    if (less(plan.length, 1)) node.fail("a transform of length {} is not possible", plan.length);
    plan.result = x;
    plan.result[plan.axis] = plan.one_sided && !plan.inverse ? divide_down(plan.length, 2) + 1 : plan.length;
    plan.result[x.rank() - 1] = plan.inverse && plan.one_sided ? 1 : 2;
    return plan;
  }
};

struct DftPlan {
  size_t axis;
  int64_t length;
  Shape result;
  bool inverse, one_sided;

  static DftPlan of(const NodeView& node) {
    const DftSizes sizes = DftSizes::of(node);
    return {sizes.axis, sizes.length.number(), sizes.result.shape(), sizes.inverse, sizes.one_sided};
  }
};

Shapes dft_shape(const NodeView& node) {
  // While types are inferred with symbols, the axis may be unknown.
  if (node.has_input(2) && !node.knows_contents(2)) return {Sizes::filled(node.input_sizes(0).rank(), Size::unknown())};
  return {DftSizes::of(node).result};
}

void dft(const NodeView& node, KernelArgs& args) {
  const DftPlan plan = DftPlan::of(node);
  const Shape& shape = args.input(0).shape();
  const Numbers<double> x = args.reals(0);
  Numbers<double> y(size(plan.result.elements()));
  if (y.empty()) return;
  const int64_t parts = shape.back(), kept = plan.result.back(), inner = shape.product(plan.axis + 1, shape.rank() - 1),
                known = shape[plan.axis], made = plan.result[plan.axis];
  const bool half_known = plan.inverse && plan.one_sided;  // the rest mirrors it
  const int64_t taken = std::min(known, half_known ? plan.length / 2 + 1 : plan.length);
  const Fourier transform(plan.length, plan.inverse);
  std::vector<Complex> line(size(plan.length)), spectrum;
  for (int64_t outer = 0; outer < shape.product(0, plan.axis); ++outer)
    for (int64_t i = 0; i < inner; ++i) {
      std::fill(line.begin(), line.end(), Complex());
      for (int64_t k = 0; k < taken; ++k) {
        const double* at = x.data() + ((outer * known + k) * inner + i) * parts;
        line[size(k)] = {at[0], parts == 2 ? at[1] : 0};
        if (half_known && k > 0) line[size(plan.length - k)] = std::conj(line[size(k)]);
      }
      if (half_known) {  // these two mirror themselves, so that they can only be real
        line[0] = line[0].real();
        if (plan.length % 2 == 0 && taken > plan.length / 2)
          line[size(plan.length / 2)] = x[size(((outer * known + plan.length / 2) * inner + i) * parts)];
      }
      transform(line, spectrum);
      const double scale = plan.inverse ? 1 / static_cast<double>(plan.length) : 1;
      for (int64_t k = 0; k < made; ++k) {
        double* to = y.data() + ((outer * made + k) * inner + i) * kept;
        to[0] = spectrum[size(k)].real() * scale;
        if (kept == 2) to[1] = spectrum[size(k)].imag() * scale;
      }
    }
  args.write(0, y);
}

/// The shape rule of STFT.
struct StftSizes {
  Size batch, samples, parts, step, frame, frames, bins;

  static StftSizes of(const NodeView& node) {
    StftSizes plan;
    const Sizes x = node.input_sizes(0);
    const bool plain = x.rank() == 2;  // a real signal as exporters write it
    if (!plain && (x.rank() != 3 || (differ(x[2], 1) && differ(x[2], 2))))
      node.fail("the signal should have shape [batch, length, 1 or 2] or [batch, length], it has {}", x);
    plan.batch = x[0], plan.samples = x[1], plan.parts = plain ? Size(1) : x[2];
    plan.step = node.size_scalar(1);
    if (less(plan.step, 1)) node.fail("frame_step is {}", plan.step);
    const auto window = node.known_sizes(2);
    if (window && window->rank() != 1) node.fail("the window should have rank 1, it has shape {}", *window);
    if (!node.has_input(2) && !node.has_input(3)) node.fail("neither a window nor frame_length is given");
    plan.frame = node.has_input(3) ? node.size_scalar(3) : Size::unknown();
    if (window && differ((*window)[0], plan.frame)) node.fail("the window has {} elements, frames have {}", (*window)[0], plan.frame);
    if (window && !plan.frame.is_number()) plan.frame = (*window)[0];
    if (less(plan.frame, 1) || less(plan.samples, plan.frame))
      node.fail("frames of {} do not fit a signal of {}", plan.frame, plan.samples);
    plan.frames = divide_down(plan.samples - plan.frame, plan.step) + 1;
    plan.bins = node.attribute(kStftOneSided) ? divide_down(plan.frame, 2) + 1 : plan.frame;
    return plan;
  }
};

Shapes stft_shape(const NodeView& node) {
  const StftSizes plan = StftSizes::of(node);
  return {Sizes{plan.batch, plan.frames, plan.bins, 2}};
}

struct StftPlan {
  int64_t batch, samples, parts, step, frame, frames, bins;

  static StftPlan of(const NodeView& node) {
    const StftSizes s = StftSizes::of(node);
    return {s.batch.number(), s.samples.number(), s.parts.number(), s.step.number(), s.frame.number(), s.frames.number(), s.bins.number()};
  }
};

void stft(const NodeView& node, KernelArgs& args) {
  const StftPlan plan = StftPlan::of(node);
  const Numbers<double> x = args.reals(0), window = args.has_input(2) ? args.reals(2) : Numbers<double>(size(plan.frame), 1.0);
  Numbers<double> y(size(args.output(0).elements()));
  const Fourier transform(plan.frame, false);
  std::vector<Complex> frame(size(plan.frame)), spectrum;
  double* to = y.data();
  for (int64_t b = 0; b < plan.batch; ++b)
    for (int64_t f = 0; f < plan.frames; ++f) {
      const double* from = x.data() + (b * plan.samples + f * plan.step) * plan.parts;
      for (int64_t i = 0; i < plan.frame; ++i, from += plan.parts)
        frame[size(i)] = window[size(i)] * Complex(from[0], plan.parts == 2 ? from[1] : 0);
      transform(frame, spectrum);
      for (int64_t k = 0; k < plan.bins; ++k) {
        *to++ = spectrum[size(k)].real();
        *to++ = spectrum[size(k)].imag();
      }
    }
  args.write(0, y);
}

#if MINNOW_GRADIENTS

/// x cut or filled with zeros from `from` to `to` places along an axis.
Expr fitted(const Expr& x, int64_t axis, int64_t from, int64_t to) {
  GraphBuilder& b = x.builder();
  if (from > to) return b.op("Slice", {x, b.constant({0}), b.constant({to}), b.constant({axis})});
  if (from < to) return b.op("Pad", {x, b.constant({int64_t{0}, to - from}), Expr(), b.constant({axis})});
  return x;
}

/// The transposed transform: that of the other direction, where real numbers stand for pairs.
Exprs dft_gradient(const GradientContext& c) {
  if (!c.knows_shape(0)) throw Unsupported("{}: the gradient of DFT needs the shape of its input before the run", c.node.where());
  const DftPlan plan = DftPlan::of(c.node);
  const Shape& shape = c.node.input_shape(0);
  GraphBuilder& b = c.builder;
  const int64_t axis = static_cast<int64_t>(plan.axis), last = static_cast<int64_t>(shape.rank()) - 1;
  const bool half_known = plan.inverse && plan.one_sided;
  const double length = static_cast<double>(plan.length);
  Expr made = b.op("DFT", {c.output_gradient(0), b.scalar(length, DType::i64), b.scalar(static_cast<double>(axis), DType::i64)},
                   {{"inverse", int64_t{!plan.inverse}}, {"onesided", int64_t{half_known}}});
  int64_t places = plan.length;
  if (half_known) {
    // All but the ends stand for two places that mirror each other; the ends are real.
    places = plan.length / 2 + 1;
    Shape weights(std::vector<int64_t>(shape.rank(), 1));
    weights[plan.axis] = places;
    weights[shape.rank() - 1] = 2;
    Numbers<double> values(size(2 * places), 2 / length);
    for (int64_t k = 0; k < places; ++k)
      if (k == 0 || 2 * k == plan.length) values[size(2 * k)] = 1 / length, values[size(2 * k + 1)] = 0;
    Tensor tensor(c.node.input_dtype(0), weights);
    narrow(tensor.dtype(), values.data(), values.size(), tensor.writable().data());
    made = made * b.constant(std::move(tensor));
  } else {
    made = plan.inverse ? made / length : made * length;
  }
  made = fitted(made, axis, places, shape[plan.axis]);
  Exprs gradients(c.inputs.size());
  gradients[0] = fitted(made, last, 2, shape.back());
  return gradients;
}

/// Frames, multiplied by the window, and their transforms.
Exprs stft_parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const StftPlan plan = StftPlan::of(node);
  const Expr signal = b.op("Reshape", {in[0], b.constant({plan.batch, plan.samples, plan.parts})}, {{"allowzero", int64_t{1}}});
  Tensor places(DType::i64, Shape{plan.frames, plan.frame});
  for (int64_t f = 0; f < plan.frames; ++f)
    for (int64_t i = 0; i < plan.frame; ++i) places.writable().data<int64_t>()[f * plan.frame + i] = f * plan.step + i;
  Expr frames = b.op("Gather", {signal, b.constant(std::move(places))}, {{"axis", int64_t{1}}});
  if (node.has_input(2)) frames = frames * b.op("Unsqueeze", {in[2], b.constant({-1})});
  return {b.op("DFT", {frames, Expr(), b.scalar(2, DType::i64)}, {{"onesided", int64_t{node.attribute(kStftOneSided)}}})};
}

#endif

constexpr List<Operator> definitions() {
  return {
      {.name = "DFT",
       .since = 20,
       .doc = MINNOW_DOC("The discrete Fourier transform along one axis; the signal is cut or filled with zeros to dft_length. The last "
                         "dimension holds a real "
                         "number, or real and imaginary part. The inverse is divided by the length."),
       .inputs = {{"input", kFloats}, {"dft_length", kIndex, kOptional}, {"axis", kI64, kOptional}},
       .outputs = {{"output", same_as("input")}},
       .attributes = {kInverse, kOneSided},
       .infer_shapes = dft_shape,
       .reference = dft,
       .gradient = MINNOW_GRADIENT(dft_gradient)},
      {.name = "STFT",
       .since = 17,
       .doc = MINNOW_DOC("Fourier transforms of frames of a signal, each multiplied by a window: [batch, frames, frequencies, 2]."),
       .inputs = {{"signal", kFloats},
                  {"frame_step", kIndex},
                  {.name = "window", .dtypes = kFloats, .arity = kOptional, .like = "signal"},
                  {"frame_length", kIndex, kOptional}},
       .outputs = {{"output", same_as("signal")}},
       .attributes = {kStftOneSided},
       .infer_shapes = stft_shape,
       .reference = stft,
       .gradient = MINNOW_GRADIENT(parts_gradient<stft_parts>)},
  };
}

}  // namespace

std::span<const Operator> fourier_operators() { return operator_table<definitions>(); }

}  // namespace minnow
