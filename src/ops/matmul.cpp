// SPDX-License-Identifier: Apache-2.0
#include "ops/operator.h"

namespace minnow {
namespace {

struct Product {
  Shape batch;  // broadcast leading dimensions
  int64_t m, k, n;
  Shape a, b;  // inputs with vectors made matrices
  Shape result;
};

Product product_of(const NodeView& node) {
  Product p;
  p.a = node.input_shape(0);
  p.b = node.input_shape(1);
  if (p.a.empty() || p.b.empty()) node.fail("a product of shapes {} and {} is not defined", p.a, p.b);
  const bool row = p.a.rank() == 1, column = p.b.rank() == 1;
  if (row) p.a.insert(0, 1);
  if (column) p.b.insert(1, 1);
  p.m = p.a[p.a.rank() - 2], p.k = p.a.back(), p.n = p.b.back();
  if (p.b[p.b.rank() - 2] != p.k) node.fail("shapes {} and {} do not fit: {} columns meet {} rows", p.a, p.b, p.k, p.b[p.b.rank() - 2]);
  const Shape leading[] = {Shape(p.a.dims().first(p.a.rank() - 2)), Shape(p.b.dims().first(p.b.rank() - 2))};
  p.batch = broadcast_shapes(node, leading);
  p.result = p.batch;
  if (!row) p.result.push_back(p.m);
  if (!column) p.result.push_back(p.n);
  return p;
}

template <class T>
void multiply(const Product& p, std::span<const T> a, std::span<const T> b, std::span<T> c) {
  const Ints sa = broadcast_strides(Shape(p.a.dims().first(p.a.rank() - 2)), p.batch),
             sb = broadcast_strides(Shape(p.b.dims().first(p.b.rank() - 2)), p.batch);
  T* out = c.data();
  for_each_index(p.batch, [&](std::span<const int64_t> index) {
    int64_t oa = 0, ob = 0;
    for (size_t i = 0; i < index.size(); ++i) oa += index[i] * sa[i], ob += index[i] * sb[i];
    const T *left = a.data() + oa * p.m * p.k, *right = b.data() + ob * p.k * p.n;
    for (int64_t i = 0; i < p.m; ++i, out += p.n)
      for (int64_t k = 0; k < p.k; ++k)
        for (int64_t j = 0; j < p.n; ++j) out[j] += left[i * p.k + k] * right[k * p.n + j];
  });
}

Shapes infer(const NodeView& node) { return {product_of(node).result}; }

void reference(const NodeView& node, KernelArgs& args) {
  const Product p = product_of(node);
  const size_t count = static_cast<size_t>(p.result.elements());
  if (is_float(args.input(0).dtype())) {
    std::vector<double> c(count);
    multiply<double>(p, args.reals(0), args.reals(1), c);
    args.write(0, c);
  } else {
    std::vector<int64_t> a = args.ints(0), b = args.ints(1), c(count);
    const auto bits = [](std::vector<int64_t>& v) { return std::span<uint64_t>(reinterpret_cast<uint64_t*>(v.data()), v.size()); };
    multiply<uint64_t>(p, bits(a), bits(b), bits(c));  // wraps around, as integers do
    args.write(0, c);
  }
}

}  // namespace

std::vector<Operator> matmul_operators() {
  return {{.name = "MatMul",
           .since = 13,
           .doc = MINNOW_DOC("The matrix product over the last two dimensions, as numpy.matmul; leading dimensions are broadcast."),
           .inputs = {{"A", kNumeric}, {"B", kNumeric}},
           .outputs = {{"Y", same_as("A")}},
           .infer_shapes = infer,
           .reference = reference}};
}

}  // namespace minnow
