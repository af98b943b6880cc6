// SPDX-License-Identifier: Apache-2.0
// A convolution or a matrix product takes in its neighbours: bias, a tensor that is added, an
// activation; transposed and scaled factors; a first layer's image with its channels last. The result is minnow.FusedConv or
// minnow.FusedMatMul.
#include <cmath>
#include <limits>

#include "graph/activation.h"
#include "graph/window.h"
#include "passes/permute.h"
#include "passes/rewrite.h"

namespace minnow {
namespace {

/// A product with the nodes that it has absorbed so far.
struct Parts {
  std::string_view op;  // of the fused node
  Value *a = nullptr, *b = nullptr, *bias = nullptr, *z = nullptr;
  Attributes attributes;
  bool has_activation = false;

  float alpha() const {
    const float* value = attributes.get<float>("alpha");
    return value ? *value : 1.0f;
  }
};

std::optional<Parts> parts_of(Graph& graph, const Node& node) {
  if (!node.input(0) || !node.input(1) || !node.output(0) || !is_float(node.output(0)->type.dtype)) return {};
  Parts parts{is_conv(node) ? "minnow.FusedConv" : "minnow.FusedMatMul",
              node.input(0),
              node.input(1),
              node.input(2),
              node.input(3),
              node.attributes,
              !text_attribute(node, kActivation.name).empty()};
  if (node.op() == "Gemm") {
    const float beta = real_attribute(node, "beta", 1);
    if (parts.bias && beta != 1) {
      auto values = reals_of(parts.bias);
      if (!values) return {};
      for (double& value : *values) value *= static_cast<double>(beta);
      parts.bias =
          &add_reals(graph, parts.bias->type.dtype, parts.bias->constant()->shape(), *values, graph.fresh_name(parts.bias->name()));
    }
    parts.attributes.remove("beta");
  }
  return parts;
}

class ProductFuser {
 public:
  ProductFuser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0)) continue;
      if (is_matmul(node)) {
        take_factors(node);
      } else if (is_conv(node)) {
        take_image(node);
      } else {
        join_product(node);
      }
    }
  }

 private:
  /// The producer of `value`, if it is a product with `user` as its only user.
  Node* product_for(const Value* value, const Node& user) const {
    Node* product = value ? value->producer() : nullptr;
    if (!product || (!is_conv(*product) && !is_matmul(*product)) || product->output_count() != 1) return nullptr;
    return sole_user(*value) == &user ? product : nullptr;
  }

  void fuse(Node& user, Node& product, const Parts& parts) {
    context_.changed("{} took in {}", label_of(product), label_of(user));
    replace(*user.output(0), parts.op, {parts.a, parts.b, parts.bias, parts.z}, parts.attributes, product.name());
    remove_dead(user);
  }

  void join_product(Node& node) {
    if (node.op() == "Add") {
      for (size_t i = 0; i < 2; ++i) {
        Node* product = product_for(node.input(i), node);
        if (product && node.input(1 - i) &&
            (add_bias(node, *product, *node.input(1 - i)) || add_tensor(node, *product, *node.input(1 - i))))
          return;
      }
    } else if (node.op() == "Mul" || node.op() == "Div") {
      scale(node);
    } else if (Node* product = product_for(node.input(0), node)) {
      activate(node, *product);
    }
  }

  /// A constant that is broadcast along the rows of a product.
  bool add_bias(Node& node, Node& product, Value& bias) {
    if (!is_matmul(product) || !bias.constant()) return false;
    const Shape& shape = bias.constant()->shape();
    const Value& y = *product.output(0);
    const auto rank = rank_of(y);
    const int64_t columns = dim_of(y, -1).value_or(-1);
    if (!rank || *rank == 0 || shape.rank() > *rank || !same_dtype(bias, y)) return false;
    for (size_t i = 0; i < shape.rank(); ++i)
      if (shape[i] != 1 && (i + 1 != shape.rank() || shape[i] != columns)) return false;
    auto parts = parts_of(graph_, product);
    if (!parts || parts->bias || parts->z || parts->has_activation) return false;
    parts->bias = shape.rank() < 2
                      ? &bias  // a vector has one form, whatever the rank of the tensor to which it was added
                      : &graph_.add_constant(bias.constant()->reshaped(Shape{shape[shape.rank() - 1]}), graph_.fresh_name(bias.name()));
    fuse(node, product, *parts);
    return true;
  }

  /// The other arm of a residual block, of exactly the result's shape.
  bool add_tensor(Node& node, Node& product, Value& z) {
    const Value& y = *product.output(0);
    if (!same_shape(z, y) || !same_dtype(z, y) || z.constant()) return false;
    auto parts = parts_of(graph_, product);
    if (!parts || parts->z || parts->has_activation) return false;
    parts->z = &z;
    fuse(node, product, *parts);
    return true;
  }

  /// A number that a product is multiplied with or divided by.
  void scale(Node& node) {
    for (size_t i = 0; i < (node.op() == "Mul" ? 2u : 1u); ++i) {
      Node* product = product_for(node.input(i), node);
      const auto number = scale_beside(node, i);
      if (!product || !is_matmul(*product) || !number) continue;
      auto parts = parts_of(graph_, *product);
      if (!parts || parts->bias || parts->z || parts->has_activation) continue;
      parts->attributes.set("alpha", static_cast<float>(parts->alpha() * *number));
      return fuse(node, *product, *parts);
    }
  }

  /// The number by which a Mul or Div multiplies input `i`, if the shape does not change.
  static std::optional<double> scale_beside(const Node& node, size_t i) {
    const Value *x = node.input(i), *other = node.input(1 - i);
    const auto number = scalar_of(other);
    if (!x || !number || !same_rank(*x, *node.output(0)) || *number == 0) return {};
    const double factor = node.op() == "Mul" ? *number : 1 / *number;
    // Larger factors could make products of scaled numbers overflow although scaled products do not.
    return std::fabs(factor) <= 1e15 && std::fabs(factor) >= 1e-15 ? std::optional(factor) : std::nullopt;
  }
  static bool same_rank(const Value& a, const Value& b) { return rank_of(a) && rank_of(a) == rank_of(b); }

  void activate(Node& node, Node& product) {
    const auto activation = activation_of(node);
    if (!activation) return;
    auto parts = parts_of(graph_, product);
    if (!parts || parts->has_activation) return;
    activation->write(parts->attributes);
    fuse(node, product, *parts);
  }

  /// Lets the first layer of a network read a channels-last image directly, if it has so few channels that schemes can.
  void take_image(Node& node) {
    constexpr int64_t kMostChannels = 4;
    const Node* transpose = made_by(node.input(0), "Transpose");
    const auto perm = transpose ? permutation_of(*transpose) : std::nullopt;
    if (!perm || sole_user(*node.input(0)) != &node || node.input(0)->type.dtype != DType::f32) return;
    const size_t rank = perm->size();
    Permutation wanted = {0, static_cast<int64_t>(rank) - 1};
    for (size_t axis = 1; axis + 1 < rank; ++axis) wanted.push_back(static_cast<int64_t>(axis));
    if ((rank != 3 && rank != 4) || *perm != wanted || !node.input(1) || !node.input(1)->constant()) return;
    if (int_attribute(node, "group", 1) != 1 || dim_of(*node.input(1), 1).value_or(kMostChannels + 1) > kMostChannels) return;
    if (int_attribute(node, kChannelsLast.name, 0)) return;
    auto parts = parts_of(graph_, node);
    if (!parts) return;
    parts->a = transpose->input(0);
    parts->attributes.set(std::string(kChannelsLast.name), int64_t{1});
    context_.changed("{} took in the order of its image's channels", label_of(node));
    replace(*node.output(0), parts->op, {parts->a, parts->b, parts->bias, parts->z}, parts->attributes, node.name());
    remove_dead(node);
  }

  /// Factors that are scaled by a number, or whose last two dimensions are swapped. Constants were folded before.
  void take_factors(Node& node) {
    std::optional<Parts> parts = parts_of(graph_, node);
    if (!parts) return;
    bool changed = false;
    for (size_t i = 0; i < 2; ++i)
      while (take_scale(*parts, i, node) || take_transpose(*parts, i, node)) changed = true;
    if (!changed) return;
    context_.changed("{} took in what made its factors", label_of(node));
    replace(*node.output(0), parts->op, {parts->a, parts->b, parts->bias, parts->z}, parts->attributes);
    remove_dead(node);
  }

  static bool take_scale(Parts& parts, size_t i, const Node&) {
    Value*& factor = i == 0 ? parts.a : parts.b;
    Node* maker = factor->producer();
    // Behind a Transpose, which moves the same numbers.
    if (Node* transpose = made_by(factor, "Transpose"); transpose && has_one_use(*factor) && transpose->input(0)) {
      Value* scaled = transpose->input(0);
      Node* inner = scaled->producer();
      if (!inner || (inner->op() != "Mul" && inner->op() != "Div") || sole_user(*scaled) != transpose) return false;
      for (size_t k = 0; k < (inner->op() == "Mul" ? 2u : 1u); ++k) {
        const auto number = scale_beside(*inner, k);
        if (!number) continue;
        parts.attributes.set("alpha", static_cast<float>(parts.alpha() * *number));
        transpose->set_input(0, inner->input(k));
        transpose->output(0)->rename(transpose->graph().fresh_name(transpose->output(0)->name()));
        remove_dead(*inner);
        return true;
      }
      return false;
    }
    if (!maker || (maker->op() != "Mul" && maker->op() != "Div") || !has_one_use(*factor)) return false;
    for (size_t k = 0; k < (maker->op() == "Mul" ? 2u : 1u); ++k) {
      const auto number = scale_beside(*maker, k);
      if (!number) continue;
      parts.attributes.set("alpha", static_cast<float>(parts.alpha() * *number));
      factor = maker->input(k);
      return true;
    }
    return false;
  }

  static bool take_transpose(Parts& parts, size_t i, const Node& node) {
    Value*& factor = i == 0 ? parts.a : parts.b;
    Node* maker = made_by(factor, "Transpose");
    const Ints* order = maker ? ints_attribute(*maker, "perm") : nullptr;
    if (!order || order->size() < 2 || !has_one_use(*factor)) return false;
    if (node.op() == "Gemm" && order->size() != 2) return false;
    const int64_t rank = static_cast<int64_t>(order->size());
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t expected = axis < rank - 2 ? axis : axis == rank - 2 ? rank - 1 : rank - 2;
      if ((*order)[static_cast<size_t>(axis)] != expected) return false;
    }
    const std::string_view name = i == 0 ? "transA" : "transB";
    const int64_t* swapped = parts.attributes.get<int64_t>(name);
    parts.attributes.set(name, int64_t{!(swapped && *swapped)});
    factor = maker->input(0);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

void fuse_products(Graph& graph, PassContext& context) { ProductFuser(graph, context).run(); }

}  // namespace minnow
