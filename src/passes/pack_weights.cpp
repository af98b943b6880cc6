// SPDX-License-Identifier: Apache-2.0
// A product of f32 activations with constant integers of 2, 4 or 8 bits behind a DequantizeLinear becomes minnow.MatMulNBits, which
// computes from the packed weights. Where the activations are quantized too, integer operators take the product.
#include <algorithm>

#include "graph/nbits.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

constexpr const char* kMatMulNBits = "minnow.MatMulNBits";
constexpr int64_t kMostBlock = 256;  // ONNX Runtime has no longer ones

constexpr DTypes kSignedBits = one_of({DType::i8, DType::i4, DType::i2}), kUnsignedBits = one_of({DType::u8, DType::u4, DType::u2});

/// Integers as MatMulNBits counts them, from 0 on.
class Unsigned {
 public:
  explicit Unsigned(const Tensor& tensor)
      : data_(tensor.data<uint8_t>()),
        most_((1 << bits_of(tensor.dtype())) - 1),
        offset_(contains(kSignedBits, tensor.dtype()) ? most_ / 2 + 1 : 0) {}
  int operator[](size_t i) const noexcept { return (data_[i] + offset_) & most_; }
  int zero() const noexcept { return offset_; }  // where DequantizeLinear has no zero point

 private:
  const uint8_t* data_;
  int most_, offset_;
};

/// Constant weights [depth, columns] behind a DequantizeLinear, perhaps transposed on the way.
struct Weights {
  Value *integers = nullptr, *scales = nullptr, *zeros = nullptr;  // zeros may be null: 0
  bool columns_first = false;                                      // the integers are [columns, depth]
  int64_t depth = 0, columns = 0, block = 0;                       // block: numbers of a column that share a scale; depth if all do
  bool per_column = false;                                         // else all columns share the scales

  /// The place of an integer.
  size_t place(size_t column, size_t k) const {
    return columns_first ? column * static_cast<size_t>(depth) + k : k * static_cast<size_t>(columns) + column;
  }
  /// The place of the scale, and of the zero point.
  size_t grid(size_t column, size_t k) const {
    if (!per_column) return 0;
    const size_t blocks = static_cast<size_t>((depth + block - 1) / block), own = k / static_cast<size_t>(block);
    return columns_first ? column * blocks + own : own * static_cast<size_t>(columns) + column;
  }
};

/// Nothing unless this product alone reads the weights, which would be stored twice otherwise.
std::optional<Weights> weights_of(const Node& product) {
  const Node* reader = &product;
  const Value* w = product.input(1);
  Weights found;
  found.columns_first = product.op() == "Gemm" && int_attribute(product, "transB", 0) != 0;
  if (const Node* turn = made_by(w, "Transpose")) {
    const Ints* perm = ints_attribute(*turn, "perm");
    if (sole_user(*w) != reader || (perm && *perm != Ints{1, 0})) return {};
    found.columns_first = !found.columns_first;
    reader = turn, w = turn->input(0);
  }
  const Node* maker = made_by(w, "DequantizeLinear");
  if (!maker || sole_user(*w) != reader || w->type.dtype != DType::f32) return {};
  found.integers = maker->input(0), found.scales = maker->input(1), found.zeros = maker->input(2);
  for (const Value* part : {found.integers, found.scales, found.zeros})
    if (part && !part->constant()) return {};
  if (!found.integers || !found.scales || sole_user(*found.integers) != maker) return {};
  const Tensor &integers = *found.integers->constant(), &scales = *found.scales->constant();
  const Shape& shape = integers.shape();
  if (!contains(kSignedBits | kUnsignedBits, integers.dtype()) || shape.rank() != 2 || shape.elements() == 0) return {};
  if (scales.dtype() != DType::f32 && scales.dtype() != DType::f16) return {};
  if (found.zeros && (found.zeros->type.dtype != integers.dtype() || found.zeros->constant()->elements() != scales.elements())) return {};
  const size_t along_columns = found.columns_first ? 0 : 1;
  found.columns = shape[along_columns], found.depth = found.block = shape[1 - along_columns];
  if (scales.elements() == 1) return found;
  found.per_column = true;
  const auto axis = positive_axis(int_attribute(*maker, "axis", 1), 2);
  if (const int64_t block = int_attribute(*maker, "block_size", 0); block != 0) {
    found.block = block;
    return axis == 1 - along_columns && block > 0 ? std::optional(found) : std::nullopt;
  }
  return axis == along_columns && scales.shape().rank() == 1 ? std::optional(found) : std::nullopt;
}

size_t bytes_of(const NBits& form, const Weights& from, bool has_zeros) {
  const int64_t scale = static_cast<int64_t>(size_of(from.scales->type.dtype));
  return static_cast<size_t>(from.columns * (form.blocks() * (form.bytes() + scale) + (has_zeros ? form.zero_point_bytes() : 0)));
}

/// The blocks that take the fewest bytes; nothing if none keeps the scales.
std::optional<NBits> form_of(const Weights& from) {
  std::optional<NBits> best;
  for (int64_t block = kMostBlock; block >= 16; block /= 2) {
    if (from.block < from.depth && from.block % block != 0) continue;
    const NBits form{from.depth, static_cast<int64_t>(bits_of(from.integers->type.dtype)), block};
    if (!best || bytes_of(form, from, false) < bytes_of(*best, from, false)) best = form;
  }
  return best;
}

/// The inputs behind A.
std::vector<Value*> packed(Graph& graph, const Weights& from, const NBits& form, const std::vector<int>& zeros) {
  const auto constant = [&](Tensor tensor, const char* suffix) {
    return &graph.add_constant(std::move(tensor), graph.fresh_name(from.integers->name() + suffix));
  };
  const Unsigned integers(*from.integers->constant());
  const Tensor& given = *from.scales->constant();
  Tensor numbers(DType::u8, {from.columns, form.blocks(), form.bytes()}), scales(given.dtype(), {from.columns, form.blocks()});
  uint8_t* const to = numbers.writable().data<uint8_t>();
  uint8_t* scale = scales.writable().data<uint8_t>();
  const size_t width = size_of(given.dtype()), block = static_cast<size_t>(form.block), depth = static_cast<size_t>(form.depth),
               columns = static_cast<size_t>(from.columns), bytes = static_cast<size_t>(form.bytes()),
               row = bytes * static_cast<size_t>(form.blocks());
  // Some columns at a time, whose places stay in the cache in either order of the integers.
  constexpr size_t kColumns = 64;
  for (size_t begin = 0; begin < columns; begin += kColumns)
    for (size_t k = 0; k < depth; ++k) {
      uint8_t* const place = to + k / block * bytes;
      const size_t i = k % block;
      for (size_t column = begin; column < std::min(begin + kColumns, columns); ++column)
        form.set_number(place + column * row, i, integers[from.place(column, k)]);
    }
  for (size_t column = 0; column < columns; ++column)
    for (size_t first = 0; first < depth; first += block, scale += width)
      std::copy_n(static_cast<const uint8_t*>(given.data()) + from.grid(column, first) * width, width, scale);
  std::vector<Value*> made = {constant(std::move(numbers), "_blocks"), constant(std::move(scales), "_scales")};
  if (zeros.empty()) return made;
  Tensor points(DType::u8, {from.columns, form.zero_point_bytes()});
  for (size_t column = 0; column < columns; ++column)
    for (size_t i = 0; i < static_cast<size_t>(form.blocks()); ++i)
      form.set_number(points.writable().data<uint8_t>() + column * static_cast<size_t>(form.zero_point_bytes()), i,
                      zeros[from.grid(column, i * block)]);
  made.push_back(constant(std::move(points), "_zero_points"));
  return made;
}

/// Zero points for each scale; none if they are those of MatMulNBits without any.
std::vector<int> zeros_of(const Weights& from, const NBits& form) {
  std::vector<int> zeros(static_cast<size_t>(from.scales->constant()->elements()), Unsigned(*from.integers->constant()).zero());
  if (from.zeros)
    for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = Unsigned(*from.zeros->constant())[i];
  return std::all_of(zeros.begin(), zeros.end(), [&](int zero) { return zero == form.middle(); }) ? std::vector<int>() : zeros;
}

bool is_bias(const Value* value, int64_t columns) {
  return value && value->type.dtype == DType::f32 && rank_of(*value) == 1 && dim_of(*value, 0) == columns;
}

void pack(Graph& graph, PassContext& context, Node& product) {
  Value *x = product.input(0), *bias = product.op() == "Gemm" ? product.input(2) : nullptr;
  if (!x || x->type.dtype != DType::f32 || made_by(x, "DequantizeLinear")) return;
  if (product.op() == "Gemm") {
    if (real_attribute(product, "alpha", 1) != 1 || int_attribute(product, "transA", 0) != 0) return;
    if (bias && (real_attribute(product, "beta", 1) != 1 || !rank_of(*bias))) return;
  }
  const auto from = weights_of(product);
  const auto form = from ? form_of(*from) : std::nullopt;
  if (!form || form->depth < 16) return;
  const std::vector<int> zeros = zeros_of(*from, *form);
  size_t before = 0;
  for (const Value* part : {from->integers, from->scales, from->zeros})
    if (part) before += stored_bytes(part->type.dtype, part->constant()->shape());
  const size_t after = bytes_of(*form, *from, !zeros.empty()), growth = after - std::min(before, after);
  if (!context.may_grow(growth)) return;
  context.has_grown(growth);
  context.changed("{} computes from weights of {} bits in blocks of {}", label_of(product), form->bits, form->block);
  std::vector<Value*> inputs = packed(graph, *from, *form, zeros);
  inputs.insert(inputs.begin(), x);
  const bool joins = is_bias(bias, from->columns);
  if (joins) inputs.resize(5), inputs.push_back(bias);
  Attributes attributes{{"K", form->depth}, {"N", from->columns}, {"bits", form->bits}, {"block_size", form->block}};
  Value& result = *product.output(0);
  if (!bias || joins) {
    replace(result, kMatMulNBits, inputs, std::move(attributes), product.name());
  } else {
    const std::string name[] = {graph.fresh_name(result.name() + "_product")};
    Node& made = graph.add_node(kMatMulNBits, inputs, name, std::move(attributes), product.name(), &product);
    infer_node(context, made);
    replace(result, "Add", {made.output(0), bias}, {}, product.name());
  }
  remove_dead(product);
}

/// The bias that an Add behind the product adds to each row.
void join_bias(PassContext& context, Node& sum) {
  for (const size_t i : {0, 1}) {
    Value *const y = sum.input(i), *const bias = sum.input(1 - i);
    Node* const product = made_by(y, kMatMulNBits);
    if (!product || product->input(5) || sole_user(*y) != &sum || !bias || !bias->constant()) continue;
    if (!is_bias(bias, int_attribute(*product, "N", 0))) continue;
    context.changed("{} takes its bias", label_of(*product));
    std::vector<Value*> inputs;
    for (size_t k = 0; k < 5; ++k) inputs.push_back(product->input(k));
    inputs.push_back(bias);
    replace(*sum.output(0), kMatMulNBits, inputs, product->attributes, product->name());
    return remove_dead(sum);
  }
}

}  // namespace

void pack_weights(Graph& graph, PassContext& context) {
  if (!context.operators().find(kMatMulNBits)) return;  // small builds have no kernels for it
  for (Node& node : graph.nodes()) {
    if (!node.output(0)) continue;
    if (node.op() == "MatMul" || node.op() == "Gemm")
      pack(graph, context, node);
    else if (node.op() == "Add")
      join_bias(context, node);
  }
}

}  // namespace minnow
