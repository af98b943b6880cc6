// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and RMSNormalization in elementary operators: x (or x less its mean) divided by the root of the mean of its squares;
// or, expanded, x * s + (bias - mean * s), where s is the scale divided by that root.
#include <numeric>

#include "passes/match.h"

namespace minnow {
namespace {

struct Normalized {
  Value* x = nullptr;     // the normalized value
  bool centered = false;  // the mean is subtracted first
  size_t axis = 0;        // the first of the last dimensions, over which it is normalized
  float epsilon = 0;
  Value *scale = nullptr, *bias = nullptr;  // constants found already
};

class NormalizationRaiser {
 public:
  NormalizationRaiser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0) || !is_float(node.output(0)->type.dtype)) continue;
      if (node.op() == "Mul" || node.op() == "Div") {
        if (const auto found = normalized(node)) raise(node, *found);
      } else if (node.op() == "Add") {
        if (const auto found = resolved(node)) raise_resolved(node, *found);
      }
    }
    replaced_.remove();
  }

 private:
  /// The first axis of a mean over the last dimensions of x that keeps them.
  static std::optional<size_t> mean_axis(const Node* mean, const Value& x) {
    const auto axes = mean ? ints_of(mean->input(1)) : std::nullopt;
    const auto rank = rank_of(x);
    if (!axes || axes->empty() || !rank || int_attribute(*mean, "keepdims", 1) == 0) return {};
    std::vector<bool> reduced(*rank);
    for (int64_t axis : *axes) {
      const auto place = positive_axis(axis, *rank);
      if (!place) return {};
      reduced[*place] = true;
    }
    const size_t first = *rank - axes->size();
    for (size_t i = 0; i < *rank; ++i)
      if (reduced[i] != (i >= first)) return {};
    return first;
  }

  /// True if `value` is x * x.
  static bool is_square_of(const Value* value, const Value& x) {
    const auto square = polynomial_in(value, x);
    return square && *square == Polynomial{0, 0, 1, 0};
  }

  /// The number v in sqrt(v) or 1 / sqrt(v).
  static const Value* under_root(const Value* value) {
    const Node* node = value ? value->producer() : nullptr;
    if (!node) return nullptr;
    if (node->op() == "Sqrt") return node->input(0);
    if (node->op() == "Pow" && is_scalar(node->input(1), 0.5)) return node->input(0);
    return nullptr;
  }
  static const Value* under_inverse_root(const Value* value) {
    const Node* node = value ? value->producer() : nullptr;
    if (!node) return nullptr;
    if (node->op() == "Reciprocal") return under_root(node->input(0));
    if (node->op() == "Div" && is_scalar(node->input(0), 1)) return under_root(node->input(1));
    if (node->op() == "Pow" && is_scalar(node->input(1), -0.5)) return node->input(0);
    return nullptr;
  }

  std::optional<Normalized> normalized(const Node& node) {
    for (size_t i = 0; i < (node.op() == "Mul" ? 2u : 1u); ++i) {
      Value* base = node.input(i);
      const Value* variance = node.op() == "Mul" ? under_inverse_root(node.input(1 - i)) : under_root(node.input(1));
      const Node* sum = base ? made_by(variance, "Add") : nullptr;
      if (!sum) continue;
      const Value* mean = scalar_of(sum->input(1)) ? sum->input(0) : sum->input(1);
      const auto epsilon = scalar_of(other_input(*sum, mean));
      const Node* mean_of_squares = made_by(mean, "ReduceMean");
      const auto axis = mean_axis(mean_of_squares, *base);
      if (!epsilon || !axis || !is_square_of(mean_of_squares->input(0), *base)) continue;
      Normalized found{.x = base, .axis = *axis, .epsilon = static_cast<float>(*epsilon)};
      const Node* difference = made_by(base, "Sub");
      const Node* own_mean = difference ? made_by(difference->input(1), "ReduceMean") : nullptr;
      if (own_mean && own_mean->input(0) == difference->input(0) && mean_axis(own_mean, *difference->input(0)) == axis) {
        found.x = difference->input(0);
        found.centered = true;
      }
      if (same_shape(*found.x, *node.output(0))) return found;
    }
    return {};
  }

  /// A mean over the last dimensions of x, and the first of them.
  static std::optional<size_t> own_mean(const Value* mean, const Value& x) {
    const Node* node = made_by(mean, "ReduceMean");
    return node && node->input(0) == &x ? mean_axis(node, x) : std::nullopt;
  }

  /// x * s + (bias - mean(x) * s): `product` is the first part, `rest` the second.
  static std::optional<Normalized> resolved(const Node& product, const Node& rest) {
    for (size_t i = 0; i < 2; ++i) {
      Normalized found{.x = product.input(i), .centered = true};
      Value* s = product.input(1 - i);
      const Node* taken_off = &rest;  // mean * s, or -mean * s
      bool negated = true;
      if (rest.op() == "Sub") {
        found.bias = rest.input(0);
        taken_off = made_by(rest.input(1), "Mul");
        negated = false;
      } else if (rest.op() == "Add") {
        const size_t place = rest.input(0) && rest.input(0)->constant() ? 1 : 0;
        found.bias = rest.input(1 - place);
        taken_off = made_by(rest.input(place), "Mul");
      }
      if (!taken_off || taken_off->op() != "Mul" || (taken_off->input(0) != s && taken_off->input(1) != s)) continue;
      const Value* mean = other_input(*taken_off, s);
      if (negated) {
        const Node* neg = made_by(mean, "Neg");
        if (!neg) continue;
        mean = neg->input(0);
      }
      const auto axis = own_mean(mean, *found.x);
      if (!axis) continue;
      const Value* inverse = s;
      if (const Node* scaled = made_by(s, "Mul")) {
        const size_t place = scaled->input(0) && scaled->input(0)->constant() ? 1 : 0;
        inverse = scaled->input(place);
        found.scale = scaled->input(1 - place);
      }
      const Node* sum = made_by(under_inverse_root(inverse), "Add");
      if (!sum) continue;
      const Value* variance = scalar_of(sum->input(1)) ? sum->input(0) : sum->input(1);
      const auto epsilon = scalar_of(other_input(*sum, variance));
      const Node* mean_of_squares = made_by(variance, "ReduceMean");
      const Node* square = mean_of_squares ? mean_of_squares->input(0)->producer() : nullptr;
      const Value* difference = square ? square->input(0) : nullptr;
      const Node* centered = made_by(difference, "Sub");
      if (!epsilon || !centered || centered->input(0) != found.x || own_mean(centered->input(1), *found.x) != axis) continue;
      if (mean_axis(mean_of_squares, *difference) != axis || !is_square_of(mean_of_squares->input(0), *difference)) continue;
      found.axis = *axis;
      found.epsilon = static_cast<float>(*epsilon);
      return found;
    }
    return {};
  }
  static std::optional<Normalized> resolved(const Node& sum) {
    for (size_t i = 0; i < 2; ++i) {
      const Node *product = made_by(sum.input(i), "Mul"), *rest = sum.input(1 - i) ? sum.input(1 - i)->producer() : nullptr;
      if (!product || !rest || product->input_count() != 2 || rest->input_count() != 2) continue;
      if (auto found = resolved(*product, *rest); found && same_shape(*found->x, *sum.output(0))) return found;
    }
    return {};
  }

  /// A constant that is multiplied or added along the normalized dimensions, with exactly their shape.
  Value* fitted(Value* value, const Shape& shape) {
    const Tensor* tensor = value ? value->constant() : nullptr;
    if (!tensor) return nullptr;
    Shape own = tensor->shape();
    if (tensor->elements() == 1 && shape.elements() != 1) {
      const size_t bytes = stored_bytes(tensor->dtype(), shape);
      if (!context_.may_grow(bytes)) return nullptr;
      context_.has_grown(bytes);
      const std::vector<double> elements(static_cast<size_t>(shape.elements()), *scalar_of(value));
      return &add_reals(graph_, tensor->dtype(), shape, elements);
    }
    while (own.rank() > shape.rank() && own[0] == 1) own.erase(0);
    if (own != shape) return nullptr;
    return own == tensor->shape() ? value : &graph_.add_constant(tensor->reshaped(shape), graph_.fresh_name(value->name()));
  }

  /// The shape of the normalized dimensions; nothing if they are open, and a scale cannot be made.
  static std::optional<Shape> shape_of(const Normalized& found) {
    Shape shape;
    for (size_t i = found.axis; i < *rank_of(*found.x); ++i) {
      const auto dim = dim_of(*found.x, static_cast<int64_t>(i));
      if (!dim) return {};
      shape.push_back(*dim);
    }
    return shape;
  }

  void raise_resolved(Node& sum, const Normalized& found) {
    const auto shape = shape_of(found);
    if (!shape) return;
    Value *scale = found.scale ? fitted(found.scale, *shape) : nullptr, *bias = found.bias ? fitted(found.bias, *shape) : nullptr;
    if ((found.scale && !scale) || (found.bias && !bias)) return;
    make(sum, found, *shape, scale, bias);
  }

  void raise(Node& root, const Normalized& found) {
    const auto shape_found = shape_of(found);
    if (!shape_found) return;
    const Shape& shape = *shape_found;
    Node* last = &root;
    Value *scale = nullptr, *bias = nullptr;
    if (Node* user = sole_user(*last->output(0)); user && user->op() == "Mul" && same_shape(*user->output(0), *last->output(0)))
      if ((scale = fitted(other_input(*user, last->output(0)), shape))) last = user;
    if (Node* user = found.centered ? sole_user(*last->output(0)) : nullptr;
        user && user->op() == "Add" && same_shape(*user->output(0), *last->output(0)))
      if ((bias = fitted(other_input(*user, last->output(0)), shape))) last = user;
    make(*last, found, shape, scale, bias);
  }

  void make(Node& last, const Normalized& found, const Shape& shape, Value* scale, Value* bias) {
    const std::string_view op = found.centered ? "LayerNormalization" : "RMSNormalization";
    if (!context_.operators().find(op)) return;
    if (!scale) {
      const size_t bytes = stored_bytes(found.x->type.dtype, shape);
      if (!context_.may_grow(bytes)) return;
      context_.has_grown(bytes);
      const std::vector<double> ones(static_cast<size_t>(shape.elements()), 1);
      scale = &add_reals(graph_, found.x->type.dtype, shape, ones);
    }
    context_.changed("{} is {} of \"{}\"", label_of(last), op, found.x->name());
    Attributes attributes{{"axis", static_cast<int64_t>(found.axis) - static_cast<int64_t>(*rank_of(*found.x))},
                          {"epsilon", found.epsilon}};
    replace(*last.output(0), op, {found.x, scale, bias}, std::move(attributes));
    replaced_.add(last);
  }

  Graph& graph_;
  PassContext& context_;
  DeadNodes replaced_;
};

}  // namespace

void raise_normalizations(Graph& graph, PassContext& context) { NormalizationRaiser(graph, context).run(); }

}  // namespace minnow
