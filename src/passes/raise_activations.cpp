// SPDX-License-Identifier: Apache-2.0
// Activation functions that are written out in arithmetic become the operators that they are.
#include <cmath>
#include <limits>

#include "passes/match.h"

namespace minnow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ActivationRaiser {
 public:
  ActivationRaiser(Graph& graph, PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    for (Node& node : graph_.nodes()) {
      if (!node.output(0) || node.output_count() != 1 || !is_float(node.output(0)->type.dtype)) continue;
      const std::string& op = node.op();
      if (op == "Mul" || op == "Div") {
        product(node) || sigmoid(node);
      } else if (op == "Reciprocal") {
        sigmoid(node);
      } else if (op == "Clip" || op == "Min" || op == "Max") {
        clip(node) || leaky_relu(node);
      } else if (op == "Log") {
        softplus(node);
      } else if (op == "PRelu") {
        prelu(node);
      }
    }
  }

 private:
  bool raise(Node& node, std::string_view op, Value& x, Attributes attributes = {}) {
    if (!context_.operators().find(op)) return false;
    return raise_with(node, op, {&x}, std::move(attributes));
  }
  bool raise_with(Node& node, std::string_view op, const std::vector<Value*>& inputs, Attributes attributes = {}) {
    context_.changed("{} is {} of \"{}\"", label_of(node), op, inputs[0]->name());
    replace(*node.output(0), op, inputs, std::move(attributes));
    remove_dead(node);
    return true;
  }

  // The bounds of a Clip; infinite if absent. Empty unless they are constants.
  struct Bounds {
    double low = -kInfinity, high = kInfinity;
  };
  static std::optional<Bounds> bounds_of(const Node& clip) {
    Bounds bounds;
    const auto low = scalar_of(clip.input(1)), high = scalar_of(clip.input(2));
    if ((clip.input(1) && !low) || (clip.input(2) && !high)) return {};
    if (low) bounds.low = *low;
    if (high) bounds.high = *high;
    return bounds;
  }

  // x times a function of x.
  bool product(Node& node) {
    const auto product = product_of(*node.output(0));
    if (!product || product->factors.empty()) return false;
    if (product->factors.size() == 1) return hard_sigmoid(node, *product);
    for (size_t i = 0; i < 2; ++i) {
      Value &x = *product->factors[i], &f = *product->factors[1 - i];
      if (product->number_rank > 0 && (!rank_of(x) || product->number_rank > *rank_of(x))) continue;
      if (gelu(node, product->number, x, f) || swish(node, product->number, x, f) || hard_swish(node, product->number, x, f) ||
          mish(node, product->number, x, f))
        return true;
    }
    return false;
  }

  // x * (1 + erf(x / sqrt 2)) / 2, and the form with tanh.
  bool gelu(Node& node, double number, Value& x, Value& f) {
    constexpr double kHalf = 0.5, kRootHalf = 0.70710678118654752, kRootTwoByPi = 0.79788456080286536;
    for (const bool exact : {true, false}) {
      const Node* inner = inner_node(&f, exact ? "Erf" : "Tanh");
      if (!inner) continue;
      const auto outside = polynomial_in(&f, *inner->output(0)), inside = polynomial_in(inner->input(0), x);
      if (!outside || !inside) continue;
      // Both functions are odd: erfc(-x) is 1 - erf(-x).
      const double sign = number * (*outside)[1] < 0 ? -1 : 1;
      if (!near({number * (*outside)[0], number * (*outside)[1], (*outside)[2], (*outside)[3]}, {kHalf, sign * kHalf, 0, 0})) continue;
      if (near(*inside,
               exact ? Polynomial{0, sign * kRootHalf, 0, 0} : Polynomial{0, sign * kRootTwoByPi, 0, sign * kRootTwoByPi * 0.044715}))
        return raise(node, "Gelu", x, {{"approximate", std::string(exact ? "none" : "tanh")}});
    }
    return false;
  }

  // x * sigmoid(alpha x)
  bool swish(Node& node, double number, Value& x, Value& f) {
    const Node* sigmoid = made_by(&f, "Sigmoid");
    const auto inside = sigmoid && near(number, 1) && has_one_use(f) ? polynomial_in(sigmoid->input(0), x) : std::nullopt;
    if (!inside || !near(*inside, {0, (*inside)[1], 0, 0}) || (*inside)[1] == 0) return false;
    return raise(node, "Swish", x, {{"alpha", static_cast<float>((*inside)[1])}});
  }

  // x * clip(x / 6 + 1/2, 0, 1), as the product of x and HardSigmoid or of x and any Clip of that slope.
  bool hard_swish(Node& node, double number, Value& x, Value& f) {
    if (const Node* inner = made_by(&f, "HardSigmoid")) {
      if (!near(number, 1) || inner->input(0) != &x || !has_one_use(f)) return false;
      if (!near(real_attribute(*inner, "alpha", 0.2f), 1.0 / 6) || !near(real_attribute(*inner, "beta", 0.5f), 0.5)) return false;
      return raise(node, "HardSwish", x);
    }
    const Node* clip = made_by(&f, "Clip");
    const auto bounds = clip && has_one_use(f) ? bounds_of(*clip) : std::nullopt;
    const auto inside = bounds ? polynomial_in(clip->input(0), x) : std::nullopt;
    if (!inside || bounds->low != 0 || !near(number * bounds->high, 1)) return false;
    if (!near({number * (*inside)[0], number * (*inside)[1], (*inside)[2], (*inside)[3]}, {0.5, 1.0 / 6, 0, 0})) return false;
    return raise(node, "HardSwish", x);
  }

  // x * tanh(softplus(x))
  bool mish(Node& node, double number, Value& x, Value& f) {
    const Node* tanh = made_by(&f, "Tanh");
    const Node* softplus = tanh && near(number, 1) && has_one_use(f) ? made_by(tanh->input(0), "Softplus") : nullptr;
    return softplus && softplus->input(0) == &x && raise(node, "Mish", x);
  }

  // clip(alpha x + beta, 0, 1), as number * clip(.., 0, 1 / number).
  bool hard_sigmoid(Node& node, const Product& product) {
    const Value& f = *product.factors[0];
    const Node* clip = made_by(&f, "Clip");
    if (!clip || !has_one_use(f)) return false;
    return hard_sigmoid(node, *clip, product.number);
  }
  bool hard_sigmoid(Node& node, const Node& clip, double number) {
    const auto bounds = bounds_of(clip);
    if (!bounds || bounds->low != 0 || !near(number * bounds->high, 1) || !clip.input(0)) return false;
    const Affine affine = affine_of(*clip.input(0));
    if (affine.x == clip.input(0) || !same_shape(*affine.x, *node.output(0))) return false;
    return raise(node, "HardSigmoid", *affine.x,
                 {{"alpha", static_cast<float>(number * affine.scale)}, {"beta", static_cast<float>(number * affine.offset)}});
  }

  // 1 / (1 + e^-x)
  bool sigmoid(Node& node) {
    const Value* denominator = node.op() == "Reciprocal" ? node.input(0) : is_scalar(node.input(0), 1) ? node.input(1) : nullptr;
    const Node* exp = inner_node(denominator, "Exp");
    const auto outside = exp ? polynomial_in(denominator, *exp->output(0)) : std::nullopt;
    if (!outside || *outside != Polynomial{1, 1, 0, 0}) return false;
    Value* x = nullptr;
    if (const Node* neg = made_by(exp->input(0), "Neg")) {
      x = neg->input(0);
    } else if (const auto product = product_of(*exp->input(0), 1); product && product->factors.size() == 1 && product->number == -1) {
      x = product->factors[0];
    }
    return x && same_shape(*x, *node.output(0)) && raise(node, "Sigmoid", *x);
  }

  // log(1 + e^x)
  bool softplus(Node& node) {
    const Node* exp = inner_node(node.input(0), "Exp");
    const auto inside = exp ? polynomial_in(node.input(0), *exp->output(0)) : std::nullopt;
    return inside && *inside == Polynomial{1, 1, 0, 0} && raise(node, "Softplus", *exp->input(0));
  }

  // Min and Max with numbers become a Clip, and successive Clips one. A Clip at 0 becomes Relu; one of a line may become HardSigmoid.
  bool clip(Node& node) {
    Value* x = node.input(0);
    Bounds bounds;
    if (node.op() == "Clip") {
      const auto found = bounds_of(node);
      if (!found || !x) return false;
      bounds = *found;
      if (bounds.low == 0 && bounds.high == 1 && hard_sigmoid(node, node, 1)) return true;
    } else {
      if (node.input_count() != 2) return false;
      const bool left = scalar_of(node.input(0)).has_value(), right = scalar_of(node.input(1)).has_value();
      if (left == right) return false;
      x = node.input(right ? 0 : 1);
      const Value* number = node.input(right ? 1 : 0);
      if (!same_shape(*x, *node.output(0)) || std::isnan(*scalar_of(number))) return false;  // NaN does not bound, but wins over numbers
      (node.op() == "Min" ? bounds.high : bounds.low) = *scalar_of(number);
    }
    // min(max(x, a), b): the inner bounds first.
    Node* inner = x->producer();
    std::optional<Bounds> before;
    if (inner && has_one_use(*x)) {
      if (inner->op() == "Relu") before = Bounds{0, kInfinity};
      if (inner->op() == "Clip") before = bounds_of(*inner);
    }
    if (before && before->low <= bounds.high && bounds.low <= before->high && before->low <= before->high) {
      bounds.low = std::max(bounds.low, before->low);
      bounds.high = std::min(bounds.high, before->high);
      x = inner->input(0);
    } else if (node.op() == "Clip" && !(bounds.low == 0 && bounds.high == kInfinity)) {
      return false;
    }
    if (bounds.low == 0 && bounds.high == kInfinity) return raise(node, "Relu", *x);
    const DType dtype = node.output(0)->type.dtype;
    const auto bound = [&](double number, double none) -> Value* {
      return number == none ? nullptr : &add_reals(graph_, dtype, {}, std::span<const double>(&number, 1));
    };
    return raise_with(node, "Clip", {x, bound(bounds.low, -kInfinity), bound(bounds.high, kInfinity)});
  }

  // max(x, alpha x) with alpha < 1
  bool leaky_relu(Node& node) {
    if (node.op() != "Max" || node.input_count() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      Value *x = node.input(i), *line = node.input(1 - i);
      const auto slope = x && line && has_one_use(*line) ? polynomial_in(line, *x) : std::nullopt;
      if (!slope || (*slope)[0] != 0 || (*slope)[2] != 0 || (*slope)[3] != 0 || (*slope)[1] <= 0 || (*slope)[1] >= 1) continue;
      return raise(node, "LeakyRelu", *x, {{"alpha", static_cast<float>((*slope)[1])}});
    }
    return false;
  }

  bool prelu(Node& node) {
    const auto slope = scalar_of(node.input(1));
    if (!slope || !node.input(0) || !same_shape(*node.input(0), *node.output(0))) return false;
    return raise(node, "LeakyRelu", *node.input(0), {{"alpha", static_cast<float>(*slope)}});
  }

  Graph& graph_;
  PassContext& context_;
};

}  // namespace

void raise_activations(Graph& graph, PassContext& context) { ActivationRaiser(graph, context).run(); }

}  // namespace minnow
