// SPDX-License-Identifier: Apache-2.0
// The random streams of the library numerics as Python objects, and Vars drawn from them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "numerics/draws.h"
#include "numpy/numpy.h"

namespace minnow::numpy {
namespace {

using numerics::BitStream;
using numerics::Mt19937;
using numerics::Pcg64;

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

Var draw(BitStream& bits, const std::string& name, const std::vector<int64_t>& dims, const std::vector<Var>& given, bool single) {
  std::vector<Tensor> parameters;
  for (const Var& x : given) parameters.push_back(value_of(x));
  const std::vector<TensorView> views(parameters.begin(), parameters.end());
  return Var(numerics::draw(bits, name, Shape(dims), views, single));
}

}  // namespace

void define_random(nb::module_& m) {
  using Dims = std::vector<int64_t>;
  nb::class_<BitStream>(m, "BitStream")
      .def("draw", draw, nb::arg("name"), nb::arg("shape"), nb::arg("parameters"), nb::arg("single"))
      .def(
          "integers",
          [](BitStream& self, nb::handle dtype, const Dims& dims, const Var& low, const Var& range) {
            return Var(numerics::integers(self, python::dtype_from(dtype), Shape(dims), value_of(low), value_of(range)));
          },
          nb::arg("dtype"), nb::arg("shape"), nb::arg("low"), nb::arg("range"))
      .def(
          "shuffled",
          [](BitStream& self, int64_t n, int64_t first, bool lemire) { return Var(numerics::shuffled(self, n, first, lemire)); },
          nb::arg("n"), nb::arg("first"), nb::arg("lemire"))
      .def(
          "different",
          [](BitStream& self, int64_t n, int64_t count, bool shuffle) { return Var(numerics::different(self, n, count, shuffle)); },
          nb::arg("n"), nb::arg("count"), nb::arg("shuffle"))
      .def(
          "multinomial",
          [](BitStream& self, const Var& n, const Var& p, const Dims& dims) {
            return Var(numerics::multinomial(self, value_of(n), value_of(p), Shape(dims)));
          },
          nb::arg("n"), nb::arg("p"), nb::arg("shape"))
      .def(
          "masked_integers",
          [](BitStream& self, const Dims& dims, int64_t low, uint64_t range) {
            return Var(numerics::masked_integers(self, Shape(dims), low, range));
          },
          nb::arg("shape"), nb::arg("low"), nb::arg("range"))
      .def(
          "raw", [](BitStream& self, const Dims& dims) { return Var(numerics::raw(self, Shape(dims))); }, nb::arg("shape"));
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
      .def(
          "gauss", [](Mt19937& self, const Dims& dims) { return Var(numerics::gauss(self, Shape(dims))); }, nb::arg("shape"));
  m.def("seed_pool",
        [](const std::vector<uint32_t>& entropy, size_t pool_size) { return numerics::SeedSequence(entropy, pool_size).pool(); });
  m.def("seed_words", [](const std::vector<uint32_t>& entropy, size_t pool_size, size_t count) {
    return numerics::SeedSequence(entropy, pool_size).generate(count);
  });
}

}  // namespace minnow::numpy
