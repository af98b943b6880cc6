// SPDX-License-Identifier: Apache-2.0
// Sums of products of tensors, as an equation of labels tells: "bij,bjk->bik".
#include <algorithm>
#include <string>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr AttributeSpec kEquation =
    required("equation", AttributeKind::text, MINNOW_DOC("labels of each input's dimensions, and of the result's behind ->"));

// A label is a letter's code, or for the dimensions of an ellipsis kEllipsis + the distance from its last one.
constexpr int kEllipsis = 128;
using Labels = std::vector<int>;

bool has(const Labels& labels, int label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }

struct Equation {
  std::vector<Labels> terms;
  Labels output;
  std::array<Size, kEllipsis + kMaxRank> sizes{};  // by label; 0-sized ones too, so `known` tells which are there
  std::array<bool, kEllipsis + kMaxRank> known{};

  static Equation of(const NodeView& node);
  Sizes sizes_of(const Labels& labels) const {
    Sizes all;
    for (int label : labels) all.push_back(sizes[static_cast<size_t>(label)]);
    return all;
  }
  Shape shape_of(const Labels& labels) const { return sizes_of(labels).shape(); }
};

/// The labels of one term. `rest` dimensions belong to its ellipsis.
Labels labels_of(const NodeView& node, std::string_view term, size_t rest) {
  Labels labels;
  bool seen = false;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (term.substr(i, 3) == "..." && !seen) {
      for (size_t k = rest; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
      seen = true;
      i += 2;
    } else {
      node.fail("the term \"{}\" of the equation is not made of letters and at most one ellipsis", term);
    }
  }
  return labels;
}

Equation Equation::of(const NodeView& node) {
  std::string text;
  for (char c : node.require<std::string>(kEquation.name))
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  Equation equation;
  size_t ellipsis_rank = 0;
  for (size_t input = 0;; ++input) {
    const size_t comma = left.find(',');
    const std::string_view term = left.substr(0, comma);
    const Sizes shape = node.input_sizes(input);  // throws where there is no such input
    const bool has_ellipsis = term.find('.') != std::string_view::npos;
    const size_t letters = labels_of(node, term, 0).size();
    if (has_ellipsis ? shape.rank() < letters : shape.rank() != letters)
      node.fail("the term \"{}\" does not fit input {} of shape {}", term, input, shape);
    const size_t rest = shape.rank() - letters;
    ellipsis_rank = std::max(ellipsis_rank, rest);
    equation.terms.push_back(labels_of(node, term, rest));
    for (size_t i = 0; i < shape.rank(); ++i) {
      const size_t label = static_cast<size_t>(equation.terms.back()[i]);
      Size& size = equation.sizes[label];
      if (equation.known[label] && differ(size, 1) && differ(shape[i], 1) && differ(size, shape[i]))
        node.fail("a label of the equation \"{}\" stands for {} and for {} elements", text, size, shape[i]);
      // As with broadcasting: a number above 1 decides, a symbol does where all others are 1 or the same.
      const bool is_decided = size.is_number() && !size.is(1);
      if (!equation.known[label] || size.is(1) || (shape[i].is_number() && !shape[i].is(1) && !is_decided))
        size = shape[i];
      else if (!is_decided && !shape[i].is(1) && !equal(size, shape[i]))
        size = Size::unknown();
      equation.known[label] = true;
    }
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.terms.size() != node.input_count())
    node.fail("the equation \"{}\" has {} terms, there are {} inputs", text, equation.terms.size(), node.input_count());
  if (arrow != std::string::npos) {
    equation.output = labels_of(node, std::string_view(text).substr(arrow + 2), ellipsis_rank);
    for (size_t i = 0; i < equation.output.size(); ++i) {
      const int label = equation.output[i];
      if (!equation.known[static_cast<size_t>(label)] || std::count(equation.output.begin(), equation.output.end(), label) > 1)
        node.fail("a label behind the arrow of \"{}\" stands there twice or in no term", text);
    }
    return equation;
  }
  // Without an arrow: the ellipsis, then every letter that occurs once, in the order of the alphabet.
  for (size_t k = ellipsis_rank; k-- > 0;) equation.output.push_back(kEllipsis + static_cast<int>(k));
  std::array<int, kEllipsis> count{};
  for (const Labels& term : equation.terms)
    for (int label : term)
      if (label < kEllipsis) ++count[static_cast<size_t>(label)];
  for (int label = 0; label < kEllipsis; ++label)
    if (count[static_cast<size_t>(label)] == 1) equation.output.push_back(label);
  return equation;
}

Labels summed_labels(const Equation& equation) {
  Labels summed;
  for (size_t label = 0; label < equation.known.size(); ++label)
    if (equation.known[label] && !has(equation.output, static_cast<int>(label))) summed.push_back(static_cast<int>(label));
  return summed;
}

Shapes infer(const NodeView& node) {
  const Equation equation = Equation::of(node);
  equation.sizes_of(summed_labels(equation));  // throws for more labels than a loop has
  return {equation.sizes_of(equation.output)};
}

/// Strides by which an operand walks when labels count up; a label that stands twice walks the diagonal.
Ints strides_of(const Labels& term, const Shape& shape, const Labels& labels) {
  const Ints own = row_major_strides(shape);
  Ints strides(labels.size());
  for (size_t i = 0; i < labels.size(); ++i)
    for (size_t k = 0; k < term.size(); ++k)
      if (term[k] == labels[i] && shape[k] != 1) strides[i] += own[k];
  return strides;
}

int64_t offset_of(std::span<const int64_t> index, const Ints& strides) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

template <class T>
Numbers<T> evaluate_sums(const Equation& equation, const KernelArgs& args, const Shape& result) {
  const size_t operands = equation.terms.size();
  const Labels summed = summed_labels(equation);
  Shape sums = equation.shape_of(summed);
  const int64_t length = sums.empty() ? 1 : sums.back();
  std::vector<Numbers<T>> x;
  std::vector<Ints> outer, inner;
  for (size_t i = 0; i < operands; ++i) {
    const Shape& shape = args.input(i).shape();
    const auto values = args.values<std::conditional_t<std::is_same_v<T, double>, double, int64_t>>(i);
    x.emplace_back(values.begin(), values.end());
    outer.push_back(strides_of(equation.terms[i], shape, equation.output));
    inner.push_back(strides_of(equation.terms[i], shape, summed));
  }
  if (!sums.empty()) sums.erase(sums.rank() - 1);
  Numbers<T> y(static_cast<size_t>(result.elements()));
  std::vector<int64_t> base(operands), at(operands);
  size_t place = 0;
  Pace pace;
  for_each_index(result, [&](std::span<const int64_t> index) {
    for (size_t i = 0; i < operands; ++i) base[i] = offset_of(index, outer[i]);
    T total = 0;
    for_each_index(sums, [&](std::span<const int64_t> sum_index) {
      for (size_t i = 0; i < operands; ++i) at[i] = base[i] + offset_of(sum_index, inner[i]);
      pace.step(static_cast<size_t>(length));
      for (int64_t k = 0; k < length; ++k) {
        T product = 1;
        for (size_t i = 0; i < operands; ++i) product *= x[i][static_cast<size_t>(at[i] + (inner[i].empty() ? 0 : k * inner[i].back()))];
        total += product;
      }
    });
    y[place++] = total;
  });
  return y;
}

void reference(const NodeView& node, KernelArgs& args) {
  const Equation equation = Equation::of(node);
  const Shape result = args.output(0).shape();
  if (is_float(args.input(0).dtype()))
    args.write(0, evaluate_sums<double>(equation, args, result));
  else
    args.write(0, evaluate_sums<uint64_t>(equation, args, result));  // integers wrap around
}

// The composed form: operands are joined from left to right, each time by one product of matrices.

struct Operand {
  Expr x;
  Labels labels;
};

Operand sum_out(GraphBuilder& b, Operand operand, const Labels& keep) {
  Ints axes;
  Labels left;
  for (size_t i = 0; i < operand.labels.size(); ++i)
    if (has(keep, operand.labels[i]))
      left.push_back(operand.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) return operand;
  return {b.op("ReduceSum", {operand.x, b.constant(axes)}, {{"keepdims", int64_t{0}}}), left};
}

Expr transposed(GraphBuilder& b, const Operand& operand, const Labels& order) {
  if (operand.labels == order) return operand.x;
  Ints perm;
  for (int label : order) perm.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin());
  return b.op("Transpose", {operand.x}, {{"perm", perm}});
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

/// `keep` holds the labels that are needed afterwards.
Operand multiply(GraphBuilder& b, const Equation& equation, Operand p, Operand q, const Labels& keep) {
  p = sum_out(b, std::move(p), joined({&keep, &q.labels}));
  q = sum_out(b, std::move(q), joined({&keep, &p.labels}));
  Labels batch, contracted, rows, columns;
  for (int label : p.labels) (!has(q.labels, label) ? rows : has(keep, label) ? batch : contracted).push_back(label);
  for (int label : q.labels)
    if (!has(p.labels, label)) columns.push_back(label);
  const auto count = [&](const Labels& labels) { return equation.shape_of(labels).elements(); };
  const Expr left =
      b.op("Reshape", {transposed(b, p, joined({&batch, &rows, &contracted})), b.constant({count(batch), count(rows), count(contracted)})});
  const Expr right = b.op("Reshape", {transposed(b, q, joined({&batch, &contracted, &columns})),
                                      b.constant({count(batch), count(contracted), count(columns)})});
  const Labels labels = joined({&batch, &rows, &columns});
  const Shape shape = equation.shape_of(labels);
  return {b.op("Reshape", {b.op("MatMul", {left, right}), b.constant(Ints(shape.begin(), shape.end()))}), labels};
}

Exprs parts(const NodeView& node, GraphBuilder& b, const Exprs& in) {
  const DType dtype = node.input_dtype(0);
  if (dtype != DType::f32 && dtype != DType::f64) return {};  // narrow sums would be rounded at every step
  const Equation equation = Equation::of(node);
  for (size_t i = 0; i < in.size(); ++i) {
    const Labels& term = equation.terms[i];
    for (size_t k = 0; k < term.size(); ++k) {
      const bool repeated = std::count(term.begin(), term.end(), term[k]) > 1;
      if (repeated || !equation.sizes[static_cast<size_t>(term[k])].is(node.input_shape(i)[k])) return {};  // diagonals, broadcasting
    }
    if (node.input_shape(i).elements() == 0) return {};
  }
  Operand result{in[0], equation.terms[0]};
  for (size_t i = 1; i < in.size(); ++i) {
    Labels keep = equation.output;
    for (size_t later = i + 1; later < in.size(); ++later) keep = joined({&keep, &equation.terms[later]});
    result = multiply(b, equation, std::move(result), {in[i], equation.terms[i]}, keep);
  }
  result = sum_out(b, std::move(result), equation.output);
  const Expr y = transposed(b, result, equation.output);
  return {y.value() == in[0].value() ? b.op("Identity", {y}) : y};
}

constexpr List<Operator> definitions() {
  return {{.name = "Einsum",
           .since = 12,
           .doc = MINNOW_DOC("result[labels behind the arrow] = the sum over all other labels of the products of the inputs' elements, as "
                             "numpy.einsum; an ellipsis stands for dimensions that are broadcast. Integers wrap around."),
           .inputs = {{.name = "Inputs", .dtypes = kNumeric, .arity = kVariadic, .like = "Inputs"}},
           .outputs = {{"Output", same_as("Inputs")}},
           .attributes = {kEquation},
           .infer_shapes = infer,
           .reference = reference,
           .decompose = parts}};
}

}  // namespace

std::span<const Operator> einsum_operators() { return operator_table<definitions>(); }

}  // namespace minnow
