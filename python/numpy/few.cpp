// SPDX-License-Identifier: Apache-2.0
// Few elements that are at hand are computed at once: a plan costs as much as a hundred thousand of them, and every shape has its own, so
// that a loop over parts of growing or shrinking arrays would do little but plan. Of more elements what arithmetic.cpp has is, too.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <iterator>

#include "backends/cpu/kernels/kernels.h"
#include "numpy/loops.h"

namespace minnow::numpy {
namespace {

using python::Arithmetic;

bool is_few(const Var& x) {
  if (const std::optional<Shape> shape = x.known_shape(); shape && shape->elements() > kFewElements) return false;
  return at_hand(x) && value_of(x).elements() <= kFewElements;
}

template <class T>
struct Result {
  Loop2<T, T> numbers = nullptr;
  Loop2<T, bool> truths = nullptr;
};

template <class T, class F>
constexpr Loop2<T, T> numbers(F) {
  return [](const T* a, const T* b, size_t n, T* y) {
    for (size_t i = 0; i < n; ++i) y[i] = F()(a[i], b[i]);
  };
}
template <class T, class F>
constexpr Loop2<T, bool> truths(F) {
  return [](const T* a, const T* b, size_t n, bool* y) {
    for (size_t i = 0; i < n; ++i) y[i] = F()(a[i], b[i]);
  };
}

/// The loop of an operation; both are null where there is none of Ts.
template <class T>
Result<T> loop_of(Arithmetic operation) {
  constexpr bool kWhole = std::is_integral_v<T>;
  using U = std::conditional_t<kWhole, uint64_t, T>;  // integers wrap around
  switch (operation) {
    case Arithmetic::add:
      return {numbers<T>([](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); })};
    case Arithmetic::subtract:
      return {numbers<T>([](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); })};
    case Arithmetic::multiply:
      return {numbers<T>([](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); })};
    case Arithmetic::equal:
      return {nullptr, truths<T>([](T a, T b) { return a == b; })};
    case Arithmetic::not_equal:
      return {nullptr, truths<T>([](T a, T b) { return a != b; })};
    case Arithmetic::less:
      return {nullptr, truths<T>([](T a, T b) { return a < b; })};
    case Arithmetic::less_equal:
      return {nullptr, truths<T>([](T a, T b) { return a <= b; })};
    case Arithmetic::greater:
      return {nullptr, truths<T>([](T a, T b) { return a > b; })};
    case Arithmetic::greater_equal:
      return {nullptr, truths<T>([](T a, T b) { return a >= b; })};
    default:
      break;
  }
  if constexpr (kWhole) {
    if (operation == Arithmetic::bit_and) return {numbers<T>([](T a, T b) { return a & b; })};
    if (operation == Arithmetic::bit_or) return {numbers<T>([](T a, T b) { return a | b; })};
    if (operation == Arithmetic::bit_xor) return {numbers<T>([](T a, T b) { return a ^ b; })};
  } else {
    if (operation == Arithmetic::divide) return {numbers<T>([](T a, T b) { return a / b; })};
  }
  return {};
}

template <class T>
std::optional<Var> run(Arithmetic operation, const Tensor& a, const Tensor& b, DType result) {
  const Result<T> loop = loop_of<T>(operation);
  if (loop.numbers) return own(run2(loop.numbers, a, b, result));
  if (loop.truths) return own(run2(loop.truths, a, b, DType::boolean));
  return std::nullopt;
}

bool is_whole(DType dtype) { return dtype == DType::boolean || (is_integer(dtype) && size_of(dtype) > 0); }
bool is_plain(DType dtype) {  // no parts of bytes, and none that only models have
  switch (dtype) {
    case DType::boolean:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::f32:
    case DType::f64:
      return true;
    default:
      return false;
  }
}

/// Whether the shapes fit: where they do not the engine's operator says so.
bool fit(const Shape& a, const Shape& b) {
  for (size_t i = 0; i < std::min(a.rank(), b.rank()); ++i) {
    const int64_t p = a[a.rank() - 1 - i], q = b[b.rank() - 1 - i];
    if (p != q && p != 1 && q != 1) return false;
  }
  return true;
}

}  // namespace

std::optional<Var> few_combined(Arithmetic operation, PyObject* a, PyObject* b) {
  if (operation == Arithmetic::none) return std::nullopt;
  const Var *x = python::is_var(a) ? &python::var_of(a) : nullptr, *y = python::is_var(b) ? &python::var_of(b) : nullptr;
  PyObject* number = !x ? a : !y ? b : nullptr;
  if ((!x && !y) || (number && !PyFloat_CheckExact(number) && !PyLong_CheckExact(number))) return std::nullopt;
  const DType p = (x ? x : y)->dtype(), q = (y ? y : x)->dtype();
  if (!is_plain(p) || !is_plain(q)) return std::nullopt;
  DType common = !number                      ? promote(p, q)
                 : PyFloat_CheckExact(number) ? (is_float(p) ? p : DType::f64)
                 : p == DType::boolean        ? DType::i64
                                              : p;
  const bool bits = operation >= Arithmetic::bit_and && operation <= Arithmetic::bit_xor, compares = operation >= Arithmetic::equal;
  if (operation == Arithmetic::divide && is_whole(common)) common = DType::f64;
  if (common == DType::boolean && !bits && !compares) {
    if (number || operation == Arithmetic::subtract || operation == Arithmetic::divide) return std::nullopt;
    operation = operation == Arithmetic::add ? Arithmetic::bit_or : Arithmetic::bit_and;
  }
  if (common == DType::f32 && (p != q || p != DType::f32)) return std::nullopt;
  if (!is_plain(common) || (compares && (p == DType::u64 || q == DType::u64))) return std::nullopt;
  const bool few = (!x || is_few(*x)) && (!y || is_few(*y));
  if (!few) {
    if (p != common || q != common || !has_vectors(operation, common)) return std::nullopt;
    if ((x && !is_readable(*x, is_whole(common))) || (y && !is_readable(*y, is_whole(common)))) return std::nullopt;
  }
  alignas(8) std::array<char, 8> bytes;
  if (number && !python::number_in(number, common, bytes.data())) return std::nullopt;
  const auto side = [&](const Var* var) { return var ? value_of(*var) : Tensor(common, Shape(), bytes.data(), nullptr); };
  const Tensor left = side(x), right = side(y);
  if (!fit(left.shape(), right.shape())) return std::nullopt;
  if (!few) return combined_by_vectors(operation, left, right);
  if (left.elements() * right.elements() > kFewElements && broadcast(left.shape(), right.shape()).elements() > 4 * kFewElements)
    return std::nullopt;
  if (common == DType::f64) return run<double>(operation, left, right, common);
  if (common == DType::f32) return run<float>(operation, left, right, common);
  return run<int64_t>(operation, left, right, common);
}

std::optional<Var> few_mapped(const std::string& name, const Var& var) {
  const DType dtype = var.dtype();
  const bool negation = name == "not";
  if (is_integer(dtype) && (name == "negative" || (name == "absolute" && !is_unsigned(dtype))) &&
      has_vectors(Arithmetic::subtract, dtype) && is_readable(var, true)) {
    const int64_t zero = 0;
    const Var negative = combined_by_vectors(Arithmetic::subtract, Tensor(dtype, Shape(), &zero, nullptr), value_of(var));
    return name == "negative" ? negative : extreme_by_vectors(true, var, negative);
  }
  if (negation && dtype == DType::boolean && is_readable(var, true)) {
    const uint8_t one = 1;
    return combined_by_vectors(Arithmetic::bit_xor, value_of(var), Tensor(dtype, Shape(), &one, nullptr));
  }
  if (negation ? dtype != DType::boolean : dtype != DType::f32 && dtype != DType::f64) return std::nullopt;
  if (!is_few(var)) return std::nullopt;
  if (dtype == DType::f64) return unary(name, var);
  const Tensor x = value_of(var);
  using cpu::Unary;
  struct Row {
    const char* name;
    Unary kind;
  };
  static constexpr Row kRows[] = {{"sqrt", Unary::sqrt},   {"exp", Unary::exp},   {"log", Unary::log},      {"sin", Unary::sin},
                                  {"cos", Unary::cos},     {"tanh", Unary::tanh}, {"absolute", Unary::abs}, {"negative", Unary::neg},
                                  {"floor", Unary::floor}, {"ceil", Unary::ceil}, {"rint", Unary::round},   {"sign", Unary::sign}};
  static const cpu::UnaryKernels& kKernels = *cpu::kernels_for(cpu::best_isa()).unary;
  for (const Row& row : kRows)
    if (name == row.name) {
      Fresh y(dtype, x.shape());
      kKernels[row.kind](x.data<float>(), y.data<float>(), unsign(x.elements()), 0, 0);
      return y;
    }
  return std::nullopt;
}

std::optional<Var> few_cast(const Var& var, DType dtype) {
  const DType from = var.dtype();
  if (!is_plain(from) || !is_plain(dtype)) return std::nullopt;
  if (is_whole(from) && dtype == DType::f32 && size_of(from) == 8) return cast_by_vectors(var, dtype);  // by f64 it would be rounded twice
  if (!is_few(var)) return cast_by_vectors(var, dtype);
  const Tensor x = value_of(var);
  if (is_whole(from) && is_whole(dtype))
    return own(run1<int64_t, int64_t>([](const int64_t* p, size_t n, int64_t* q) { std::copy_n(p, n, q); }, x, dtype));
  return own(run1<double, double>([](const double* p, size_t n, double* q) { std::copy_n(p, n, q); }, x, dtype));
}

void define_few(nb::module_& m) {
  m.def(
      "few_mapped",
      [](const std::string& name, const Var& x) {
        const python::Guard guard;
        return few_mapped(name, x);
      },
      nb::arg("name"), nb::arg("x"), "A function of few elements that are at hand, else None.");
  m.def(
      "few_combined",
      [](const std::string& name, const Var& a, const Var& b) -> std::optional<Var> {
        const python::Guard guard;
        if (a.dtype() != b.dtype()) return std::nullopt;
        if ((is_integer(a.dtype()) || a.dtype() == DType::boolean) && (name == "maximum" || name == "minimum"))
          return extreme_by_vectors(name == "maximum", a, b);
        if (!is_few(a) || !is_few(b)) return std::nullopt;
        return binary(name, a, b);
      },
      nb::arg("name"), nb::arg("a"), nb::arg("b"), "A function of two tensors of few elements that are at hand, else None.");
}

}  // namespace minnow::numpy
