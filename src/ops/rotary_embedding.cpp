// SPDX-License-Identifier: Apache-2.0
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Attribute<bool> kInterleaved{"interleaved", false, MINNOW_DOC("pairs are neighbours, not elements half a width apart")};
constexpr Attribute<int64_t> kHeads{"num_heads", 0, MINNOW_DOC("for inputs of rank 3")};
constexpr Attribute<int64_t> kWidth{"rotary_embedding_dim", 0, MINNOW_DOC("how many elements of a head turn; 0: all")};

Shapes shapes(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  const auto cosines = node.known_sizes(1), sines = node.known_sizes(2), positions = node.known_sizes(3);
  if (x.rank() != 3 && x.rank() != 4) node.fail("X should have rank 3 or 4, it has shape {}", x);
  const bool packed = x.rank() == 3;
  const int64_t heads = node.attribute(kHeads), wanted = node.attribute(kWidth);
  if (packed && (heads <= 0 || leaves_rest(x[2], heads))) node.fail("num_heads is {}, X has {} columns", heads, x[2]);
  const Size length = x[packed ? 1 : 2], head = packed ? divide_exactly(x[2], heads) : x[3], width = wanted ? Size(wanted) : head;
  if (less(width, 0) || less(head, width) || leaves_rest(width, 2))
    node.fail("{} elements of a head of {} cannot turn in pairs", width, head);
  if (cosines && sines && differ(*cosines, *sines)) node.fail("cos_cache has shape {}, sin_cache {}", *cosines, *sines);
  const Size half = divide_exactly(width, 2);
  const bool fits =
      !cosines || (node.has_input(3) ? cosines->rank() == 2 && !differ((*cosines)[1], half) : !differ(*cosines, Sizes{x[0], length, half}));
  if (!fits) node.fail("cos_cache has shape {}, which does not fit X of shape {} with {} turning elements", *cosines, x, width);
  if (positions && differ(*positions, Sizes{x[0], length}))
    node.fail("position_ids should have shape {}, it has {}", Sizes{x[0], length}, *positions);
  return {x};
}

struct Rotation {
  int64_t batch, heads, length, head, width;  // width: the elements of a head that turn
  bool packed, interleaved, by_position;

  static Rotation of(const NodeView& node) {
    Rotation r{};
    const Shape& x = node.input_shape(0);
    r.packed = x.rank() == 3;
    r.heads = r.packed ? node.attribute(kHeads) : x[1];
    r.batch = x[0];
    r.length = r.packed ? x[1] : x[2];
    r.head = r.packed ? x[2] / r.heads : x[3];
    r.width = node.attribute(kWidth) ? node.attribute(kWidth) : r.head;
    r.interleaved = node.attribute(kInterleaved);
    r.by_position = node.has_input(3);
    return r;
  }
};

void reference(const NodeView& node, KernelArgs& args) {
  const Rotation r = Rotation::of(node);
  Numbers<double> x = args.reals(0);
  const Numbers<double> cosines = args.reals(1), sines = args.reals(2);
  const Numbers<int64_t> positions = r.by_position ? args.ints(3) : Numbers<int64_t>();
  const int64_t half = r.width / 2, known = r.by_position ? node.input_shape(1)[0] : r.batch * r.length;
  for (int64_t b = 0; b < r.batch; ++b)
    for (int64_t t = 0; t < r.length; ++t) {
      const int64_t position = r.by_position ? positions[static_cast<size_t>(b * r.length + t)] : b * r.length + t;
      if (position < 0 || position >= known) args.fail("position {} is not in [0, {})", position, known);
      const double *c = cosines.data() + position * half, *s = sines.data() + position * half;
      for (int64_t h = 0; h < r.heads; ++h) {
        double* row = x.data() + (r.packed ? (b * r.length + t) * r.heads + h : (b * r.heads + h) * r.length + t) * r.head;
        for (int64_t i = 0; i < half; ++i) {
          double &first = row[r.interleaved ? 2 * i : i], &second = row[r.interleaved ? 2 * i + 1 : half + i];
          const double turned = c[i] * first - s[i] * second;
          second = s[i] * first + c[i] * second;
          first = turned;
        }
      }
    }
  args.write(0, x);
}

// Everything happens on [batch, length, heads, pairs]; the elements that stay are put behind.
Exprs decompose(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const Rotation r = Rotation::of(node);
  const int64_t half = r.width / 2;
  const auto reshape = [&](const Expr& x, const Shape& shape) {
    return builder.op("Reshape", {x, builder.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}});
  };
  const auto turn = [&](const Expr& x) { return builder.op("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}}); };
  const auto slice = [&](const Expr& x, int64_t from, int64_t to, int64_t axis) {
    return builder.op("Slice", {x, builder.constant({from}), builder.constant({to}), builder.constant({axis})});
  };
  const auto angles = [&](const Expr& cache) {
    const Expr rows = r.by_position ? builder.op("Gather", {cache, inputs[3]}, {{"axis", int64_t{0}}}) : cache;
    return reshape(rows, {r.batch, r.length, 1, half});
  };
  const Expr x = r.packed ? reshape(inputs[0], {r.batch, r.length, r.heads, r.head}) : turn(inputs[0]);
  const Expr turning = r.width == r.head ? x : slice(x, 0, r.width, 3);
  Expr first, second;
  if (r.interleaved) {
    const Expr pairs = reshape(turning, {r.batch, r.length, r.heads, half, 2});
    first = reshape(slice(pairs, 0, 1, 4), {r.batch, r.length, r.heads, half});
    second = reshape(slice(pairs, 1, 2, 4), {r.batch, r.length, r.heads, half});
  } else {
    first = slice(turning, 0, half, 3);
    second = slice(turning, half, r.width, 3);
  }
  const Expr c = angles(inputs[1]), s = angles(inputs[2]);
  Expr new_first = first * c - second * s, new_second = first * s + second * c;
  Exprs parts = {new_first, new_second};
  if (r.interleaved) {
    const Shape pair{r.batch, r.length, r.heads, half, 1};
    const Expr pairs = builder.op("Concat", {reshape(new_first, pair), reshape(new_second, pair)}, {{"axis", int64_t{4}}});
    parts = {reshape(pairs, {r.batch, r.length, r.heads, r.width})};
  }
  if (r.width != r.head) parts.push_back(slice(x, r.width, r.head, 3));
  const Expr y = parts.size() == 1 ? parts[0] : builder.op("Concat", parts, {{"axis", int64_t{3}}});
  return {r.packed ? reshape(y, node.input_shape(0)) : turn(y)};
}

constexpr DTypes kRotated = one_of({DType::f32, DType::f16, DType::bf16});

constexpr List<Operator> definitions() {
  return {{.name = "RotaryEmbedding",
           .since = 23,
           .doc = MINNOW_DOC(
               "Turns pairs of elements of each head by angles whose cosines and sines are given for each position. Source: Su et "
               "al. 2021, arXiv:2104.09864."),
           .inputs = {{.name = "X", .dtypes = kRotated},
                      {.name = "cos_cache", .dtypes = kRotated, .like = "X"},
                      {.name = "sin_cache", .dtypes = kRotated, .like = "X"},
                      {.name = "position_ids", .dtypes = kI64, .arity = kOptional}},
           .outputs = {{"Y", same_as("X")}},
           .attributes = {kInterleaved, kHeads, kWidth},
           .infer_shapes = shapes,
           .reference = reference,
           .decompose = decompose}};
}

}  // namespace

std::span<const Operator> rotary_embedding_operators() { return operator_table<definitions>(); }

}  // namespace minnow
