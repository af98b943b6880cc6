// SPDX-License-Identifier: Apache-2.0
// Layers of one operator each.
#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "train/nn/ops.h"

namespace minnow::nn {
namespace {

using expr::Attributes;
using Ints = std::vector<int64_t>;

Ints per_axis(const PerAxis& given, size_t axes) {
  if (given.size() == axes) return given;
  if (given.size() != 1) throw InvalidArgument("{} numbers are expected, {} are given", axes, given.size());
  return Ints(axes, given[0]);
}
Ints twice(Ints values) {
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(values[i]);
  return values;
}

Ints shape_of(const Var& x) {
  const Shape shape = x.shape();
  return Ints(shape.begin(), shape.end());
}

Tensor filled_tensor(const Shape& shape, float value) {
  Tensor tensor(DType::f32, shape);
  std::fill_n(tensor.writable().data<float>(), tensor.elements(), value);
  return tensor;
}

struct ActivationRow {
  std::string_view name, op;
  std::string_view attribute = {};  // that has another default than the operator's
  float value = 0;
};
constexpr ActivationRow kActivations[] = {{"celu", "Celu"},
                                          {"elu", "Elu"},
                                          {"gelu", "Gelu"},
                                          {"hardsigmoid", "HardSigmoid", "alpha", 1.0f / 6},
                                          {"hardswish", "HardSwish"},
                                          {"leaky_relu", "LeakyRelu"},
                                          {"log_softmax", "LogSoftmax"},
                                          {"mish", "Mish"},
                                          {"relu", "Relu"},
                                          {"selu", "Selu"},
                                          {"sigmoid", "Sigmoid"},
                                          {"silu", "Swish"},
                                          {"softmax", "Softmax"},
                                          {"softplus", "Softplus"},
                                          {"softsign", "Softsign"},
                                          {"tanh", "Tanh"}};

}  // namespace

// ---- Layer

std::vector<std::pair<std::string, Var>> Layer::buffers() const {
  auto found = buffers_;
  for (const auto& [name, layer] : layers_)
    for (const auto& [inner, value] : layer->buffers()) found.emplace_back(name + "." + inner, value);
  return found;
}

std::map<std::string, Tensor> Layer::state_dict() const try {
  std::map<std::string, Tensor> state;
  const std::set<std::string> merged = names_of_merged_adapters(*this);  // their change is in the weights
  for (const auto& [name, value] : Module::parameters())
    if (!merged.contains(name)) state.emplace(name, value.tensor());
  for (const auto& [name, value] : buffers()) state.emplace(name, value.tensor());
  return state;
} catch (...) {
  throw_as_error();
}

void Layer::load_state_dict(const std::map<std::string, Tensor>& state) try {
  auto own = Module::parameters();
  const std::set<std::string> merged = names_of_merged_adapters(*this);
  std::erase_if(own, [&](const auto& row) { return merged.contains(row.first); });
  for (auto& row : buffers()) own.push_back(std::move(row));
  std::map<std::string, Var> named(own.begin(), own.end());
  for (const auto& [name, value] : named) {
    const auto found = state.find(name);
    if (found == state.end()) throw InvalidArgument("the state has no \"{}\"", name);
    const Tensor &given = found->second, is = value.tensor();
    if (given.dtype() != is.dtype() || !(given.shape() == is.shape()))
      throw InvalidArgument("\"{}\" is {}{}, it is given {}{}", name, is.dtype(), is.shape(), given.dtype(), given.shape());
  }
  for (const auto& [name, value] : state)
    if (!named.contains(name)) throw InvalidArgument("the state has \"{}\", the layer has not", name);
  for (const auto& [name, value] : named) value.assign(Var(state.at(name)));
} catch (...) {
  throw_as_error();
}

Var Layer::uniform(std::string name, const Shape& shape, double bound) {
  const Var drawn = op("minnow.KeyedUniform", {random_key(), ints(Ints(shape.begin(), shape.end()))});
  return parameter(std::move(name), (drawn * (2 * bound) - bound).tensor());
}
Var Layer::filled(std::string name, const Shape& shape, float value) { return parameter(std::move(name), filled_tensor(shape, value)); }
Var Layer::buffer(std::string name, Tensor initial) {
  Var made{std::move(initial)};
  buffers_.emplace_back(std::move(name), made);
  return made;
}

Sequential::Sequential(std::vector<std::shared_ptr<Layer>> layers) : order_(std::move(layers)) {
  for (size_t i = 0; i < order_.size(); ++i) layer(std::to_string(i), order_[i]);
}
Vars Sequential::forward(const Vars& x) {
  Vars values = x;
  for (const auto& each : order_) values = each->forward(values);
  return values;
}

// ---- Products, convolutions, pools

Linear::Linear(int64_t in, int64_t out, bool has_bias) {
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(in, 1)));
  weight = uniform("weight", {out, in}, bound);
  if (has_bias) bias = uniform("bias", {out}, bound);
}
Vars Linear::forward(const Vars& x) {
  const Var w = adapted(weight);
  if (first_of(x).rank() == 2) {
    Vars inputs{x[0], w};
    if (bias.has_value()) inputs.push_back(bias);
    return {op("Gemm", std::move(inputs), {{"transB", int64_t{1}}})};
  }
  const Var product = op("MatMul", {x[0], op("Transpose", {w})});
  return {bias.has_value() ? product + bias : product};
}

Embedding::Embedding(int64_t count, int64_t size) { weight = parameter("weight", normal_numbers({count, size}).tensor()); }
Vars Embedding::forward(const Vars& x) { return {op("Gather", {weight, first_of(x)})}; }

Activation::Activation(std::string_view name, Attributes settings) : attributes_(std::move(settings)) {
  const auto row =
      std::find_if(std::begin(kActivations), std::end(kActivations), [&](const ActivationRow& each) { return each.name == name; });
  if (row == std::end(kActivations)) {
    std::vector<std::string> names;
    for (const ActivationRow& each : kActivations) names.emplace_back(each.name);
    throw InvalidArgument("there is no activation \"{}\"{}", name, nearest(name, names));
  }
  op_ = row->op;
  if (!row->attribute.empty()) attributes_.insert(attributes_.begin(), {std::string(row->attribute), row->value});
}
Vars Activation::forward(const Vars& x) { return {op(op_, {first_of(x)}, attributes_)}; }

Convolution::Convolution(size_t axes, bool transposed, int64_t in, int64_t out, PerAxis kernel, ConvOptions o)
    : op_(transposed ? "ConvTranspose" : "Conv") {
  if (o.groups < 1 || in % o.groups != 0 || out % o.groups != 0)
    throw InvalidArgument("groups divide the channels, there are {} for {} and {} channels", o.groups, in, out);
  Shape shape{transposed ? in : out, (transposed ? out : in) / o.groups};
  for (const int64_t size : per_axis(kernel, axes)) shape.push_back(size);
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(shape.product(1, shape.rank()), 1)));
  weight = uniform("weight", shape, bound);
  if (o.bias) bias = uniform("bias", {out}, bound);
  attributes_ = {{"strides", per_axis(o.stride, axes)},
                 {"pads", twice(per_axis(o.padding, axes))},
                 {"dilations", per_axis(o.dilation, axes)},
                 {"group", o.groups}};
  if (transposed) attributes_.emplace_back("output_padding", per_axis(o.output_padding, axes));
}
Vars Convolution::forward(const Vars& x) {
  Vars inputs{first_of(x), adapted(weight)};
  if (bias.has_value()) inputs.push_back(bias);
  return {op(op_, std::move(inputs), attributes_)};
}

Pool::Pool(size_t axes, PoolKind kind, PerAxis sizes, PoolOptions o) : axes_(axes), kind_(kind), sizes_(per_axis(sizes, axes)) {
  if (kind == PoolKind::adaptive_max || kind == PoolKind::adaptive_average) return;
  attributes_ = {{"kernel_shape", sizes_},
                 {"strides", o.stride.empty() ? sizes_ : per_axis(o.stride, axes)},
                 {"pads", twice(per_axis(o.padding, axes))},
                 {"ceil_mode", static_cast<int64_t>(o.ceil_mode)}};
  if (kind == PoolKind::max)
    attributes_.emplace_back("dilations", per_axis(o.dilation, axes));
  else
    attributes_.emplace_back("count_include_pad", static_cast<int64_t>(o.count_include_pad));
}
Vars Pool::forward(const Vars& x) {
  const char* const name = kind_ == PoolKind::max || kind_ == PoolKind::adaptive_max ? "MaxPool" : "AveragePool";
  if (!attributes_.empty()) return {op(name, {first_of(x)}, attributes_)};
  const Ints shape = shape_of(first_of(x));
  if (shape.size() != axes_ + 2) throw InvalidArgument("the input has {} axes, it has {}", axes_ + 2, shape.size());
  Ints kernel;
  for (size_t i = 0; i < axes_; ++i) {
    if (sizes_[i] < 1 || shape[i + 2] % sizes_[i] != 0)
      throw InvalidArgument("the sizes of an adaptive pool divide those of the input: {} does not divide {}", sizes_[i], shape[i + 2]);
    kernel.push_back(shape[i + 2] / sizes_[i]);
  }
  return {op(name, {x[0]}, {{"kernel_shape", kernel}, {"strides", kernel}})};
}

// ---- Normalizations

BatchNorm::BatchNorm(int64_t channels, double eps, double momentum) : eps_(eps), momentum_(momentum) {
  weight = filled("weight", {channels}, 1), bias = filled("bias", {channels}, 0);
  running_mean = buffer("running_mean", filled_tensor({channels}, 0)), running_var = buffer("running_var", filled_tensor({channels}, 1));
  num_batches_tracked = buffer("num_batches_tracked", Tensor::scalar_i64(0));
}
Vars BatchNorm::forward(const Vars& x) {
  const float eps = static_cast<float>(eps_);
  if (!is_training())
    return {op("BatchNormalization", {first_of(x), weight, bias, read_buffer(running_mean), read_buffer(running_var)}, {{"epsilon", eps}})};
  const Shape shape = first_of(x).shape();
  const double count = shape.rank() < 2 || shape[1] == 0 ? 0 : static_cast<double>(shape.elements() / shape[1]);
  if (count <= 1) throw InvalidArgument("training needs more than one element for each channel, the input has the shape {}", shape);
  const Var zero = filled_tensor({shape[1]}, 0);
  const Vars made = expr::ops("BatchNormalization", {x[0], weight, bias, zero, zero}, 3,
                              {{"epsilon", eps}, {"training_mode", int64_t{1}}, {"momentum", 0.0f}});
  update_buffer(running_mean, read_buffer(running_mean) * (1 - momentum_) + made[1] * momentum_);
  update_buffer(running_var, read_buffer(running_var) * (1 - momentum_) + made[2] * (momentum_ * count / (count - 1)));
  update_buffer(num_batches_tracked, read_buffer(num_batches_tracked) + 1);
  return {made[0]};
}

Normalization::Normalization(std::string op, const Shape& shape, bool has_bias, Attributes attributes)
    : op_(std::move(op)), attributes_(std::move(attributes)) {
  weight = filled("weight", shape, 1);
  if (has_bias) bias = filled("bias", shape, 0);
}
Vars Normalization::forward(const Vars& x) {
  Vars inputs{first_of(x), weight};
  if (bias.has_value()) inputs.push_back(bias);
  return {op(op_, std::move(inputs), attributes_)};
}
LayerNorm::LayerNorm(const Shape& shape, double eps)
    : Normalization("LayerNormalization", shape, true,
                    {{"axis", -static_cast<int64_t>(shape.rank())}, {"epsilon", static_cast<float>(eps)}}) {}
RMSNorm::RMSNorm(const Shape& shape, double eps)
    : Normalization("RMSNormalization", shape, false,
                    {{"axis", -static_cast<int64_t>(shape.rank())}, {"epsilon", static_cast<float>(eps)}}) {}
GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps)
    : Normalization("GroupNormalization", {channels}, true, {{"num_groups", groups}, {"epsilon", static_cast<float>(eps)}}) {
  if (groups < 1 || channels % groups != 0)
    throw InvalidArgument("groups divide the channels, there are {} for {} channels", groups, channels);
}
InstanceNorm::InstanceNorm(int64_t channels, double eps)
    : Normalization("InstanceNormalization", {channels}, true, {{"epsilon", static_cast<float>(eps)}}) {}

// ---- Dropout, movement

Dropout::Dropout(double p, size_t axes) : p_(p), axes_(axes) {
  if (!(p >= 0 && p <= 1)) throw InvalidArgument("a probability is between 0 and 1, p is {}", p);
}
Vars Dropout::forward(const Vars& x) {
  if (!is_training() || p_ == 0) return {first_of(x)};
  if (p_ == 1) return {first_of(x) * 0};
  Ints shape = shape_of(first_of(x));
  for (size_t i = 0; i < std::min(axes_, shape.size()); ++i) shape[shape.size() - 1 - i] = 1;
  const Var drawn = op("minnow.KeyedUniform", {random_key(), ints(shape)});
  return {op("Where", {op("Less", {drawn, like(1 - p_, drawn)}), x[0] * (1 / (1 - p_)), like(0, x[0])})};
}

Vars Flatten::forward(const Vars& x) {
  if (start_ == 1) return {op("Flatten", {first_of(x)})};
  Ints shape = shape_of(first_of(x));
  shape.resize(std::min(shape.size(), static_cast<size_t>(std::max<int64_t>(start_, 0))));
  shape.push_back(-1);
  return {op("Reshape", {x[0], ints(shape)})};
}

Vars Unflatten::forward(const Vars& x) {
  Ints shape = shape_of(first_of(x));
  const int64_t rank = static_cast<int64_t>(shape.size()), axis = axis_ < 0 ? axis_ + rank : axis_;
  if (axis < 0 || axis >= rank) throw InvalidArgument("Unflatten: axis {} is none of an input of {} axes", axis_, rank);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, sizes_.begin(), sizes_.end());
  return {op("Reshape", {x[0], ints(shape)})};
}

Vars PixelShuffle::forward(const Vars& x) {
  return {op("DepthToSpace", {first_of(x)}, {{"blocksize", factor_}, {"mode", std::string("CRD")}})};
}
/// SpaceToDepth has the channels of one place together; torch has the places of one channel together.
Vars PixelUnshuffle::forward(const Vars& x) {
  const Ints shape = shape_of(first_of(x));
  if (shape.size() != 4 || factor_ < 1 || shape[2] % factor_ != 0 || shape[3] % factor_ != 0)
    throw InvalidArgument("PixelUnshuffle: an input [N, C, H, W] whose height and width {} divides is wanted, not {}", factor_,
                          first_of(x).shape());
  const int64_t rows = shape[2] / factor_, columns = shape[3] / factor_;
  const Var parts = op("Reshape", {x[0], ints({shape[0], shape[1], rows, factor_, columns, factor_})});
  const Var moved = op("Transpose", {parts}, {{"perm", Ints{0, 1, 3, 5, 2, 4}}});
  return {op("Reshape", {moved, ints({shape[0], shape[1] * factor_ * factor_, rows, columns})})};
}

Upsample::Upsample(UpsampleOptions options) try : options_(std::move(options)) {
  struct Mode {
    std::string_view name, mode, coordinates, nearest;
  };
  constexpr Mode kModes[] = {{"nearest", "nearest", "asymmetric", "floor"},
                             {"nearest-exact", "nearest", "half_pixel", "round_prefer_ceil"},
                             {"linear", "linear", "", ""},
                             {"bilinear", "linear", "", ""},
                             {"trilinear", "linear", "", ""},
                             {"bicubic", "cubic", "", ""}};
  std::vector<std::string> names;
  const Mode* found = nullptr;
  for (const Mode& mode : kModes) {
    names.emplace_back(mode.name);
    if (mode.name == options_.mode) found = &mode;
  }
  if (!found) throw InvalidArgument("there is no mode \"{}\"{}", options_.mode, nearest(options_.mode, names));
  if (options_.size.empty() == options_.scale.empty()) throw InvalidArgument("Upsample takes either size or scale");
  attributes_ = {{"mode", std::string(found->mode)}};
  if (found->nearest.empty()) {
    attributes_.emplace_back("coordinate_transformation_mode",
                             std::string(options_.align_corners ? "align_corners" : "pytorch_half_pixel"));
    if (found->mode == "cubic") attributes_.emplace_back("cubic_coeff_a", -0.75f);
  } else {
    attributes_.emplace_back("coordinate_transformation_mode", std::string(found->coordinates));
    attributes_.emplace_back("nearest_mode", std::string(found->nearest));
  }
} catch (...) {
  throw_as_error();
}

Vars Upsample::forward(const Vars& x) {
  Ints shape = shape_of(first_of(x));
  const size_t axes = std::max<size_t>(shape.size(), 2) - 2;
  std::vector<float> factors{1, 1};
  for (size_t i = 0; i < axes && !options_.scale.empty(); ++i) {
    const double factor = options_.scale.size() == 1 ? options_.scale[0] : options_.scale.at(i);
    factors.push_back(static_cast<float>(factor));
    shape[i + 2] = static_cast<int64_t>(static_cast<double>(shape[i + 2]) * factor);
  }
  if (!options_.size.empty()) {
    const PerAxis sizes = per_axis(options_.size, axes);
    std::copy(sizes.begin(), sizes.end(), shape.begin() + 2);
  }
  if (!options_.scale.empty() && !options_.align_corners)
    return {op("Resize", {x[0], Var(), Tensor::of_f32({static_cast<int64_t>(factors.size())}, factors)}, attributes_)};
  return {op("Resize", {x[0], Var(), Var(), ints(shape)}, attributes_)};
}

Bilinear::Bilinear(int64_t in1, int64_t in2, int64_t out, bool has_bias) {
  const double bound = 1 / std::sqrt(std::max<double>(static_cast<double>(in1), 1));
  weight = uniform("weight", {out, in1, in2}, bound);
  if (has_bias) bias = uniform("bias", {out}, bound);
}
Vars Bilinear::forward(const Vars& x) {
  if (x.size() != 2) throw InvalidArgument("Bilinear takes two inputs, {} are given", x.size());
  const Var made = op("Einsum", {x[0], weight, x[1]}, {{"equation", std::string("...i,kij,...j->...k")}});
  return {bias.has_value() ? made + bias : made};
}

ModuleList::ModuleList(std::vector<std::shared_ptr<Layer>> layers) : order_(std::move(layers)) {
  for (size_t i = 0; i < order_.size(); ++i) layer(std::to_string(i), order_[i]);
}
Vars ModuleList::forward(const Vars&) { throw InvalidArgument("a ModuleList is not called; call the modules in it"); }

}  // namespace minnow::nn
