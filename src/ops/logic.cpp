// SPDX-License-Identifier: Apache-2.0
// Truth values, and integers as rows of bits.
#include "ops/contents.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kDirection = required("direction", AttributeKind::text, MINNOW_DOC("LEFT or RIGHT"));

Shapes broadcast(const NodeView& node) { return {broadcast_inputs(node)}; }
Shapes same_shape(const NodeView& node) { return {node.input_sizes(0)}; }

template <auto kFunction>
void map(const NodeView&, KernelArgs& args) {
  args.map_ints(kFunction);
}
template <auto kFunction>
void map2(const NodeView&, KernelArgs& args) {
  args.map2_ints(kFunction);
}

bool to_left(const NodeView& node) {
  const std::string& direction = node.require<std::string>(kDirection.name);
  if (direction != "LEFT" && direction != "RIGHT") node.fail("direction should be LEFT or RIGHT, it is \"{}\"", direction);
  return direction == "LEFT";
}
Shapes shift_shape(const NodeView& node) {
  to_left(node);
  return broadcast(node);
}
void shift(const NodeView& node, KernelArgs& args) {
  const bool left = to_left(node);
  args.map2_ints([=](auto x, auto y) {
    using T = decltype(x);
    const uint64_t by = static_cast<uint64_t>(y);
    if (by >= 64) return T(!left && x < 0 ? -1 : 0);  // C leaves shifts by the whole width open; a negative one is such a number
    return left ? static_cast<T>(static_cast<uint64_t>(x) << by) : static_cast<T>(x >> by);
  });
}

// On truths: 0, 1 or unknown.
Size size_not(std::span<const Size> x) { return Size(1) - x[0]; }
Size size_and(std::span<const Size> x) { return x[0] * x[1]; }
Size size_or(std::span<const Size> x) { return Size(1) - (Size(1) - x[0]) * (Size(1) - x[1]); }

using Reference = void (*)(const NodeView&, KernelArgs&);
constexpr Operator unary(Name name, int since, DTypes dtypes, std::string_view doc, Reference reference) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"X", dtypes}},
          .outputs = {{"Y", same_as("X")}},
          .infer_shapes = same_shape,
          .reference = reference,
          .elementwise = true,
          .fusible = dtypes == kBool};
}
constexpr Operator binary(Name name, int since, DTypes dtypes, std::string_view doc, Reference reference) {
  return {.name = name,
          .since = since,
          .doc = doc,
          .inputs = {{"A", dtypes}, {.name = "B", .dtypes = dtypes, .like = "A"}},
          .outputs = {{"C", same_as("A")}},
          .infer_shapes = broadcast,
          .reference = reference,
          .elementwise = true,
          .fusible = dtypes == kBool,
          .commutative = true};
}

constexpr List<Operator> definitions() {
  Operator shift_row =
      binary("BitShift", 28, kInts,
             MINNOW_DOC("The bits of a moved by b places; what leaves the type is lost. Zeros come in, from the left of a negative number "
                        "ones. A negative b moves everything out."),
             shift);
  shift_row.attributes = {kDirection};
  shift_row.infer_shapes = shift_shape;
  shift_row.commutative = false;
  Operator not_row = unary("Not", 1, kBool, MINNOW_DOC("y = true where x is false."), map<[](auto x) { return !x; }>);
  Operator and_row = binary("And", 7, kBool, MINNOW_DOC("c = true where a and b are."), map2<[](auto a, auto b) { return a & b; }>);
  Operator or_row = binary("Or", 7, kBool, MINNOW_DOC("c = true where a or b is."), map2<[](auto a, auto b) { return a | b; }>);
  not_row.infer_contents = map_contents<size_not>;
  and_row.infer_contents = map_contents<size_and>;
  or_row.infer_contents = map_contents<size_or>;
  return {
      std::move(not_row),
      std::move(and_row),
      std::move(or_row),
      binary("Xor", 7, kBool, MINNOW_DOC("c = true where just one of a and b is."), map2<[](auto a, auto b) { return a ^ b; }>),
      unary("BitwiseNot", 18, kInts, MINNOW_DOC("y = x with every bit turned."), map<[](auto x) { return ~x; }>),
      binary("BitwiseAnd", 18, kInts, MINNOW_DOC("c = the bits that are set in a and in b."), map2<[](auto a, auto b) { return a & b; }>),
      binary("BitwiseOr", 18, kInts, MINNOW_DOC("c = the bits that are set in a or in b."), map2<[](auto a, auto b) { return a | b; }>),
      binary("BitwiseXor", 18, kInts, MINNOW_DOC("c = the bits in which a and b differ."), map2<[](auto a, auto b) { return a ^ b; }>),
      std::move(shift_row),
  };
}

}  // namespace

std::span<const Operator> logic_operators() { return operator_table<definitions>(); }

}  // namespace minnow
