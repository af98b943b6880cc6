// SPDX-License-Identifier: Apache-2.0
// Factorizations and Fourier transforms of the library numerics, for Vars.
#include <minnow/numerics.h>
#include <nanobind/stl/string.h>

#include "numerics/fft.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

/// Calls f without the GIL, and with an eye on signals, where `operations` are worth it.
template <class F>
auto unlocked(double operations, F&& f) {
  constexpr double kLeast = 1 << 12;
  if (operations < kLeast) return f();
  const python::SignalWatch watch;
  const nb::gil_scoped_release release;
  return f();
}

/// f of the matrices of a Var.
template <class F>
auto of_matrices(const Var& x, F&& f) {
  const Tensor a = value_of(x);
  const double rows = a.shape().rank() ? static_cast<double>(a.shape().back()) : 1;
  return unlocked(static_cast<double>(a.elements()) * rows, [&] { return f(a.view()); });
}
nb::object pair(Tensor first, Tensor second) { return nb::make_tuple(Var(std::move(first)), Var(std::move(second))); }
nb::object one(Tensor tensor) { return nb::cast(Var(std::move(tensor))); }

nb::object determinant(const Var& x, bool logarithm) {
  if (!logarithm) return one(of_matrices(x, numerics::determinant));
  numerics::LogDeterminant found = of_matrices(x, numerics::log_determinant);
  return pair(std::move(found.sign), std::move(found.log));
}

nb::object qr(const Var& x, bool complete, bool raw) {
  if (raw) {
    numerics::Reflections found = of_matrices(x, numerics::qr_reflections);
    return pair(std::move(found.factors), std::move(found.tau));
  }
  numerics::QR found = of_matrices(x, [&](const TensorView& a) { return numerics::qr(a, complete); });
  return pair(std::move(found.q), std::move(found.r));
}

nb::object svd(const Var& x, bool vectors) {
  if (!vectors) return one(of_matrices(x, numerics::singular_values));
  numerics::SVD found = of_matrices(x, numerics::svd);
  return nb::make_tuple(Var(std::move(found.u)), Var(std::move(found.s)), Var(std::move(found.v)));
}

template <numerics::Eigen (*kBoth)(const TensorView&), Tensor (*kValues)(const TensorView&)>
nb::object eigen(const Var& x, bool vectors) {
  if (!vectors) return one(of_matrices(x, kValues));
  numerics::Eigen found = of_matrices(x, kBoth);
  return pair(std::move(found.values), std::move(found.vectors));
}

/// kind: "whole", "to_half" or "from_half" (numerics::RowTransform).
Var fft(const Var& var, const std::string& kind, int64_t length, bool inverse, double scale) {
  using numerics::RowTransform;
  const RowTransform row = kind == "to_half" ? RowTransform::to_half : kind == "from_half" ? RowTransform::from_half : RowTransform::whole;
  const Tensor x = value_of(var);
  const TensorView result = numerics::transformed_rows(x, row, length);
  Fresh y(result.dtype(), result.shape());
  unlocked(static_cast<double>(x.elements()), [&] { numerics::transform_rows(x, row, length, inverse, scale, y.data()); });
  return y;
}

}  // namespace

void define_linalg(nb::module_& m) {
  m.def(
      "solve",
      [](const Var& left, const Var& b) {
        const Tensor right = value_of(b);
        return Var(of_matrices(left, [&](const TensorView& a) { return numerics::solve(a, right); }));
      },
      nb::arg("a"), nb::arg("b"));
  m.def(
      "inverse", [](const Var& a) { return Var(of_matrices(a, numerics::inverse)); }, nb::arg("a"));
  m.def("determinant", determinant, nb::arg("a"), nb::arg("logarithm"));
  m.def(
      "cholesky", [](const Var& a) { return Var(of_matrices(a, numerics::cholesky)); }, nb::arg("a"));
  m.def("qr", qr, nb::arg("a"), nb::arg("complete"), nb::arg("raw"));
  m.def("svd", svd, nb::arg("a"), nb::arg("vectors"));
  m.def("eigh", eigen<numerics::eigh, numerics::eigh_values>, nb::arg("a"), nb::arg("vectors"));
  m.def("eig", eigen<numerics::eig, numerics::eig_values>, nb::arg("a"), nb::arg("vectors"));
}

void define_fourier(nb::module_& m) {
  m.def("fft", fft, nb::arg("x"), nb::arg("kind"), nb::arg("length"), nb::arg("inverse"), nb::arg("scale"));
}

void define_numpy(nb::module_& m) {
  nb::module_ numpy = m.def_submodule("numpy", "What minnow.numpy has beside the engine's operators.");
  define_elements(numpy);
  define_reductions(numpy);
  define_products(numpy);
  define_sorting(numpy);
  define_indexing(numpy);
  define_movement(numpy);
  define_linalg(numpy);
  define_fourier(numpy);
  define_random(numpy);
}

}  // namespace minnow::numpy
