// SPDX-License-Identifier: Apache-2.0
// Elementwise arithmetic of two broadcast tensors.
#include <cmath>

#include "ops/operator.h"

namespace minnow {
namespace {

Shapes broadcast(const NodeView& node) { return {broadcast_inputs(node)}; }

// Integers wrap around: signed arithmetic is done on the unsigned twin, where wrapping is defined.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

void add(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) + Wrapping<decltype(a)>(b)); });
}
void subtract(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) - Wrapping<decltype(a)>(b)); });
}
void multiply(const NodeView&, KernelArgs& args) {
  args.map2([](auto a, auto b) { return static_cast<decltype(a)>(Wrapping<decltype(a)>(a) * Wrapping<decltype(a)>(b)); });
}
void divide(const NodeView&, KernelArgs& args) {
  if (is_float(args.input(0).dtype())) return args.map2([](auto a, auto b) { return a / b; });
  for (int64_t divisor : args.ints(1))
    if (divisor == 0) args.fail("an integer is divided by zero");
  args.map2([](auto a, auto b) {
    return b == static_cast<decltype(b)>(-1) && std::is_signed_v<decltype(a)> ? static_cast<decltype(a)>(0 - Wrapping<decltype(a)>(a))
                                                                              : static_cast<decltype(a)>(a / b);
  });
}

Operator row(std::string_view name, std::string_view doc, void (*reference)(const NodeView&, KernelArgs&)) {
  return {.name = name,
          .since = 14,
          .doc = doc,
          .inputs = {{"A", kNumeric}, {"B", kNumeric}},
          .outputs = {{"C", same_as("A")}},
          .infer_shapes = broadcast,
          .reference = reference,
          .elementwise = true};
}

}  // namespace

std::vector<Operator> binary_operators() {
  return {
      row("Add", MINNOW_DOC("c = a + b with NumPy's broadcasting; integers wrap around."), add),
      row("Sub", MINNOW_DOC("c = a - b with NumPy's broadcasting; integers wrap around."), subtract),
      row("Mul", MINNOW_DOC("c = a * b with NumPy's broadcasting; integers wrap around."), multiply),
      row("Div", MINNOW_DOC("c = a / b with NumPy's broadcasting; integers are truncated toward zero, a zero divisor is an error."),
          divide),
  };
}

}  // namespace minnow
