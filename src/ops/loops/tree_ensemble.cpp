// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml.TreeEnsemble: decision trees over the rows of a table; what their leaves say is put together for each target.
#include <algorithm>
#include <cmath>

#include "base/numeric.h"
#include "ops/operator_table.h"

namespace minnow {
namespace {

enum class Aggregate : int64_t { average, sum, least, largest };
enum class Transform : int64_t { none, softmax, logistic, softmax_of_nonzero, probit };
enum class Mode : uint8_t { at_most, below, at_least, above, equal, unequal, member };

constexpr Attribute<int64_t> kAggregate{"aggregate_function", 1,
                                        MINNOW_DOC("of the leaves of a target: 0 mean over the trees, 1 sum, 2 min, 3 max")};
constexpr Attribute<int64_t> kTransform{
    "post_transform", 0, MINNOW_DOC("of the scores of a row: 0 none, 1 softmax, 2 logistic, 3 softmax of those that are not 0, 4 probit")};
constexpr Attribute<int64_t> kTargets{"n_targets", 1, MINNOW_DOC("number of targets, the columns of the result")};
constexpr Name kRoots = "tree_roots", kFeatureIds = "nodes_featureids", kSplits = "nodes_splits", kModes = "nodes_modes",
               kTrueIds = "nodes_truenodeids", kFalseIds = "nodes_falsenodeids", kTrueLeafs = "nodes_trueleafs",
               kFalseLeafs = "nodes_falseleafs", kLeafTargets = "leaf_targetids", kLeafWeights = "leaf_weights",
               kMissing = "nodes_missing_value_tracks_true", kMembers = "membership_values", kHitRates = "nodes_hitrates";

std::vector<double> elements(const Tensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

/// The trees as attributes give them, checked: every index is in range.
struct Trees {
  struct Branch {
    size_t at;  // of a leaf or an inner node
    bool leaf;
  };
  struct Inner {
    size_t feature;
    Mode mode;
    double split;
    bool missing_is_true;
    Branch when_true, when_false;
    size_t first_member = 0, last_member = 0;  // mode member
  };
  std::vector<size_t> roots;
  std::vector<Inner> inner;
  std::vector<size_t> leaf_targets;
  std::vector<double> leaf_weights, members;
  size_t targets;

  explicit Trees(const NodeView& node) {
    const int64_t target_count = node.attribute(kTargets);
    if (target_count < 1) node.fail("n_targets is {}, it should be positive", target_count);
    targets = static_cast<size_t>(target_count);
    const Ints &features = node.require<Ints>(kFeatureIds), &true_ids = node.require<Ints>(kTrueIds),
               &false_ids = node.require<Ints>(kFalseIds), &true_leafs = node.require<Ints>(kTrueLeafs),
               &false_leafs = node.require<Ints>(kFalseLeafs), &leafs = node.require<Ints>(kLeafTargets);
    const std::vector<double> splits = elements(node.require<Tensor>(kSplits)), modes = elements(node.require<Tensor>(kModes));
    leaf_weights = elements(node.require<Tensor>(kLeafWeights));
    const size_t count = features.size();
    for (size_t size : {true_ids.size(), false_ids.size(), true_leafs.size(), false_leafs.size(), splits.size(), modes.size()})
      if (size != count) node.fail("the nodes_* attributes should have one length, they have {} and {}", count, size);
    if (leafs.size() != leaf_weights.size())
      node.fail("there are {} leaf_targetids and {} leaf_weights", leafs.size(), leaf_weights.size());
    const Ints* missing = node.find<Ints>(kMissing);
    if (missing && missing->size() != count) node.fail("{} has {} entries, there are {} nodes", kMissing, missing->size(), count);
    const Tensor* member_values = node.find<Tensor>(kMembers);
    if (member_values) members = elements(*member_values);
    const auto index = [&](int64_t value, size_t limit, std::string_view what) {
      if (value < 0 || static_cast<uint64_t>(value) >= limit) node.fail("{} has an entry {}, it should be below {}", what, value, limit);
      return static_cast<size_t>(value);
    };
    for (int64_t root : node.require<Ints>(kRoots)) roots.push_back(index(root, count, kRoots));
    for (int64_t target : leafs) leaf_targets.push_back(index(target, targets, kLeafTargets));
    size_t next_member = 0;
    for (size_t i = 0; i < count; ++i) {
      Inner made;
      made.feature = index(features[i], static_cast<size_t>(std::max<int64_t>(node.input_shape(0).back(), 0)), kFeatureIds);
      made.mode = static_cast<Mode>(index(static_cast<int64_t>(modes[i]), 7, kModes));
      made.split = splits[i];
      made.missing_is_true = missing && (*missing)[i] != 0;
      made.when_true = {index(true_ids[i], true_leafs[i] ? leafs.size() : count, kTrueIds), true_leafs[i] != 0};
      made.when_false = {index(false_ids[i], false_leafs[i] ? leafs.size() : count, kFalseIds), false_leafs[i] != 0};
      if (made.mode == Mode::member) {  // the sets follow each other, each ended by a NaN
        if (next_member >= members.size()) node.fail("membership_values holds fewer sets than there are nodes of mode 6");
        made.first_member = next_member;
        while (next_member < members.size() && !std::isnan(members[next_member])) ++next_member;
        made.last_member = next_member++;
      }
      inner.push_back(made);
    }
  }

  bool goes_true(const Inner& at, double x) const {
    if (std::isnan(x)) return at.missing_is_true;
    switch (at.mode) {
      case Mode::at_most:
        return x <= at.split;
      case Mode::below:
        return x < at.split;
      case Mode::at_least:
        return x >= at.split;
      case Mode::above:
        return x > at.split;
      case Mode::equal:
        return x == at.split;
      case Mode::unequal:
        return x != at.split;
      case Mode::member:
        break;
    }
    return std::find(members.begin() + static_cast<ptrdiff_t>(at.first_member), members.begin() + static_cast<ptrdiff_t>(at.last_member),
                     x) != members.begin() + static_cast<ptrdiff_t>(at.last_member);
  }

  /// The leaf that a row of features leads to.
  size_t leaf(size_t root, const double* row, const KernelArgs& args) const {
    Branch at{root, false};
    for (size_t steps = 0; !at.leaf; ++steps) {
      if (steps > inner.size()) args.fail("the tree of root {} leads back to itself", root);
      const Inner& node = inner[at.at];
      at = goes_true(node, row[node.feature]) ? node.when_true : node.when_false;
    }
    return at.at;
  }
};

Shapes tree_shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() != 2) node.fail("X of shape {} should be a table of rows of features", x);
  if (const int64_t value = node.attribute(kAggregate); value < 0 || value > 3) node.fail("aggregate_function is {}", value);
  if (const int64_t value = node.attribute(kTransform); value < 0 || value > 4) node.fail("post_transform is {}", value);
  return {{x[0], static_cast<int64_t>(Trees(node).targets)}};
}

/// The inverse of the normal distribution: a first guess (S. Winitzki, 2008), then Newton's steps on the error function.
double probit(double p) {
  const double y = 2 * p - 1;
  if (!(std::fabs(y) < 1)) return y == 1 ? INFINITY : y == -1 ? -INFINITY : NAN;
  const double a = 0.147, log_rest = std::log1p(-y * y), half = 2 / (M_PI * a) + log_rest / 2;
  double x = std::copysign(std::sqrt(std::sqrt(half * half - log_rest / a) - half), y);
  for (int i = 0; i < 3; ++i) x -= (std::erf(x) - y) / (2 / std::sqrt(M_PI) * std::exp(-x * x));
  return std::sqrt(2.0) * x;
}

void transform(Transform kind, std::span<double> scores) {
  switch (kind) {
    case Transform::none:
      return;
    case Transform::logistic:
      for (double& score : scores) score = 1 / (1 + std::exp(-score));
      return;
    case Transform::probit:
      for (double& score : scores) score = probit(score);
      return;
    case Transform::softmax:
    case Transform::softmax_of_nonzero:
      break;
  }
  const auto counts = [&](double score) { return kind == Transform::softmax || score != 0; };
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores)
    if (counts(score)) sum += score = std::exp(score - largest);
  for (double& score : scores) score = sum > 0 ? score / sum : score;
}

void tree_ensemble(const NodeView& node, KernelArgs& args) {
  const Trees trees(node);
  Pace pace;
  const auto aggregate = static_cast<Aggregate>(node.attribute(kAggregate));
  const auto kind = static_cast<Transform>(node.attribute(kTransform));
  const Numbers<double> x = args.reals(0);
  const size_t rows = static_cast<size_t>(args.input(0).dim(0)), features = static_cast<size_t>(args.input(0).dim(1));
  Numbers<double> y(rows * trees.targets);
  std::vector<bool> reached(trees.targets);
  for (size_t r = 0; r < rows; ++r) {
    const std::span<double> scores(y.data() + r * trees.targets, trees.targets);
    reached.assign(trees.targets, false);
    for (size_t root : trees.roots) {
      pace.step(64);
      const size_t leaf = trees.leaf(root, x.data() + r * features, args);
      const double weight = trees.leaf_weights[leaf];
      double& score = scores[trees.leaf_targets[leaf]];
      const bool first = !reached[trees.leaf_targets[leaf]];
      reached[trees.leaf_targets[leaf]] = true;
      if (aggregate == Aggregate::least)
        score = first ? weight : std::min(score, weight);
      else if (aggregate == Aggregate::largest)
        score = first ? weight : std::max(score, weight);
      else
        score += weight;
    }
    if (aggregate == Aggregate::average && !trees.roots.empty())
      for (double& score : scores) score /= static_cast<double>(trees.roots.size());
    transform(kind, scores);
  }
  args.write(0, y);
}

constexpr List<Operator> definitions() {
  const auto list = [](Name name, std::string_view doc) { return required(name, AttributeKind::integers, doc); };
  return {
      {.name = "ai.onnx.ml.TreeEnsemble",
       .since = 5,
       .doc = MINNOW_DOC(
           "Scores of each row of X by decision trees. A tree's inner nodes compare a feature with a split (nodes_modes: 0 <=, 1 <, 2 >=, "
           "3 >, "
           "4 ==, 5 !=, 6 member of a set) and lead to an inner node or a leaf; a leaf gives its weight to its target. NaN goes the way of "
           "nodes_missing_value_tracks_true."),
       .inputs = {{"X", one_of({DType::f32, DType::f64, DType::f16})}},
       .outputs = {{"Y", same_as("X")}},
       .attributes = {kAggregate, kTransform, kTargets, list(kRoots, MINNOW_DOC("inner nodes that trees begin with")),
                      list(kFeatureIds, MINNOW_DOC("column of X that the inner node looks at")),
                      required(kSplits, AttributeKind::tensor, MINNOW_DOC("what it is compared with")),
                      required(kModes, AttributeKind::tensor, MINNOW_DOC("how it is compared")),
                      list(kTrueIds, MINNOW_DOC("where to go when that is true: an inner node, or a leaf")),
                      list(kFalseIds, MINNOW_DOC("where to go when it is false")),
                      list(kTrueLeafs, MINNOW_DOC("1 where the way to go when true is a leaf")),
                      list(kFalseLeafs, MINNOW_DOC("1 where the way to go when false is a leaf")),
                      list(kLeafTargets, MINNOW_DOC("target of the leaf")),
                      required(kLeafWeights, AttributeKind::tensor, MINNOW_DOC("what the leaf adds to it")),
                      optional(kMissing, AttributeKind::integers, MINNOW_DOC("1 where NaN goes the way of true; 0 by default")),
                      optional(kMembers, AttributeKind::tensor,
                               MINNOW_DOC("the sets of the nodes of mode 6 in order, each ended by a NaN")),
                      optional(kHitRates, AttributeKind::tensor, MINNOW_DOC("how often nodes were passed in training; not used"))},
       .infer_shapes = tree_shape,
       .reference = tree_ensemble},
  };
}

}  // namespace

std::span<const Operator> tree_ensemble_operators() { return operator_table<definitions>(); }

}  // namespace minnow
