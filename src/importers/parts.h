// SPDX-License-Identifier: Apache-2.0
// What the importers of all formats but ONNX build graphs with: a builder that knows the shapes of what it has made as far as the file
// tells, and the operators of those formats that take several of Minnow's. Images are [N, spatial..., C] where a function says "channels
// last".
#pragma once
#include <memory>
#include <unordered_set>

#include "graph/expr.h"
#include "ops/operator.h"
#include "passes/sizes.h"

namespace minnow {

/// The end of a Slice that goes to the end, whatever the size.
constexpr int64_t kEnd = INT64_MAX;

/// A window that slides over the spatial dimensions: of a convolution or a pool.
struct SlidingWindow {
  Ints kernel, strides, dilations;  // one each per spatial dimension; dilations may be empty: 1
  bool same = false;                // pad so that ceil(input / stride) windows fit, the odd element at the end
  Ints pads;                        // given in numbers instead: before each, then after each; empty: none
};

class Parts {
 public:
  Parts(GraphBuilder& builder, const OperatorSet& operators, SizeTable& sizes) : g_(&builder), operators_(&operators), sizes_(&sizes) {}
  GraphBuilder& builder() const noexcept { return *g_; }
  const OperatorSet& operators() const noexcept { return *operators_; }
  SizeTable& sizes() const noexcept { return *sizes_; }

  // Nodes, with the types of what they make.
  Expr op(std::string_view name, const Exprs& inputs, Attributes attributes = {});
  Exprs ops(std::string_view name, const Exprs& inputs, size_t outputs, Attributes attributes = {});
  Expr constant(const Ints& values) { return g_->constant(values); }  // i64, rank 1
  Expr scalar(double value, DType dtype = DType::f32) { return g_->scalar(value, dtype); }
  Expr reals(const Shape& shape, std::span<const double> values, DType dtype = DType::f32);

  // What is known. Asking infers the types of nodes that were made with plain expressions.
  void infer(const Expr& x);
  /// x where a node of this very graph makes it that no output gives yet, as a graph's outputs must be made; else a node that hands it on.
  Expr own(const Expr& x);
  /// Called before a node that was made here is removed.
  void forget(const Node& node) { inferred_.erase(&node); }
  DType dtype(const Expr& x);
  int64_t rank(const Expr& x);               // -1: not known
  int64_t dim(const Expr& x, int64_t axis);  // from the end where negative; -1: not known
  std::optional<Ints> shape(const Expr& x);  // where all of it is known
  std::optional<Ints> ints(const Expr& x);   // elements of a constant, or of a short vector made of such
  std::optional<double> number(const Expr& x);

  // Shapes.
  Expr cast(const Expr& x, DType dtype);  // x itself where it is of that dtype; constants of integers at once
  Expr i64(const Expr& x) { return cast(x, DType::i64); }
  Expr shape_of(const Expr& x, int64_t start = 0, int64_t end = kEnd);  // i64 vector; a constant where it is known
  Expr reshape(const Expr& x, const Ints& shape);                       // -1 infers one; 0 is a size
  Expr reshape(const Expr& x, const Expr& shape);
  Expr vector(const Expr& x) { return reshape(x, Ints{-1}); }
  Expr transpose(const Expr& x, const Ints& perm);
  Expr unsqueeze(const Expr& x, const Ints& axes);
  Expr squeeze(const Expr& x, const Ints& axes);
  Expr concat(const Exprs& parts, int64_t axis);
  Expr slice(const Expr& x, const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps = {});
  Expr gather(const Expr& x, const Expr& indices, int64_t axis) { return op("Gather", {x, indices}, {{"axis", axis}}); }
  /// TensorFlow's gather with leading dimensions in common.
  Expr gather_batched(const Expr& x, const Expr& indices, int64_t axis, int64_t batch_dims);
  Expr fill(const Expr& shape, double value, DType dtype);
  Expr channels_first(const Expr& x);  // [N, spatial..., C] -> [N, C, spatial...]
  Expr channels_last(const Expr& x);
  Expr swap_last(const Expr& x);  // the last two dimensions
  /// f(x) for an f that takes each element by itself; where x was just transposed, f goes before that, beside what made x.
  template <class F>
  Expr elementwise(const Expr& x, F f) {
    Ints perm;
    const Expr source = before_transpose(x, perm);
    return perm.empty() ? f(source) : transpose(f(source), perm);
  }

  // Images with channels last.
  /// `weights` [out, in / groups, kernel...]; the bias may be absent.
  Expr conv(const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, int64_t groups);
  /// `weights` [in, out / groups, kernel...]; the spatial size of the result where it is known, else empty (same padding: input * stride).
  Expr conv_transpose(const Expr& x, const Expr& weights, const Expr& bias, const SlidingWindow& window, const Ints& output_size,
                      int64_t groups = 1);
  /// Kernel, strides, dilations and padding as attributes, for an image with channels first.
  Attributes window_attributes(const Expr& x_first, const SlidingWindow& window);
  /// "MaxPool", "AveragePool" (padding does not count) or "LpPool".
  Expr pool(std::string_view name, const Expr& x, const SlidingWindow& window);
  enum class Grid : uint8_t { asymmetric, align_corners, half_pixel };
  Expr resize(const Expr& x, const Expr& size, bool bilinear, Grid grid);
  Expr space_to_depth(const Expr& x, int64_t block);
  Expr depth_to_space(const Expr& x, int64_t block);
  Expr space_to_batch(const Expr& x, const Ints& block, const Expr& paddings);  // paddings: [dims, 2]
  Expr batch_to_space(const Expr& x, const Ints& block, const Expr& crops);
  Expr local_response_normalization(const Expr& x, int64_t radius, float bias, float alpha, float beta);

  // Others that both TensorFlow and TFLite have.
  struct SliceMasks {
    int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
  };
  /// begin, end and strides are vectors; throws Unsupported (a sentence without a place) for what cannot be told before the run.
  Expr strided_slice(const Expr& x, const Expr& begin, const Expr& end, const Ints& strides, const SliceMasks& masks);
  /// From `begin`, so many elements of each dimension (vectors); a negative size goes to the end.
  Expr slice_sizes(const Expr& x, const Expr& begin, const Expr& size);
  /// Parts of those sizes along an axis; a negative one is what the others leave. Throws Unsupported (a sentence without a place) where
  /// that cannot be told.
  Exprs split_sizes(const Expr& x, Ints sizes, int64_t axis);
  Expr pad(const Expr& x, const Expr& paddings, const Expr& value, std::string_view mode = "constant");  // paddings: [rank, 2]
  Expr pad_symmetric(const Expr& x, const Ints& paddings);  // mirrored with the edge; [rank, 2] in row-major order
  Expr one_hot(const Expr& indices, const Expr& depth, const Expr& on, const Expr& off, int64_t axis);
  Expr reverse(const Expr& x, const Ints& axes);
  Expr matrix_diag(const Expr& x);
  Expr matrix_set_diag(const Expr& x, const Expr& diagonal);
  Expr floor_div(const Expr& a, const Expr& b);
  Expr floor_mod(const Expr& a, const Expr& b);
  Expr atan2(const Expr& y, const Expr& x);
  enum class Segment : uint8_t { sum, product, largest, smallest };
  /// Rows of `x` with equal ids are joined; rows with negative ids are left out. `count`: i64 of one element.
  Expr segment(const Expr& x, const Expr& ids, const Expr& count, Segment join);
  Expr scatter_nd(const Expr& indices, const Expr& updates, const Expr& shape);  // sums what meets
  Expr broadcast_shapes(const Expr& a, const Expr& b);                           // i64 vectors
  Expr dynamic_update_slice(const Expr& x, const Expr& update, const Expr& start);
  Expr lowest(DType dtype);
  Expr largest(DType dtype);
  /// Applies to x a range of numbers, absent bounds left open.
  Expr clip(const Expr& x, std::optional<double> low, std::optional<double> high);

 private:
  /// The input of the Transpose that makes x alone, which is removed, and its permutation; x itself and none where there is no such node.
  Expr before_transpose(const Expr& x, Ints& perm);
  Ints image_perm(const Expr& x, bool first);

  GraphBuilder* g_;
  const OperatorSet* operators_;
  SizeTable* sizes_;
  std::unordered_set<const void*> inferred_;
};

/// A graph inside of a node (a branch, the body of a loop), while it is filled.
struct InnerGraph {
  /// It may use the values of the graph that `outside` builds.
  explicit InnerGraph(const Parts& outside);
  std::shared_ptr<Graph> graph;
  GraphBuilder builder;
  Parts parts;
};

}  // namespace minnow
