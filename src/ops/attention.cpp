// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention with shared heads, masks and a key and value cache.
#include "graph/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numeric.h"
#include "ops/batch.h"
#include "ops/dense.h"
#include "ops/gradient.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();
enum Input : size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kUsedKeys, kGradient };
enum Output : size_t { kResult, kPresentKey, kPresentValue, kScores };

Shapes shapes(const NodeView& node) {
  const auto sizes = attention_sizes(node);
  return {sizes.begin(), sizes.end()};
}

size_t size(int64_t n) { return static_cast<size_t>(n); }

/// [batch, heads, length, width] from a tensor that may be packed, written behind the first `skip` of `total` positions of each head.
void place(const AttentionGeometry& a, std::span<const double> from, int64_t heads, int64_t length, int64_t width, bool packed,
           int64_t skip, int64_t total, Numbers<double>& to) {
  const double* at = from.data();
  const auto copy_row = [&](int64_t b, int64_t h, int64_t t) {
    std::copy(at, at + width, to.begin() + ((b * heads + h) * total + skip + t) * width);
    at += width;
  };
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t i = 0; i < (packed ? length : heads); ++i)
      for (int64_t j = 0; j < (packed ? heads : length); ++j) packed ? copy_row(b, j, i) : copy_row(b, i, j);
}

/// The mask as numbers to add, one for each score. Columns that it lacks are excluded.
Numbers<double> bias_of(const KernelArgs& args, const AttentionGeometry& a) {
  const TensorView& mask = args.input(kMask);
  Numbers<double> values = args.reals(kMask), bias(size(a.scores_shape().elements()), kExcluded);
  if (mask.dtype() == DType::boolean)
    for (double& value : values) value = value != 0 ? 0 : kExcluded;
  const int64_t columns = mask.shape().back();
  Shape covered = a.scores_shape();
  covered[3] = columns;
  walk_broadcast(mask.shape(), covered,
                 [&](size_t to, size_t from) { bias[to / size(columns) * size(a.keys()) + to % size(columns)] = values[from]; });
  return bias;
}

/// `bytes`: weights are not divided by their sum, and rounded to 255 steps of the largest.
void softmax(std::span<double> row, bool bytes) {
  const double largest = *std::max_element(row.begin(), row.end());
  if (largest == kExcluded) return std::fill(row.begin(), row.end(), 0.0);  // a query that sees nothing
  double sum = 0;
  for (double& value : row) sum += value = bytes ? std::nearbyint(255 * std::exp(value - largest)) : std::exp(value - largest);
  for (double& value : row) value /= sum;
}

/// An input as real numbers. `scale`: the input of its scale, in front of that of its zero point, or 0.
Numbers<double> numbers_of(const KernelArgs& args, size_t input, size_t scale) {
  Numbers<double> x = args.reals(input);
  if (!scale) return x;
  const double factor = args.reals(scale)[0], zero = args.reals(scale + 1)[0];
  for (double& value : x) value = (value - zero) * factor;
  return x;
}

void reference(const NodeView& node, KernelArgs& args) {
  const AttentionGeometry a = AttentionGeometry::of(node);
  const int64_t keys = a.keys();
  const bool bytes = node.op() == kQuantizedAttention, cached = !bytes && args.has_input(kPastKey);
  Numbers<double> q(size(a.batch * a.q_heads * a.queries * a.head)), k(size(a.key_shape().elements())), v(size(a.value_shape().elements()));
  place(a, numbers_of(args, kQuery, bytes ? size_t{kQueryScale} : 0), a.q_heads, a.queries, a.head, a.packed, 0, a.queries, q);
  place(a, numbers_of(args, kKey, bytes ? size_t{kKeyScale} : 0), a.kv_heads, a.added, a.head, a.packed, a.past, keys, k);
  place(a, numbers_of(args, kValue, bytes ? size_t{kValueScale} : 0), a.kv_heads, a.added, a.v_head, a.packed, a.past, keys, v);
  if (cached) {
    place(a, args.reals(kPastKey), a.kv_heads, a.past, a.head, false, 0, keys, k);
    place(a, args.reals(kPastValue), a.kv_heads, a.past, a.v_head, false, 0, keys, v);
  }
  if (!bytes && args.has_output(kPresentKey)) args.write(kPresentKey, k);
  if (!bytes && args.has_output(kPresentValue)) args.write(kPresentValue, v);

  Numbers<int64_t> used(size(a.batch), keys);
  if (!bytes && args.has_input(kUsedKeys)) used = args.ints(kUsedKeys);
  for (int64_t count : used)
    if (count < 0 || count > keys) args.fail("nonpad_kv_seqlen names {} keys, there are {}", count, keys);
  const Numbers<double> bias = args.has_input(kMask) ? bias_of(args, a) : Numbers<double>();

  Numbers<double> shown(!bytes && args.has_output(kScores) ? size(a.scores_shape().elements()) : 0), scores(size(a.queries * keys)),
      turned(size(a.head * keys)), result(size(a.queries * a.v_head)), y(size(a.output_shape().elements()));
  Pace pace;
  for (int64_t b = 0; b < a.batch; ++b)
    for (int64_t h = 0; h < a.q_heads; ++h) {
      const int64_t shared = b * a.kv_heads + h / a.group(), own = b * a.q_heads + h;
      if (h % a.group() == 0)
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t i = 0; i < a.head; ++i) turned[size(i * keys + j)] = k[size((shared * keys + j) * a.head + i)];
      std::fill(scores.begin(), scores.end(), 0.0);
      multiply_add<double>(a.queries, keys, a.head, {q.data() + own * a.queries * a.head, a.head}, {turned.data(), keys},
                           {scores.data(), keys});
      const auto show = [&](int64_t mode) {
        if (a.scores_output == mode && !shown.empty()) std::copy(scores.begin(), scores.end(), shown.begin() + own * a.queries * keys);
      };
      for (double& score : scores) score *= a.scale;
      show(0);
      if (a.softcap > 0)
        for (double& score : scores) score = a.softcap * std::tanh(score / a.softcap);
      show(1);
      const int64_t first = !bytes && args.has_input(kUsedKeys) ? used[size(b)] - a.queries : a.past;
      for (int64_t i = 0; i < a.queries; ++i, pace.step(size(keys)))
        for (int64_t j = 0; j < keys; ++j) {
          double& score = scores[size(i * keys + j)];
          const double added = bias.empty() ? 0 : bias[size((own * a.queries + i) * keys + j)];
          const bool seen = j < used[size(b)] && (a.before < 0 || first + i - j <= a.before) && (a.after < 0 || j - first - i <= a.after);
          score = seen && added != kExcluded ? score + added : kExcluded;  // also where the score is NaN
        }
      show(2);
      if (keys)
        for (int64_t i = 0; i < a.queries; ++i, pace.step(size(8 * keys)))
          softmax(std::span<double>(scores).subspan(size(i * keys), size(keys)), bytes);
      show(3);
      std::fill(result.begin(), result.end(), 0.0);
      multiply_add<double>(a.queries, a.v_head, used[size(b)], {scores.data(), keys}, {v.data() + shared * keys * a.v_head, a.v_head},
                           {result.data(), a.v_head});
      for (int64_t i = 0; i < a.queries; ++i) {
        const int64_t row = a.packed ? (b * a.queries + i) * a.q_heads + h : own * a.queries + i;
        std::copy_n(result.begin() + i * a.v_head, a.v_head, y.begin() + row * a.v_head);
      }
    }
  if (bytes && args.has_input(kAttentionScale)) {
    const double scale = args.reals(kAttentionScale)[0], zero = args.reals(kAttentionZero)[0];
    const double lowest = static_cast<double>(lowest_of(args.output(0).dtype())),
                 highest = static_cast<double>(highest_of(args.output(0).dtype()));
    for (double& value : y) value = std::clamp(std::nearbyint(value / scale) + zero, lowest, highest);
  }
  args.write(kResult, y);
  if (!bytes && args.has_output(kScores)) args.write(kScores, shown);
}

/// The same in matrix products, softmax and elementwise operators.
class Decomposition {
 public:
  Decomposition(const NodeView& node, GraphBuilder& builder, const Exprs& inputs)
      : node_(node), a_(AttentionGeometry::of(node)), builder_(builder), inputs_(inputs), dtype_(node.input_dtype(kQuery)) {}

  Exprs build() {
    if (a_.scores_shape().elements() == 0) return {};
    weigh();
    const int64_t rows = a_.group() * a_.queries;
    const Expr values = node_.input_dtype(kValue) == dtype_ ? v_ : cast(v_, dtype_);
    Expr y = builder_.op("MatMul", {reshape(weights_, {a_.batch, a_.kv_heads, rows, a_.keys()}), values});
    y = reshape(y, {a_.batch, a_.q_heads, a_.queries, a_.v_head});
    if (a_.packed) y = reshape(builder_.op("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}), a_.output_shape());
    Exprs outputs = {y, k_, v_};
    if (node_.has_output(kScores)) {
      const Expr modes[] = {raw_, capped_, scores_, weights_};
      outputs.push_back(modes[a_.scores_output]);
    }
    return outputs;
  }

#if MINNOW_GRADIENTS
  /// For Q, K and V, where no heads are shared and none are packed.
  Exprs gradients() {
    if (a_.scores_shape().elements() == 0) return {};
    weigh();
    const Expr &q = inputs_[kQuery], &g = inputs_[kGradient];
    const Expr of_weights = builder_.op("MatMul", {g, turn(v_)});
    const Expr mean = builder_.op("ReduceSum", {weights_ * of_weights, builder_.constant({-1})});
    const Expr of_scores = weights_ * (of_weights - mean) * a_.scale;
    return {builder_.op("MatMul", {of_scores, k_}), builder_.op("MatMul", {turn(of_scores), q}),
            builder_.op("MatMul", {turn(weights_), g})};
  }
#endif

 private:
  /// Sets keys, values, scores and their softmax.
  void weigh() {
    const Expr q = heads_first(inputs_[kQuery], a_.q_heads, a_.queries, a_.head);
    k_ = heads_first(inputs_[kKey], a_.kv_heads, a_.added, a_.head), v_ = heads_first(inputs_[kValue], a_.kv_heads, a_.added, a_.v_head);
    if (node_.has_input(kPastKey)) {
      k_ = builder_.op("Concat", {inputs_[kPastKey], k_}, {{"axis", int64_t{2}}});
      v_ = builder_.op("Concat", {inputs_[kPastValue], v_}, {{"axis", int64_t{2}}});
    }
    // Query heads that share a key head lie behind one another: seen as more queries of that head, nothing needs to be repeated.
    const int64_t rows = a_.group() * a_.queries;
    const Expr grouped = reshape(q, {a_.batch, a_.kv_heads, rows, a_.head});
    const Expr turned = turn(k_);
    raw_ = reshape(builder_.op("MatMul", {grouped * a_.scale, turned}), a_.scores_shape());
    read_mask();
    capped_ = a_.softcap > 0 ? op("Tanh", {raw_ / a_.softcap}) * a_.softcap : raw_;
    const Expr biased = added_ ? capped_ + added_ : capped_;
    scores_ = allowed_ ? select(allowed_, biased, excluded()) : biased;
    const int64_t* precision = node_.find<int64_t>("softmax_precision");
    const DType wide = precision ? static_cast<DType>(*precision) : dtype_;
    const Expr wanted = wide == dtype_ ? scores_ : cast(scores_, wide);
    weights_ = builder_.op("Softmax", {wanted}, {{"axis", int64_t{-1}}});
    if (wide != dtype_) weights_ = cast(weights_, dtype_);
    if (node_.has_input(kMask) || node_.has_input(kUsedKeys) || a_.before >= 0) {  // a query that sees nothing
      const Expr largest = builder_.op("ReduceMax", {scores_, builder_.constant({-1})});
      weights_ = select(builder_.op("Equal", {largest, excluded()}), builder_.scalar(0, dtype_), weights_);
    }
  }
  Expr turn(const Expr& x) { return builder_.op("Transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}}); }
  Expr reshape(const Expr& x, const Shape& shape) {
    return builder_.op("Reshape", {x, builder_.constant(Ints(shape.begin(), shape.end()))}, {{"allowzero", int64_t{1}}});
  }
  Expr heads_first(const Expr& x, int64_t heads, int64_t length, int64_t width) {
    if (!a_.packed) return x;
    return builder_.op("Transpose", {reshape(x, {a_.batch, length, heads, width})}, {{"perm", Ints{0, 2, 1, 3}}});
  }
  Expr excluded() { return builder_.scalar(kExcluded, dtype_); }
  void allow(const Expr& condition) { allowed_ = allowed_ ? builder_.op("And", {allowed_, condition}) : condition; }
  Expr numbers(int64_t first, int64_t count, const Shape& shape) {
    Ints values(size(count));
    for (int64_t i = 0; i < count; ++i) values[size(i)] = first + i;
    return builder_.constant(Tensor::of_i64(shape, values));
  }

  void read_mask() {
    if (node_.has_input(kMask)) {
      const bool boolean = node_.input_dtype(kMask) == DType::boolean;
      Expr mask = boolean || node_.input_dtype(kMask) == dtype_ ? inputs_[kMask] : cast(inputs_[kMask], dtype_);
      const Shape& shape = node_.input_shape(kMask);
      if (shape.back() < a_.keys()) {
        Ints pads(2 * shape.rank());
        pads.back() = a_.keys() - shape.back();
        mask = builder_.op("Pad", {mask, builder_.constant(pads), boolean ? builder_.scalar(0, DType::boolean) : excluded()});
      }
      boolean ? allow(mask) : void(added_ = mask);
    }
    const Expr columns = numbers(0, a_.keys(), {a_.keys()});
    const Expr used = node_.has_input(kUsedKeys) ? reshape(inputs_[kUsedKeys], {a_.batch, 1, 1, 1}) : Expr();
    if (used) allow(builder_.op("Less", {columns, used}));
    if (a_.before < 0 && a_.after < 0) return;
    // How far the key lies behind the query.
    const int64_t first = used ? -a_.queries : a_.past;
    const Expr behind = columns - (used ? used + numbers(first, a_.queries, {a_.queries, 1}) : numbers(first, a_.queries, {a_.queries, 1}));
    if (a_.before >= 0) allow(builder_.op("GreaterOrEqual", {behind, builder_.constant({-a_.before})}));
    if (a_.after >= 0) allow(builder_.op("LessOrEqual", {behind, builder_.constant({a_.after})}));
  }

  const NodeView& node_;
  const AttentionGeometry a_;
  GraphBuilder& builder_;
  const Exprs& inputs_;
  const DType dtype_;
  Expr added_, allowed_;  // numbers to add to scores; where a query may look
  Expr k_, v_, raw_, capped_, scores_, weights_;
};

Exprs decompose(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) { return Decomposition(node, builder, inputs).build(); }

Shapes quantized_shapes(const NodeView& node) {
  for (size_t i = kQueryScale; i <= kAttentionZero; ++i)
    if (node.has_input(i) && !node.may_hold_one(i))
      node.fail("input {} (\"{}\") should hold one element, it has shape {}", i, node.input_name(i), node.input_sizes(i));
  if (node.has_input(kAttentionScale) != node.has_input(kAttentionZero))
    node.fail("give y_scale and y_zero_point both, or neither for a result in f32");
  return {attention_sizes(node)[kResult]};
}

/// In f32, without the rounding of weights.
Exprs decompose_quantized(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  const auto one = [&](size_t i) {
    return node.input_shape(i).rank() == 0 ? inputs[i] : op("Reshape", {inputs[i], builder.constant(Ints{})});
  };
  const auto real = [&](size_t i, size_t scale) {
    const Expr x = op("DequantizeLinear", {inputs[i], one(scale), one(scale + 1)});
    x.value()->type.dtype = DType::f32;
    return x;
  };
  Exprs factors = {real(kQuery, kQueryScale), real(kKey, kKeyScale), real(kValue, kValueScale)};
  if (node.has_input(kMask)) factors.push_back(inputs[kMask]);
  const Expr y = builder.op("Attention", factors, Attributes(node.node().attributes));
  if (!node.has_input(kAttentionScale)) return {y};
  y.value()->type.dtype = DType::f32;
  return {op("QuantizeLinear", {y, one(kAttentionScale), one(kAttentionZero)})};
}

constexpr DTypes kMasks = kNumeric | kBool;

// The two products; what a causal mask leaves out is counted too.
double operations(const NodeView& node) {
  const AttentionGeometry a = AttentionGeometry::of(node);
  return 2 * static_cast<double>(a.batch * a.q_heads * a.queries) * static_cast<double>(a.keys() * (a.head + a.v_head));
}

#if MINNOW_GRADIENTS
Shapes gradient_shapes(const NodeView& node) {
  const auto sizes = attention_sizes(node);
  const Sizes q = node.input_sizes(kQuery), k = node.input_sizes(kKey), v = node.input_sizes(kValue);
  if (q.rank() != 4 || differ(q[1], k[1]) || node.has_input(kPastKey) || node.has_input(kUsedKeys))
    node.fail("the gradient is that of heads with keys of their own, [batch, heads, length, size], and of no cache");
  if (const auto g = node.known_sizes(kGradient); g && differ(*g, sizes[kResult]))
    node.fail("the gradient should have shape {}, it has shape {}", sizes[kResult], *g);
  return {q, k, v};
}

Exprs gradient_parts(const NodeView& node, GraphBuilder& builder, const Exprs& inputs) {
  return Decomposition(node, builder, inputs).gradients();
}

/// In one node where it can be, which does not keep the scores of all heads.
Exprs gradient(const GradientContext& c) {
  const NodeView& node = c.node;
  const DType dtype = node.input_dtype(kQuery);
  bool alone = c.know_shapes() && (dtype == DType::f32 || dtype == DType::f64) && node.input_dtype(kValue) == dtype &&
               node.input_shape(kQuery).rank() == 4 && node.input_shape(kQuery)[1] == node.input_shape(kKey)[1] && !c.wants(kMask) &&
               node.attribute(kAttentionSoftcap) == 0;
  if (const int64_t* precision = node.find<int64_t>("softmax_precision")) alone = alone && *precision == static_cast<int64_t>(dtype);
  for (size_t i = kPastKey; i < c.inputs.size(); ++i) alone = alone && !c.has_input(i);
  for (size_t i = 1; i < c.output_gradients.size(); ++i) alone = alone && !c.output_gradient(i);
  if (!alone || AttentionGeometry::of(node).scores_shape().elements() == 0) {
    Exprs made = gradient_through(c, decompose);
    if (made.empty()) throw Unsupported("{}: the gradient of an Attention without scores is not there", node.where());
    return made;
  }
  Exprs inputs = c.inputs;
  inputs.resize(kGradient);
  inputs.push_back(c.output_gradient(kResult));
  Attributes attributes = {{"is_causal", int64_t{node.attribute(kAttentionCausal)}},
                           {"left_window_size", node.attribute(kAttentionLeft)},
                           {"right_window_size", node.attribute(kAttentionRight)}};
  if (const float* scale = node.find<float>("scale")) attributes.set("scale", *scale);
  return gradient_node(c, "minnow.AttentionGradient", inputs, attributes);
}
#endif

constexpr List<Operator> definitions() {
  constexpr DTypes kByte = one_of({DType::u8, DType::i8}), kF32 = one_of({DType::f32});
  return {
    {.name = kQuantizedAttention,
     .doc =
         MINNOW_DOC("Attention of quantized tensors. Scores are exact products of integers. The weights of a query's keys are rounded to "
                    "255 steps of the largest one, and divided by their sum behind the product with the values; where f32 is faster, "
                    "they are not rounded. Without y_scale and y_zero_point the result is f32."),
     .inputs = {{.name = "Q", .dtypes = kByte},
                {.name = "K", .dtypes = kByte},
                {.name = "V", .dtypes = kByte},
                {.name = "attn_mask", .dtypes = one_of({DType::f32, DType::boolean}), .arity = kOptional},
                {.name = "q_scale", .dtypes = kF32},
                {.name = "q_zero_point", .dtypes = kByte, .like = "Q"},
                {.name = "k_scale", .dtypes = kF32},
                {.name = "k_zero_point", .dtypes = kByte, .like = "K"},
                {.name = "v_scale", .dtypes = kF32},
                {.name = "v_zero_point", .dtypes = kByte, .like = "V"},
                {.name = "y_scale", .dtypes = kF32, .arity = kOptional},
                {.name = "y_zero_point", .dtypes = kByte, .arity = kOptional}},
     .outputs = {{"Y", same_as("y_zero_point", DType::f32)}},
     .attributes = {kAttentionCausal, kAttentionLeft, kAttentionRight,
                    optional("scale", AttributeKind::real, MINNOW_DOC("factor of the scores; 1 / sqrt(head size) where absent")),
                    optional("q_num_heads", AttributeKind::integer, MINNOW_DOC("for inputs of rank 3")),
                    optional("kv_num_heads", AttributeKind::integer, MINNOW_DOC("for inputs of rank 3"))},
     .infer_shapes = quantized_shapes,
     .reference = reference,
     .decompose = decompose_quantized,
     .operations = operations,
     .batch = batch_apart,
     .wants_constants = true},
#if MINNOW_GRADIENTS
        {.name = "minnow.AttentionGradient",
         .doc = MINNOW_DOC(
             "The gradients of Q, K and V of an Attention with these inputs and attributes, whose output has this gradient. Each "
             "query head has keys of its own. past_key, past_value and nonpad_kv_seqlen are left out."),
         .inputs = {{.name = "Q", .dtypes = kFloats},
                    {.name = "K", .dtypes = kFloats, .like = "Q"},
                    {.name = "V", .dtypes = kFloats, .like = "Q"},
                    {.name = "attn_mask", .dtypes = kMasks, .arity = kOptional},
                    {.name = "past_key", .dtypes = kFloats, .arity = kOptional, .like = "Q"},
                    {.name = "past_value", .dtypes = kFloats, .arity = kOptional, .like = "Q"},
                    {.name = "nonpad_kv_seqlen", .dtypes = kI64, .arity = kOptional},
                    {.name = "gradient", .dtypes = kFloats, .like = "Q"}},
         .outputs = {{"of_Q", same_as("Q"), kOptional}, {"of_K", same_as("Q"), kOptional}, {"of_V", same_as("Q"), kOptional}},
         .attributes = {kAttentionCausal, kAttentionLeft, kAttentionRight,
                        optional("scale", AttributeKind::real, MINNOW_DOC("factor of the scores; 1 / sqrt(head size) where absent"))},
         .infer_shapes = gradient_shapes,
         .decompose = gradient_parts,
         .operations = [](const NodeView& node) { return 2.5 * operations(node); },
         .batch = batch_apart},
#endif
    {
      .name = "Attention", .since = 25,
      .doc = MINNOW_DOC(
          "softmax(scale Q K^T + mask) V for each head. Fewer key and value heads than query heads are shared by consecutive "
          "query heads. Keys and values are put behind those of the cache. The soft cap c tanh(x / c) comes before the mask. A "
          "query that sees no key gives zeros. is_causal and the window count from the first key behind the cache, or so "
          "that the last query stands at the last of the nonpad_kv_seqlen keys. Source: Vaswani et al. 2017, "
          "arXiv:1706.03762; Ainslie et al. 2023, arXiv:2305.13245 (shared heads); Beltagy et al. 2020, arXiv:2004.05150 "
          "(windows)."),
      .inputs = {{.name = "Q", .dtypes = kFloats},
                 {.name = "K", .dtypes = kFloats, .like = "Q"},
                 {.name = "V", .dtypes = kFloats},
                 {.name = "attn_mask", .dtypes = kMasks, .arity = kOptional},
                 {.name = "past_key", .dtypes = kFloats, .arity = kOptional, .like = "Q"},
                 {.name = "past_value", .dtypes = kFloats, .arity = kOptional, .like = "V"},
                 {.name = "nonpad_kv_seqlen", .dtypes = kI64, .arity = kOptional}},
      .outputs = {{"Y", same_as("Q")},
                  {"present_key", same_as("Q"), kOptional},
                  {"present_value", same_as("V"), kOptional},
                  {"qk_matmul_output", same_as("Q"), kOptional}},
      .attributes = {kAttentionCausal,
                     kAttentionLeft,
                     kAttentionRight,
                     kAttentionSoftcap,
                     kAttentionScoresOutput,
                     optional("scale", AttributeKind::real, MINNOW_DOC("factor of the scores; 1 / sqrt(head size) where absent")),
                     optional("q_num_heads", AttributeKind::integer, MINNOW_DOC("for inputs of rank 3")),
                     optional("kv_num_heads", AttributeKind::integer, MINNOW_DOC("for inputs of rank 3")),
                     optional("softmax_precision", AttributeKind::integer, MINNOW_DOC("dtype that kernels should compute softmax in"))},
      .infer_shapes = shapes, .reference = reference, .decompose = decompose, .gradient = MINNOW_GRADIENT(gradient),
      .operations = operations, .batch = batch_apart
    }
  };
}

}  // namespace

std::span<const Operator> attention_operators() { return operator_table<definitions>(); }

}  // namespace minnow
