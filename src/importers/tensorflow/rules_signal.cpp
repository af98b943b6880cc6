// SPDX-License-Identifier: Apache-2.0
// Fourier transforms and the complex numbers that they give: pairs along a new last dimension, which only these rules read.
#include "importers/tensorflow/rules.h"

namespace minnow::tensorflow {
namespace {

/// DFT along the dimension before the pairs; it wants a batch in front.
Expr transform(TfNode& node, TypedBuilder& p, const Expr& pairs, const Expr& length, Attributes attributes) {
  const int64_t rank = p.rank(pairs);
  if (rank < 0) node.refuse("its input has an unknown number of dimensions");
  const Expr x = rank == 2 ? p.unsqueeze(pairs, {0}) : pairs;
  const Expr axis = p.scalar(static_cast<double>(rank == 2 ? 1 : rank - 2), DType::i64);
  const Expr y = p.op("DFT", {x, length, axis}, std::move(attributes));
  return rank == 2 ? p.squeeze(y, {0}) : y;
}
Expr length_of(TfNode& node, TypedBuilder& p) { return p.reshape(p.i64(node.input(1)), Ints{}); }
Expr half(TfNode& node, TypedBuilder& p, int64_t part) {
  return p.gather(node.input(0), p.scalar(static_cast<double>(part), DType::i64), -1);
}

}  // namespace

Exprs import_fft(TfNode& node, TypedBuilder& p) {
  return {transform(node, p, node.input(0), Expr(), {{"inverse", int64_t{node.def.op == "IFFT"}}})};
}
Exprs import_rfft(TfNode& node, TypedBuilder& p) {
  return {transform(node, p, p.unsqueeze(node.input(0), {-1}), length_of(node, p), {{"onesided", int64_t{1}}})};
}
Exprs import_irfft(TfNode& node, TypedBuilder& p) {
  return {p.squeeze(transform(node, p, node.input(0), length_of(node, p), {{"onesided", int64_t{1}}, {"inverse", int64_t{1}}}), {-1})};
}
Exprs import_complex(TfNode& node, TypedBuilder& p) {
  return {p.concat({p.unsqueeze(node.input(0), {-1}), p.unsqueeze(node.input(1), {-1})}, -1)};
}
Exprs import_real(TfNode& node, TypedBuilder& p) { return {half(node, p, 0)}; }
Exprs import_imaginary(TfNode& node, TypedBuilder& p) { return {half(node, p, 1)}; }
Exprs import_complex_abs(TfNode& node, TypedBuilder& p) {
  return {p.op("ReduceL2", {node.input(0), p.constant({-1})}, {{"keepdims", int64_t{0}}})};
}

}  // namespace minnow::tensorflow
