// SPDX-License-Identifier: Apache-2.0
// Streams of random numbers as Python objects, and tensors drawn from them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/numeric.h"
#include "numpy/numpy.h"
#include "numpy/random.h"

namespace minnow::numpy {
namespace {

nb::object integer_of(Pcg64::Wide value) {
  uint8_t bytes[16];
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  return nb::module_::import_("builtins").attr("int").attr("from_bytes")(nb::bytes(bytes, 16), "little");
}
Pcg64::Wide wide_of(nb::handle integer) {
  const nb::bytes bytes = nb::cast<nb::bytes>(nb::borrow(integer).attr("to_bytes")(16, "little"));
  Pcg64::Wide value = 0;
  for (int i = 16; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes.c_str()[i]);
  return value;
}

/// A parameter for each element of the result: one number, or a tensor of the result's shape.
struct Parameter {
  Tensor tensor;
  const double* data;
  int64_t step;
  explicit Parameter(const Var& x, int64_t count) : tensor(value_of(x)), data(tensor.data<double>()), step(tensor.elements() == 1 ? 0 : 1) {
    if (tensor.dtype() != DType::f64) throw InvalidArgument("parameters are f64, not {}", tensor.dtype());
    if (step == 1 && tensor.elements() != count)
      throw InvalidArgument("a parameter has {} elements, the result {}", tensor.elements(), count);
  }
  double operator[](int64_t i) const { return data[i * step]; }
};

using Real = double (*)(Draw&, double, double, double);
struct RealRow {
  const char* name;
  Real draw;
};
#define F(expression) \
  [](Draw& d, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { return expression; }
constexpr RealRow kReal[] = {
    {"random", F(d.uniform())},
    {"uniform", F(a + b * d.uniform())},
    {"standard_normal", F(d.standard_normal())},
    {"normal", F(a + b * d.standard_normal())},
    {"lognormal", F(std::exp(a + b * d.standard_normal()))},
    {"standard_exponential", F(d.standard_exponential())},
    {"standard_exponential_inverse", F(d.standard_exponential_inverse())},
    {"exponential", F(a* d.standard_exponential())},
    {"standard_gamma", F(d.standard_gamma(a))},
    {"gamma", F(b* d.standard_gamma(a))},
    {"beta", F(d.beta(a, b))},
    {"chisquare", F(d.chisquare(a))},
    {"noncentral_chisquare", F(d.noncentral_chisquare(a, b))},
    {"f", F(d.f(a, b))},
    {"noncentral_f", F(d.noncentral_f(a, b, c))},
    {"standard_t", F(d.standard_t(a))},
    {"standard_cauchy", F(d.standard_cauchy())},
    {"pareto", F(d.pareto(a))},
    {"weibull", F(d.weibull(a))},
    {"power", F(d.power(a))},
    {"laplace", F(d.laplace(a, b))},
    {"gumbel", F(d.gumbel(a, b))},
    {"logistic", F(d.logistic(a, b))},
    {"rayleigh", F(d.rayleigh(a))},
    {"wald", F(d.wald(a, b))},
    {"triangular", F(d.triangular(a, b, c))},
    {"vonmises", F(d.vonmises(a, b))},
};
#undef F
using Whole = int64_t (*)(Draw&, double, double, double);
struct WholeRow {
  const char* name;
  Whole draw;
};
#define F(expression) \
  [](Draw& d, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> int64_t { return expression; }
constexpr WholeRow kWhole[] = {
    {"binomial", F(d.binomial(b, static_cast<int64_t>(a)))},
    {"poisson", F(d.poisson(a))},
    {"negative_binomial", F(d.negative_binomial(a, b))},
    {"geometric", F(d.geometric(a))},
    {"logseries", F(d.logseries(a))},
    {"zipf", F(d.zipf(a))},
    {"hypergeometric", F(d.hypergeometric(static_cast<int64_t>(a), static_cast<int64_t>(b), static_cast<int64_t>(c)))},
};
#undef F
using Single = float (*)(Draw&, BitStream&, float);
struct SingleRow {
  const char* name;
  Single draw;
};
constexpr SingleRow kSingle[] = {
    {"random", [](Draw&, BitStream& s, float) { return s.next_float(); }},
    {"standard_normal", [](Draw& d, BitStream&, float) { return d.standard_normal_f32(); }},
    {"standard_exponential", [](Draw& d, BitStream&, float) { return d.standard_exponential_f32(); }},
    {"standard_exponential_inverse", [](Draw& d, BitStream&, float) { return d.standard_exponential_inverse_f32(); }},
    {"standard_gamma", [](Draw& d, BitStream&, float a) { return d.standard_gamma_f32(a); }},
};

template <class Table>
auto find(const Table& table, const std::string& name) -> decltype(table[0].draw) {
  for (const auto& row : table)
    if (name == row.name) return row.draw;
  return nullptr;
}

/// Elements one after the other, row-major: f64, f32 (`single`) or i64, as the distribution is.
Var draw(BitStream& bits, const std::string& name, const std::vector<int64_t>& dims, const std::vector<Var>& given, bool single) {
  const Shape shape(dims);
  const int64_t n = shape.elements();
  std::vector<Parameter> parameters;
  for (const Var& x : given) parameters.emplace_back(x, n);
  const auto at = [&](size_t k, int64_t i) { return k < parameters.size() ? parameters[k][i] : 0.0; };
  Draw from(bits);
  if (single) {
    const Single one = find(kSingle, name);
    if (!one) throw python::TypeFault("Unsupported dtype float32 for {}", name);
    Tensor y(DType::f32, shape);
    float* to = y.writable().data<float>();
    for (int64_t i = 0; i < n; ++i) to[i] = one(from, bits, static_cast<float>(at(0, i)));
    return Var(std::move(y));
  }
  if (const Whole whole = find(kWhole, name)) {
    Tensor y(DType::i64, shape);
    int64_t* to = y.writable().data<int64_t>();
    for (int64_t i = 0; i < n; ++i) to[i] = whole(from, at(0, i), at(1, i), at(2, i));
    return Var(std::move(y));
  }
  const Real real = find(kReal, name);
  if (!real) throw InvalidArgument("there is no distribution {}", name);
  Tensor y(DType::f64, shape);
  double* to = y.writable().data<double>();
  for (int64_t i = 0; i < n; ++i) to[i] = real(from, at(0, i), at(1, i), at(2, i));
  return Var(std::move(y));
}

/// low ... low + range, of any integer dtype or bool; low and range as i64 and u64 bits, one number or one for each element.
Var integers(BitStream& bits, nb::handle dtype_object, const std::vector<int64_t>& dims, const Var& lows, const Var& ranges) {
  const DType dtype = python::dtype_from(dtype_object);
  const Shape shape(dims);
  const Tensor low = value_of(lows), range = value_of(ranges);
  const int64_t n = shape.elements();
  Tensor y(dtype, shape);
  std::vector<int64_t> values(unsign(n));
  Draw from(bits);
  const int64_t low_step = low.elements() == 1 ? 0 : 1, range_step = range.elements() == 1 ? 0 : 1;
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t most = static_cast<uint64_t>(range.data<int64_t>()[i * range_step]);
    uint64_t value = 0;
    if (dtype == DType::boolean)
      value = from.bounded1(most != 0);
    else if (size_of(dtype) == 1)
      value = from.bounded8(static_cast<uint8_t>(most));
    else if (size_of(dtype) == 2)
      value = from.bounded16(static_cast<uint16_t>(most));
    else if (size_of(dtype) == 4)
      value = from.bounded32(static_cast<uint32_t>(most));
    else
      value = from.bounded64(most);
    values[unsign(i)] = static_cast<int64_t>(static_cast<uint64_t>(low.data<int64_t>()[i * low_step]) + value);
  }
  narrow(dtype, values.data(), values.size(), y.writable().data());
  return Var(std::move(y));
}

/// 0 ... n - 1 in the order in which shuffling leaves them: by masked bits, or (`lemire`) by multiplication, down to place `first`.
Var shuffled(BitStream& bits, int64_t n, int64_t first, bool lemire) {
  Tensor y(DType::i64, {n});
  int64_t* to = y.writable().data<int64_t>();
  std::iota(to, to + n, int64_t{0});
  Draw from(bits);
  for (int64_t i = n - 1; i >= first; --i) {
    const uint64_t j = lemire ? from.bounded64(static_cast<uint64_t>(i)) : from.masked(static_cast<uint64_t>(i));
    std::swap(to[i], to[j]);
  }
  return Var(std::move(y));
}

/// `count` different numbers below n (Floyd 1987), shuffled or as they come.
Var different(BitStream& bits, int64_t n, int64_t count, bool shuffle) {
  Tensor y(DType::i64, {count});
  int64_t* to = y.writable().data<int64_t>();
  std::unordered_set<int64_t> seen;
  Draw from(bits);
  for (int64_t j = n - count; j < n; ++j) {
    int64_t value = static_cast<int64_t>(from.bounded64(static_cast<uint64_t>(j)));
    if (!seen.insert(value).second) value = j, seen.insert(j);
    to[j - n + count] = value;
  }
  if (shuffle)
    for (int64_t i = count - 1; i >= 1; --i) std::swap(to[i], to[from.bounded64(static_cast<uint64_t>(i))]);
  return Var(std::move(y));
}

/// Counts of `trials` (one for each row) draws among k classes of chances p [k].
Var multinomial(BitStream& bits, const Var& trials, const Var& chances, const std::vector<int64_t>& dims) {
  const Tensor n = value_of(trials), p = value_of(chances);
  Tensor y(DType::i64, Shape(dims));
  int64_t* to = y.writable().data<int64_t>();
  const int64_t k = p.shape().back(), rows = k ? y.elements() / k : 0, steps = n.elements() == 1 ? 0 : 1, moves = p.elements() == k ? 0 : k;
  Draw from(bits);
  for (int64_t r = 0; r < rows; ++r) {
    const double* chance = p.data<double>() + r * moves;
    double rest = 1;
    int64_t left = n.data<int64_t>()[r * steps];
    for (int64_t j = 0; j + 1 < k && left > 0; ++j) {
      const int64_t hits = from.binomial(chance[j] / rest, left);
      to[r * k + j] = hits;
      left -= hits;
      rest -= chance[j];
    }
    if (left > 0) to[r * k + k - 1] = left;
  }
  return Var(std::move(y));
}

Var raw(BitStream& bits, const std::vector<int64_t>& dims) {
  Tensor y(DType::u64, Shape(dims));
  uint64_t* to = y.writable().data<uint64_t>();
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = bits.next64();
  return Var(std::move(y));
}

/// The polar method of RandomState.
Var gauss(Mt19937& bits, const std::vector<int64_t>& dims) {
  Tensor y(DType::f64, Shape(dims));
  double* to = y.writable().data<double>();
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = bits.next_gauss();
  return Var(std::move(y));
}

/// low ... low + range by rejection of masked bits, as RandomState draws int64.
Var masked_integers(BitStream& bits, const std::vector<int64_t>& dims, int64_t low, uint64_t range) {
  Tensor y(DType::i64, Shape(dims));
  int64_t* to = y.writable().data<int64_t>();
  Draw from(bits);
  for (int64_t i = 0; i < y.elements(); ++i) to[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + from.masked(range));
  return Var(std::move(y));
}

}  // namespace

void define_random(nb::module_& m) {
  nb::class_<BitStream>(m, "BitStream")
      .def("draw", draw, nb::arg("name"), nb::arg("shape"), nb::arg("parameters"), nb::arg("single"))
      .def("integers", integers, nb::arg("dtype"), nb::arg("shape"), nb::arg("low"), nb::arg("range"))
      .def("shuffled", shuffled, nb::arg("n"), nb::arg("first"), nb::arg("lemire"))
      .def("different", different, nb::arg("n"), nb::arg("count"), nb::arg("shuffle"))
      .def("multinomial", multinomial, nb::arg("n"), nb::arg("p"), nb::arg("shape"))
      .def("masked_integers", masked_integers, nb::arg("shape"), nb::arg("low"), nb::arg("range"))
      .def("raw", raw, nb::arg("shape"));
  nb::class_<Pcg64, BitStream>(m, "Pcg64")
      .def(nb::init<>())
      .def("seed",
           [](Pcg64& self, const std::vector<uint64_t>& words) {
             if (words.size() != 4) throw InvalidArgument("four words seed PCG64, {} came", words.size());
             self.seed({words[0], words[1], words[2], words[3]});
           })
      .def("advance", [](Pcg64& self, nb::handle steps) { self.advance(wide_of(steps)); })
      .def("get",
           [](const Pcg64& self) { return nb::make_tuple(integer_of(self.state), integer_of(self.increment), self.has_half, self.half); })
      .def("set", [](Pcg64& self, nb::handle state, nb::handle increment, bool has_half, uint32_t half) {
        self.state = wide_of(state), self.increment = wide_of(increment), self.has_half = has_half, self.half = half;
      });
  nb::class_<Mt19937, BitStream>(m, "Mt19937")
      .def(nb::init<>())
      .def("seed", [](Mt19937& self, uint32_t seed) { self.seed(seed); })
      .def("seed_words",
           [](Mt19937& self, const std::vector<uint32_t>& words) {
             if (words.empty()) throw InvalidArgument("Seed must be non-empty");
             self.seed(words);
           })
      .def("get",
           [](const Mt19937& self) {
             return nb::make_tuple(std::vector<uint32_t>(self.key.begin(), self.key.end()), self.position, self.has_gauss, self.gauss);
           })
      .def("set",
           [](Mt19937& self, const std::vector<uint32_t>& key, int position, bool has_gauss, double gauss) {
             if (key.size() != self.key.size() || position < 0 || position > static_cast<int>(key.size()))
               throw InvalidArgument("the state of MT19937 is {} words and a place in them; {} words and the place {} came",
                                     self.key.size(), key.size(), position);
             std::copy(key.begin(), key.end(), self.key.begin());
             self.position = position, self.has_gauss = has_gauss, self.gauss = gauss;
           })
      .def("gauss", gauss, nb::arg("shape"));
  m.def("seed_pool", [](const std::vector<uint32_t>& entropy, size_t pool_size) { return SeedSequence(entropy, pool_size).pool(); });
  m.def("seed_words", [](const std::vector<uint32_t>& entropy, size_t pool_size, size_t count) {
    return SeedSequence(entropy, pool_size).generate(count);
  });
}

}  // namespace minnow::numpy
