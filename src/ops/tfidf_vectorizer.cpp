// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "ops/operator_table.h"

namespace minnow {
namespace {

constexpr Name kMode = "mode", kPool = "pool_int64s", kCounts = "ngram_counts", kIndexes = "ngram_indexes", kWeights = "weights",
               kMinLength = "min_gram_length", kMaxLength = "max_gram_length", kMaxSkip = "max_skip_count";

/// The attributes, checked.
struct Vectorizer {
  bool weighted, counted;  // IDF, TFIDF; TF, TFIDF
  const Ints *pool, *counts, *indexes;
  const Floats* weights;
  int64_t min_length, max_length, max_skip, columns;

  static Vectorizer of(const NodeView& node) {
    Vectorizer v{};
    const std::string& mode = node.require<std::string>(kMode);
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF") node.fail("mode is \"{}\", it should be TF, IDF or TFIDF", mode);
    v.weighted = mode != "TF", v.counted = mode != "IDF";
    if (node.has_attribute("pool_strings")) throw Unsupported("{}: strings are not supported", node.where());
    v.pool = &node.require<Ints>(kPool);
    v.counts = &node.require<Ints>(kCounts);
    v.indexes = &node.require<Ints>(kIndexes);
    v.weights = node.find<Floats>(kWeights);
    v.min_length = node.require<int64_t>(kMinLength);
    v.max_length = node.require<int64_t>(kMaxLength);
    v.max_skip = node.require<int64_t>(kMaxSkip);
    if (v.min_length < 1 || v.max_length < v.min_length)
      node.fail("n-grams of {} to {} items are not possible", v.min_length, v.max_length);
    if (v.max_skip < 0) node.fail("max_skip_count is {}", v.max_skip);
    int64_t begin = 0;
    for (int64_t next : *v.counts) {
      if (next < begin || next > static_cast<int64_t>(v.pool->size()))
        node.fail("{} {} does not divide a pool of {} items", kCounts, *v.counts, v.pool->size());
      begin = next;
    }
    v.columns = 0;
    for (int64_t index : *v.indexes) {
      if (index < 0 || index >= (int64_t{1} << 31)) node.fail("{} holds {}", kIndexes, index);
      v.columns = std::max(v.columns, index + 1);
    }
    if (v.weights && v.weights->size() != v.indexes->size())
      node.fail("there are {} weights and {} n-grams", v.weights->size(), v.indexes->size());
    return v;
  }
};

Shapes shape(const NodeView& node) {
  const Sizes x = node.input_sizes(0);
  if (x.rank() > 2) node.fail("takes one list of items or a matrix of such, its input is of shape {}", x);
  const int64_t columns = Vectorizer::of(node).columns;
  return {x.rank() == 2 ? Sizes{x[0], columns} : Sizes{columns}};
}

/// The n-grams of the pool as a tree: node 0 is the root, an edge is an item.
struct Tree {
  std::map<std::pair<size_t, int64_t>, size_t> edges;
  std::vector<int64_t> gram{-1};  // number of the n-gram that ends at the node, -1: none does

  void add(const int64_t* items, int64_t count, int64_t number) {
    size_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
      const auto [edge, added] = edges.emplace(std::pair(at, items[i]), gram.size());
      if (added) gram.push_back(-1);
      at = edge->second;
    }
    gram[at] = number;
  }
};

Tree tree_of(const NodeView& node, const Vectorizer& v) {
  Tree tree;
  size_t number = 0;  // of the n-gram, over all lengths
  for (size_t i = 0; i < v.counts->size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1, begin = (*v.counts)[i],
                  end = i + 1 < v.counts->size() ? (*v.counts)[i + 1] : static_cast<int64_t>(v.pool->size());
    for (int64_t at = begin; at + length <= end; at += length, ++number) {
      if (number >= v.indexes->size()) node.fail("the pool holds more n-grams than {} names", kIndexes);
      if (length >= v.min_length && length <= v.max_length) tree.add(v.pool->data() + at, length, static_cast<int64_t>(number));
    }
  }
  return tree;
}

void reference(const NodeView& node, KernelArgs& args) {
  const Vectorizer v = Vectorizer::of(node);
  const Tree tree = tree_of(node, v);
  const Shape& x_shape = args.input(0).shape();
  const Numbers<int64_t> x = args.ints(0);
  const int64_t rows = x_shape.rank() == 2 ? x_shape[0] : 1, items = rows ? x_shape.elements() / rows : 0;
  Numbers<double> y(static_cast<size_t>(rows * v.columns));
  Pace pace;
  for (int64_t row = 0; row < rows; ++row) {
    double* columns = y.data() + row * v.columns;
    for (int64_t distance = 1; distance <= std::min(v.max_skip + 1, std::max<int64_t>(items, 1)); ++distance)
      for (int64_t start = 0; start < items; ++start) {
        size_t at = 0;
        for (int64_t length = 1, place = start; length <= v.max_length && place < items; ++length, place += distance) {
          pace.step(16);
          const auto edge = tree.edges.find({at, x[static_cast<size_t>(row * items + place)]});
          if (edge == tree.edges.end()) break;
          at = edge->second;
          const bool first_time = length > 1 || distance == 1;  // single items are the same at every distance
          if (length < v.min_length || !first_time || tree.gram[at] < 0) continue;
          const size_t gram = static_cast<size_t>(tree.gram[at]);
          const double weight = v.weighted && v.weights ? static_cast<double>((*v.weights)[gram]) : 1;
          double& to = columns[(*v.indexes)[gram]];
          to = v.counted ? to + weight : weight;
        }
      }
  }
  args.write(0, y);
}

constexpr List<Operator> definitions() {
  return {{.name = "TfIdfVectorizer",
           .since = 9,
           .doc = MINNOW_DOC("Counts the n-grams of a pool in each row, also those with up to max_skip_count items left out between "
                             "neighbours: TF the count, IDF the "
                             "weight where there is one, TFIDF both multiplied. Items are integers."),
           .inputs = {{"X", kIndex}},
           .outputs = {{"Y", fixed(DType::f32)}},
           .attributes = {required(kMode, AttributeKind::text, MINNOW_DOC("TF, IDF or TFIDF")),
                          required(kCounts, AttributeKind::integers, MINNOW_DOC("where n-grams of 1, 2, ... items begin in the pool")),
                          required(kIndexes, AttributeKind::integers, MINNOW_DOC("column of each n-gram")),
                          required(kMinLength, AttributeKind::integer, MINNOW_DOC("items of the shortest n-grams that are counted")),
                          required(kMaxLength, AttributeKind::integer, MINNOW_DOC("items of the longest")),
                          required(kMaxSkip, AttributeKind::integer, MINNOW_DOC("most items left out between neighbours of an n-gram")),
                          optional(kPool, AttributeKind::integers, MINNOW_DOC("the n-grams after each other")),
                          optional("pool_strings", AttributeKind::texts, MINNOW_DOC("refused")),
                          optional(kWeights, AttributeKind::reals, MINNOW_DOC("of each n-gram"))},
           .infer_shapes = shape,
           .reference = reference}};
}

}  // namespace

std::span<const Operator> tfidf_vectorizer_operators() { return operator_table<definitions>(); }

}  // namespace minnow
