// SPDX-License-Identifier: Apache-2.0
// Operators that draw random numbers. With a seed every run gives the same numbers, without one every run gives others.
#include "ops/random.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numbers>

#include "ops/operator_table.h"

namespace minnow {

RandomStream random_stream(std::optional<uint64_t> seed) {
  static std::atomic<uint64_t> calls = 0;
  return seed ? RandomStream(*seed) : RandomStream(0, ++calls);
}

namespace {

constexpr Attribute<float> kMean{"mean", 0, MINNOW_DOC("mean")}, kScale{"scale", 1, MINNOW_DOC("standard deviation")};
constexpr Attribute<float> kLow{"low", 0, MINNOW_DOC("smallest number")}, kHigh{"high", 1, MINNOW_DOC("no number reaches it")};
constexpr Attribute<int64_t> kSampleSize{"sample_size", 1, MINNOW_DOC("numbers to draw for each row")};
constexpr Name kSeed = "seed", kShape = "shape", kDType = "dtype";

RandomStream stream_of(const NodeView& node) {
  const float* seed = node.find<float>(kSeed);
  return random_stream(seed ? std::optional<uint64_t>(std::bit_cast<uint32_t>(*seed)) : std::nullopt);
}

/// The dtype that the attribute names, or `fallback`, where it is one of `allowed`.
DType dtype_of(const NodeView& node, DType fallback, DTypes allowed) {
  const int64_t* number = node.find<int64_t>(kDType);
  const DType dtype = number ? static_cast<DType>(*number) : fallback;
  if ((number && (*number < 0 || *number > 26)) || !contains(allowed, dtype))
    node.fail("gives numbers of dtype {}, which is not possible", number ? std::to_string(*number) : to_string(dtype));
  return dtype;
}

void infer_from_attributes(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = dtype_of(node, DType::f32, kFloats);
  const Ints& shape = node.require<Ints>(kShape);
  for (int64_t dim : shape)
    if (dim < 0) node.fail("shape {} has a negative dimension", shape);
  if (shape.size() > kMaxRank) node.fail("shape {} has more than {} dimensions", shape, kMaxRank);
  outputs[0].shape = Shape(shape);
  outputs[0].shape.elements();
}

template <DTypes kAllowed>
void infer_like(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = dtype_of(node, node.input_dtype(0), kAllowed);
  outputs[0].set_sizes(node.input_sizes(0));
}

// Box, Muller 1958: two normal numbers from two uniform ones.
void normal(const NodeView& node, KernelArgs& args) {
  const double mean = static_cast<double>(node.attribute(kMean)), scale = static_cast<double>(node.attribute(kScale));
  RandomStream random = stream_of(node);
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  Pace pace;
  for (size_t i = 0; i < y.size(); i += 2) {
    pace.step(16);
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform())), angle = 2 * std::numbers::pi * random.uniform();
    y[i] = mean + scale * radius * std::cos(angle);
    if (i + 1 < y.size()) y[i + 1] = mean + scale * radius * std::sin(angle);
  }
  args.write(0, y);
}

void uniform(const NodeView& node, KernelArgs& args) {
  const double low = static_cast<double>(node.attribute(kLow)), high = static_cast<double>(node.attribute(kHigh));
  RandomStream random = stream_of(node);
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  Pace pace;
  for (double& value : y) {
    pace.step(8);
    value = low + (high - low) * random.uniform();
  }
  args.write(0, y);
}

void bernoulli(const NodeView& node, KernelArgs& args) {
  RandomStream random = stream_of(node);
  const Numbers<double> p = args.reals(0);
  Numbers<double> y(p.size());
  Pace pace;
  for (size_t i = 0; i < p.size(); ++i, pace.step(8)) y[i] = random.uniform() < p[i] ? 1 : 0;
  args.write(0, y);
}

void infer_multinomial(const NodeView& node, std::span<ValueInfo> outputs) {
  outputs[0].dtype = dtype_of(node, DType::i32, kIndex);
  const Sizes x = node.input_sizes(0);
  const int64_t count = node.attribute(kSampleSize);
  if (x.rank() != 2) node.fail("takes a matrix, its input is of shape {}", x);
  if (count < 0) node.fail("sample_size is {}", count);
  if (x[1].is(0) && less(0, x[0]) && count > 0) node.fail("there is no class to draw among in an input of shape {}", x);
  outputs[0].set_sizes({x[0], count});
}

void multinomial(const NodeView& node, KernelArgs& args) {
  RandomStream random = stream_of(node);
  const Numbers<double> x = args.reals(0);
  const Shape y_shape = args.output(0).shape();
  const size_t classes = static_cast<size_t>(args.input(0).dim(1)), count = static_cast<size_t>(y_shape[1]);
  Numbers<int64_t> y(static_cast<size_t>(y_shape.elements()));
  Numbers<double> sums(classes);
  Pace pace;
  for (size_t row = 0; row * count < y.size(); ++row) {
    const double* logits = x.data() + row * classes;
    const double largest = *std::max_element(logits, logits + classes);
    double sum = 0;
    pace.step(8 * classes);
    for (size_t i = 0; i < classes; ++i) sums[i] = sum += std::exp(logits[i] - largest);
    for (size_t i = 0; i < count; ++i) {
      pace.step(32);
      const auto at = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sum);
      y[row * count + i] = std::min<int64_t>(at - sums.begin(), static_cast<int64_t>(classes) - 1);
    }
  }
  args.write(0, y);
}

#if MINNOW_GRADIENTS  // layers in training draw by keys
Shapes keyed_shape(const NodeView& node) {
  if (node.input_sizes(0).rank() != 1 || less(2, node.input_sizes(0)[0]) || less(node.input_sizes(0)[0], 2))
    node.fail("the key should hold two numbers, it is of shape {}", node.input_sizes(0));
  if (node.input_sizes(1).rank() != 1) node.fail("a shape is a list, input 1 is of shape {}", node.input_sizes(1));
  const std::vector<Size> dims = node.sizes(1);
  if (dims.size() > kMaxRank) node.fail("makes a tensor of rank {}", dims.size());
  for (const Size dim : dims)
    if (less(dim, 0)) node.fail("shape {} has a negative dimension", dims);
  return {Sizes(dims)};
}

void keyed(const NodeView&, KernelArgs& args) {
  const uint32_t* key = args.input(0).data<uint32_t>();
  Numbers<double> y(static_cast<size_t>(args.output(0).elements()));
  Pace pace;
  for (size_t i = 0; i < y.size(); i += 4) {
    pace.step(64);
    const Philox::Block block = Philox::block({static_cast<uint32_t>(i / 4), static_cast<uint32_t>(i / 4 >> 32), 0, 0}, {key[0], key[1]});
    for (size_t k = i; k < std::min(i + 4, y.size()); ++k) y[k] = Philox::uniform(block[k - i]);
  }
  args.write(0, y);
}
#endif

constexpr AttributeSpec kSeedSpec = optional(kSeed, AttributeKind::real, MINNOW_DOC("without one every run gives other numbers"));
constexpr AttributeSpec kDTypeSpec = optional(kDType, AttributeKind::integer, MINNOW_DOC("dtype of the result, as ONNX numbers it"));

constexpr Operator row(Name name, std::string_view doc, List<AttributeSpec> attributes,
                       void (*infer)(const NodeView&, std::span<ValueInfo>), void (*reference)(const NodeView&, KernelArgs&)) {
  attributes.append({kSeedSpec, kDTypeSpec});
  return {.name = name,
          .since = 22,
          .doc = doc,
          .outputs = {{"output", from_attribute(kDType, DType::f32)}},
          .attributes = std::move(attributes),
          .infer = infer,
          .reference = reference,
          .pure = false};
}

constexpr Operator with_input(Operator op, DTypes dtypes) {
  op.inputs = {{"input", dtypes}};
  return op;
}

constexpr List<Operator> definitions() {
  const AttributeSpec shape = required(kShape, AttributeKind::integers, MINNOW_DOC("of the result"));
  return {
    row("RandomNormal", MINNOW_DOC("Normal numbers (Box, Muller 1958) of a given shape."), {shape, kMean, kScale}, infer_from_attributes,
        normal),
        with_input(row("RandomNormalLike", MINNOW_DOC("Normal numbers of the input's shape and, unless another is named, its dtype."),
                       {kMean, kScale}, infer_like<kFloats>, normal),
                   kAny),
        row("RandomUniform", MINNOW_DOC("Numbers of equal chance in [low, high) of a given shape."), {shape, kLow, kHigh},
            infer_from_attributes, uniform),
        with_input(row("RandomUniformLike",
                       MINNOW_DOC("Numbers of equal chance in [low, high) of the input's shape and, unless another is named, its dtype."),
                       {kLow, kHigh}, infer_like<kFloats>, uniform),
                   kAny),
        with_input(row("Bernoulli", MINNOW_DOC("1 with the probability that the input holds, else 0."), {}, infer_like<kNumeric | kBool>,
                       bernoulli),
                   kFloats),
        with_input(row("Multinomial",
                       MINNOW_DOC("Classes drawn with the probabilities whose logarithms, up to a constant, each row of the input holds."),
                       {kSampleSize}, infer_multinomial, multinomial),
                   kFloats),
#if MINNOW_GRADIENTS
        {.name = "minnow.KeyedUniform",
         .doc = MINNOW_DOC(
             "Numbers of equal chance in [0, 1), a multiple of 2^-24 each, that the key alone decides: element i is made of word i "
             "% 4 of the Philox block with counter i / 4. Source: Salmon et al. 2011, \"Parallel random numbers: as easy as 1, "
             "2, 3\"."),
         .inputs = {{"key", one_of({DType::u32})}, {"shape", kI64}},
         .outputs = {{"output", fixed(DType::f32)}},
         .infer_shapes = keyed_shape,
         .reference = keyed},
#endif
  };
}

}  // namespace

std::span<const Operator> random_operators() { return operator_table<definitions>(); }

}  // namespace minnow
