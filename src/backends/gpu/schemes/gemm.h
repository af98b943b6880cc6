// SPDX-License-Identifier: Apache-2.0
// Products of matrices in tiles, for matrix products and convolutions: the operands are expressions.
#pragma once
#include "backends/gpu/schemes/schemes.h"
#include "graph/activation.h"
#include "graph/matmul.h"
#include "graph/window.h"

namespace minnow::gpu {

/// Rows or columns of a result for which products of floats have a form of their own.
constexpr int64_t kFewRows = 8;

struct Gemm {
  int64_t m = 0, n = 0, k = 0, batches = 1;
  std::string parameters;  // of the kernel, for A and B, each followed by a comma
  std::vector<Given> given;
  std::string pointers;     // statements that open them
  std::string definitions;  // macros, and A_AT(m, k), B_AT(k, n): floats, 0 outside of the matrices
  std::string start;        // statements behind the computation of `batch`, m0, n0
  bool a_columns = false;   // neighbours in memory are those along m, else along k
  bool b_rows = true;       // along n, else along k
  bool few = false;         // m or n is at most kFewRows: no tiles, each number of the other matrix is read once

  // The result: element (m, n) of a batch is at index `result_at` of it, an expression. Scratch holds f32.
  Given result = Given::output(0);
  std::string result_at;
  float alpha = 1;
  Activation activation;
  /// Further terms, as statements that add to `v` at index `i` of the output, with (m, n) at hand; their parameters and arguments.
  std::string terms, term_parameters;
  std::vector<Given> term_given;
  /// A and B are integers of at most 9 bits, and so are the sums, of 32 bits: exact, from sums of floats over a step of 16.
  bool integers = false;
  std::string finish;  // integers: statements that store the int `sum` at index `i`, with (m, n) at hand
};

/// Where operands are read: an expression of the element at index (i), in row or column (c) of the result where that matters.
struct Operand {
  size_t input;
  std::string load;
};
/// A convolution, but for its end: A has the filters, B the image. Depends on the expression of the filters' (i) and (c), the output
/// channel.
Gemm conv_gemm(const NodeView& node, const ConvGeometry& conv, const Operand& x, const Operand& w);
/// A product of matrices, but for its end; may add tables to the kernel.
Gemm matmul_gemm(Launches& kernel, const MatMulGeometry& product, const NodeView& node, const Operand& a, const Operand& b);
/// An operand of floats.
Operand float_operand(const NodeView& node, size_t input, std::string_view name);

/// Why there are more matrices, or rows of one, than a launch of CUDA's takes groups. Empty: there are not.
std::string refusal_of_gemm(int64_t rows, int64_t matrices);
std::string refusal_of_gemm(const MatMulGeometry& product);
/// The arithmetic of few rows or columns, sums of the items of groups included; `lines`: the longer side's matrix has neighbours along k.
double operations_of_few(double results, int64_t k, bool lines);
/// How much of the tiles along a side of that size is inside of the matrix.
double share_of_tiles(int64_t size);
/// Appends the launches. Reserves scratch where the sums are split.
void add_gemm(Launches& kernel, PrepareContext& context, const Gemm& gemm);

/// The terms of a fused operator: the bias, which is broadcast, and a tensor like the output. Absent inputs are left out.
struct Term {
  size_t input;
  float factor;
  bool per_channel;  // of axis 1 alone
};
void add_terms(Gemm& gemm, const NodeView& node, std::span<const Term> terms);

/// Why no kernel computes a Conv or minnow.FusedConv of floats; empty: there may be one.
std::string refusal_of_float_conv(const NodeView& node);
/// The terms and the activation of such a node.
void add_conv_terms(Gemm& gemm, const NodeView& node);

}  // namespace minnow::gpu
