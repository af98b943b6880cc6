// SPDX-License-Identifier: Apache-2.0
// Complex numbers, as two tensors of real ones, and the Fourier transforms that make them.
#include <algorithm>
#include <cmath>

#include "importers/torchscript/rules.h"

#include "importers/builder/arithmetic.h"

namespace minnow::torchscript {
namespace {

using Kind = Item::Kind;

/// A tensor of complex numbers, or, without an imaginary part, of real ones.
struct Complex {
  Expr re, im;
};

Complex parts(Call& call, const Item& item) {
  if (!is_complex(item)) return {call.tensor(item), Expr()};
  return {call.p.wrap(item.as_tensor().value), call.p.wrap(item.as_tensor().imaginary)};
}
Complex parts(Call& call, std::string_view name) { return parts(call, call[name]); }
Item item_of(const Complex& x) { return x.im ? complex_item(x.re, x.im) : Item(x.re); }

/// The last dimension holds the real and the imaginary part.
Expr pairs(TypedBuilder& p, const Complex& x) { return p.concat({p.unsqueeze(x.re, {-1}), p.unsqueeze(x.im, {-1})}, -1); }
Complex from_pairs(TypedBuilder& p, const Expr& x) {
  const auto part = [&](int64_t i) { return p.gather(x, p.reshape(p.constant({i}), Ints{}), -1); };
  return {part(0), part(1)};
}

Expr both(Call& call, std::string_view op, const Expr& a, const Expr& b) {
  const auto [x, y] = promoted(call, a, b);
  return call.p.op(op, {x, y});
}
Expr scaled(Call& call, const Expr& x, double factor) { return factor == 1 ? x : call.p.op("Mul", {x, scalar_like(call, factor, x)}); }
Expr squared_length(TypedBuilder& p, const Complex& x) { return p.op("Add", {p.op("Mul", {x.re, x.re}), p.op("Mul", {x.im, x.im})}); }

Complex product(Call& call, const Complex& a, const Complex& b) {
  const auto times = [&](const Expr& x, const Expr& y) { return both(call, "Mul", x, y); };
  if (!b.im) return {times(a.re, b.re), times(a.im, b.re)};
  if (!a.im) return {times(a.re, b.re), times(a.re, b.im)};
  return {both(call, "Sub", times(a.re, b.re), times(a.im, b.im)), both(call, "Add", times(a.re, b.im), times(a.im, b.re))};
}

/// Scales a sum of `length` terms by the wanted norm. The results of `inverse` transforms are already divided by the length.
Expr normed(Call& call, const Expr& x, const Expr& length, bool inverse) {
  TypedBuilder& p = call.p;
  if (!call.has("norm") || call.text("norm") == "backward") return x;
  const Expr n = p.cast(length, p.dtype(x));
  if (call.text("norm") == "ortho") return p.op(inverse ? "Mul" : "Div", {x, p.op("Sqrt", {n})});
  if (call.text("norm") != "forward") call.fail("norm \"{}\" is not known", call.text("norm"));
  return p.op(inverse ? "Mul" : "Div", {x, n});
}

/// Transforms pairs (or [.., 1]) along an axis, which is counted without the dimension of pairs.
Expr transformed(Call& call, const Expr& x, const Expr& length, int64_t axis, bool inverse, bool one_sided) {
  TypedBuilder& p = call.p;
  const Expr place = p.reshape(p.constant({axis < 0 ? axis - 1 : axis}), Ints{});
  const Expr y = p.op("DFT", {x, length, place}, {{"inverse", int64_t{inverse}}, {"onesided", int64_t{one_sided}}});
  const Expr real = inverse && one_sided ? y : x;  // has the length of the signal
  const Expr n = length ? length : p.gather(p.shape_of(real), p.reshape(p.constant({axis < 0 ? axis - 1 : axis}), Ints{}), 0);
  return normed(call, y, n, inverse);
}

/// A window as long as a frame, with zeros around a shorter one.
Expr window_of(Call& call, int64_t frame, DType type) {
  TypedBuilder& p = call.p;
  const int64_t length = call.integer("win_length", frame);
  if (frame < 1 || frame > 1'000'000 || length < 1 || length > frame) call.fail("a window of {} in frames of {}", length, frame);
  Expr window = call.optional("window");
  if (!window) {
    const std::vector<double> ones(static_cast<size_t>(length), 1.0);
    window = p.reals({length}, ones, type);
  }
  window = p.cast(window, type);
  if (length == frame) return window;
  const int64_t before = (frame - length) / 2;
  return p.op("Pad", {window, p.constant({before, frame - length - before})});
}

}  // namespace

bool is_complex(const Item& item) { return item.is(Kind::tensor) && item.as_tensor().imaginary; }

Item complex_item(const Expr& re, const Expr& im) {
  Item made = Item::tensor(re);
  made.as_tensor().imaginary = im.value();
  return made;
}

Item import_view_as_complex(Call& call, TypedBuilder& p) { return item_of(from_pairs(p, call.x("self"))); }
Item import_view_as_real(Call& call, TypedBuilder& p) { return pairs(p, parts(call, "self")); }
Item import_make_complex(Call& call, TypedBuilder& p) {
  if (call.rule.target == "polar") {
    const Expr length = call.x("abs"), angle = call.x("angle");
    return complex_item(p.op("Mul", {length, p.op("Cos", {angle})}), p.op("Mul", {length, p.op("Sin", {angle})}));
  }
  return complex_item(call.x("real"), call.x("imag"));
}

Item import_complex_part(Call& call, TypedBuilder& p) {
  const Complex x = parts(call, "self");
  if (call.rule.target == "real") return x.re;
  if (call.rule.target == "imag") return x.im;
  if (call.rule.target == "abs") return p.op("Sqrt", {squared_length(p, x)});
  if (call.rule.target == "angle") return atan2(p, x.im, x.re);
  return complex_item(x.re, p.op("Neg", {x.im}));  // conj
}

Item import_complex_exp(Call& call, TypedBuilder& p) {
  const Complex x = parts(call, "self");
  const Expr length = p.op("Exp", {x.re});
  return complex_item(p.op("Mul", {length, p.op("Cos", {x.im})}), p.op("Mul", {length, p.op("Sin", {x.im})}));
}

Item import_complex_sum(Call& call, TypedBuilder& p) {
  // Real numbers have an imaginary part of zeros, of their shape.
  const auto whole = [&](Complex x) {
    if (!x.im) x.im = p.op("Mul", {x.re, scalar_like(call, 0, x.re)});
    return x;
  };
  const bool reversed = call.rule.target == "Rsub";
  Complex a = whole(parts(call, reversed ? "other" : "self")), b = whole(parts(call, reversed ? "self" : "other"));
  Complex& times = reversed ? a : b;
  const double alpha = call.real("alpha");
  times = {scaled(call, times.re, alpha), scaled(call, times.im, alpha)};
  const std::string_view op = reversed ? "Sub" : call.rule.target;
  return complex_item(both(call, op, a.re, b.re), both(call, op, a.im, b.im));
}

Item import_complex_product(Call& call, TypedBuilder&) { return item_of(product(call, parts(call, "self"), parts(call, "other"))); }

Item import_complex_quotient(Call& call, TypedBuilder& p) {
  const Complex a = parts(call, "self"), b = parts(call, "other");
  if (!b.im) return complex_item(both(call, "Div", a.re, b.re), both(call, "Div", a.im, b.re));
  const Expr length = squared_length(p, b);
  const Complex over = product(call, a, {b.re, p.op("Neg", {b.im})});
  return complex_item(both(call, "Div", over.re, length), both(call, "Div", over.im, length));
}

Item import_fft(Call& call, TypedBuilder& p) {
  const bool inverse = call.rule.target.starts_with("i"), real = call.rule.target.ends_with("rfft");
  const Complex x = parts(call, "self");
  const Expr length = call.has("n") ? p.reshape(call.one(call["n"]), Ints{}) : Expr();
  const int64_t axis = call.integer("dim");
  if (real && inverse) {
    const Expr y = transformed(call, pairs(p, x.im ? x : Complex{x.re, scaled(call, x.re, 0)}), length, axis, true, true);
    return p.squeeze(y, {-1});
  }
  const Expr from = x.im ? pairs(p, x) : p.unsqueeze(real_of(call, x.re), {-1});
  return item_of(from_pairs(p, transformed(call, from, length, axis, inverse, real)));
}

Item import_fft_frequencies(Call& call, TypedBuilder& p) {
  const int64_t n = call.integer("n");
  if (n < 1 || n > 1'000'000) call.fail("{} frequencies", n);
  const int64_t count = call.rule.target == "half" ? n / 2 + 1 : n;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(call.rule.target != "half" && i >= (n + 1) / 2 ? i - n : i) /
                     (static_cast<double>(n) * call.real("d")));
  return p.reals({count}, values);
}

Item import_stft(Call& call, TypedBuilder& p) {
  Expr x = real_of(call, call.x("self"));
  call.host.expect_rank(x, {2, 1});
  const int64_t frame = call.integer("n_fft"), step = call.integer("hop_length", frame / 4);
  if (call.takes("align_to_window") && call.has("align_to_window") && call.flag("align_to_window"))
    call.refuse("frames aligned to windows are not supported");
  const Expr window = window_of(call, frame, p.dtype(x));
  if (step < 1) call.fail("frames are {} apart", step);
  const bool one = call.rank(x) == 1;
  if (!one && call.rank(x) != 2) call.fail("a signal of {} dimensions", call.rank(x));
  if (one) x = p.unsqueeze(x, {0});
  if (call.takes("center") && call.flag("center")) {
    const std::string mode = call.text("pad_mode") == "replicate" ? "edge" : call.text("pad_mode");
    if (mode != "edge" && mode != "reflect" && mode != "constant") call.refuse("padding \"{}\" is not supported", mode);
    x = p.op("Pad", {x, p.constant({0, frame / 2, 0, frame / 2})}, {{"mode", mode}});
  }
  const bool one_sided = !call.has("onesided") || call.flag("onesided");
  const Expr spectra =
      p.op("STFT", {p.unsqueeze(x, {-1}), p.reshape(p.constant({step}), Ints{}), window}, {{"onesided", int64_t{one_sided}}});
  Expr y = p.transpose(spectra, {0, 2, 1, 3});  // [batch, frequencies, frames, 2]
  if (call.flag("normalized")) y = scaled(call, y, 1 / std::sqrt(static_cast<double>(frame)));
  if (one) y = p.squeeze(y, {0});
  if (call.has("return_complex") && !call.flag("return_complex")) return y;
  return item_of(from_pairs(p, y));
}

Item import_istft(Call& call, TypedBuilder& p) {
  Complex x = parts(call, "self");
  const int64_t frame = call.integer("n_fft"), step = call.integer("hop_length", frame / 4), rank = call.rank(x.re);
  if (call.has("return_complex") && call.flag("return_complex")) call.refuse("a complex signal is not supported");
  if (rank != 2 && rank != 3) call.fail("spectra of {} dimensions", rank);
  const DType type = p.dtype(x.re);
  const Expr window = window_of(call, frame, type);
  if (step < 1) call.fail("frames are {} apart", step);
  if (rank == 2) x = {p.unsqueeze(x.re, {0}), p.unsqueeze(x.im, {0})};
  const bool one_sided = call.has("onesided") ? call.flag("onesided") : p.dim(x.re, 1) != frame;
  // Frames [batch, frames, frame] of the signal, each times the window.
  const Expr spectra = p.transpose(pairs(p, x), {0, 2, 1, 3});
  const Expr length = p.reshape(p.constant({frame}), Ints{}), axis = p.reshape(p.constant({2}), Ints{});
  Expr frames = p.op("DFT", {spectra, length, axis}, {{"inverse", int64_t{1}}, {"onesided", int64_t{one_sided}}});
  frames = p.gather(frames, p.reshape(p.constant({0}), Ints{}), 3);
  if (call.flag("normalized")) frames = scaled(call, frames, std::sqrt(static_cast<double>(frame)));
  frames = p.op("Mul", {frames, window});
  // They are laid over each other and divided by the windows that lie there.
  const Expr count = p.shape_of(frames, 1, 2);
  const Expr samples = p.op("Add", {p.op("Mul", {p.op("Sub", {count, p.constant({1})}), p.constant({step})}), p.constant({frame})});
  const Expr size = p.concat({p.constant({1}), samples}, 0);
  const auto overlaid = [&](const Expr& rows) {
    const Expr y = p.op("Col2Im", {p.transpose(rows, {0, 2, 1}), size, p.constant({1, frame})}, {{"strides", Ints{1, step}}});
    return p.squeeze(y, {1, 2});
  };
  const Expr weights = p.op("Expand", {p.op("Mul", {window, window}), p.concat({p.constant({1}), count, p.constant({frame})}, 0)});
  const int64_t first = call.flag("center") ? frame / 2 : 0;
  const Expr last =
      call.has("length") ? p.op("Add", {call.one(call["length"]), p.constant({first})}) : p.op("Sub", {samples, p.constant({first})});
  const auto kept = [&](const Expr& y) { return p.op("Slice", {y, p.constant({first}), last, p.constant({1})}); };
  Expr y = p.op("Div", {kept(overlaid(frames)), kept(overlaid(weights))});
  if (call.has("length")) {  // beyond the last frame there is nothing
    const Expr missing = p.op("Sub", {call.one(call["length"]), p.shape_of(y, 1, 2)});
    y = p.op("Pad", {y, p.concat({p.constant({0, 0, 0}), missing}, 0)});
  }
  return rank == 2 ? p.squeeze(y, {0}) : y;
}

bool works_on_parts(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "__getitem__", "alias",  "cat",    "chunk",     "clone",   "concat",           "constant_pad_nd",
      "contiguous",  "detach", "expand", "flatten",   "flip",    "index_select",     "mean",
      "movedim",     "narrow", "neg",    "pad",       "permute", "repeat",           "reshape",
      "reshape_as",  "roll",   "select", "slice",     "split",   "split_with_sizes", "squeeze",
      "stack",       "sum",    "t",      "transpose", "unbind",  "unflatten",        "unsqueeze",
      "view"};
  return op.starts_with("aten::") && std::binary_search(std::begin(kOps), std::end(kOps), op.substr(6));
}

bool tells_of_shape(std::string_view op) {
  static constexpr std::string_view kOps[] = {"aten::dim",           "aten::is_contiguous", "aten::len",    "aten::ndimension",
                                              "aten::numel",         "aten::size",          "aten::stride", "prim::device",
                                              "prim::requires_grad", "prim::is_cuda",       "prim::shape"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace minnow::torchscript
