// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <chrono>

#include "base/watch.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

// The list of a stage is repeated until nothing changes. Fusing comes later, because it hides operators from other passes. f16 and
// bf16 are widened when numbers that were computed from shapes, often in f32, are constants. Patterns of several products are raised after
// the products have absorbed their biases, and then Transposes move again. Remaining Transposes that move nothing in memory become
// reshapes. Finally, remaining elementwise operators between the fused ones are grouped.
// Every pass, in the order of a round, with its fields of struct Pass: the name is that of its function, and of its file.
#define MINNOW_PASSES(DO)                                                                                                             \
  DO(copy_outer_outputs, "outputs of subgraphs that are outer values get a node of their own", kSimplify, true)                       \
  DO(remove_identities, "Identity, and Dropout outside training", kNotLast, true)                                                     \
  DO(raise_look_ups, "constant indices into a constant palette become an operator that plans compute once", kSimplify, false)         \
  DO(fold_shapes, "what is computed from known dimensions becomes a constant", kNotLast, true)                                        \
  DO(fold_constants, "what is computed from constants becomes a constant", kNotLast, true)                                            \
  DO(widen_bf16_f16, "graphs of f16 or bf16 compute in f32, and round at their ends", kSimplify, false)                               \
  DO(inline_constant_ifs, "an If with a constant condition becomes the branch that is taken", kSimplify, true)                        \
  DO(remove_no_ops, "nodes whose result is their input; reshapes in a row", kNotLast, false)                                          \
  DO(merge_common_subexpressions, "equal constants, and nodes that compute the same", kNotLast, true)                                 \
  DO(raise_activations, "activation functions written out in arithmetic become operators", kSimplify, false)                          \
  DO(raise_normalizations, "LayerNormalization and RMSNormalization written out become operators", kSimplify, false)                  \
  DO(raise_softmax, "Softmax and LogSoftmax written out, or made two-dimensional, become operators", kSimplify, false)                \
  DO(raise_recurrences, "a Loop that computes an LSTM, GRU or RNN becomes the operator", kSimplify, false)                            \
  DO(fold_batch_normalizations, "BatchNormalization goes into the weights before it", kSimplify, false)                               \
  DO(fold_scales, "numbers multiplied with or added to channels go into weights and biases", kSimplify, false)                        \
  DO(fold_input_scales, "numbers multiplied with or added to channels go into the weights that read them", kSimplify, false)          \
  DO(fold_pads, "zeros around an image become the padding of what reads it", kSimplify, false)                                        \
  DO(raise_attention, "products with a softmax between them become Attention", kRaise, false)                                         \
  DO(einsum_to_matmul, "an Einsum that is a product of matrices becomes one", kSimplify, false)                                       \
  DO(raise_channel_shuffles, "channels that are reshaped, swapped and reshaped back are shuffled by an operator", kSimplify, false)   \
  DO(split_products, "parts of a product with constant weights are products of their own", kSimplify, false)                          \
  DO(move_reshapes, "reshapes move to where they meet others", kSimplify | kTidy, false)                                              \
  DO(push_transposes, "Transposes cancel, or move to where there is less to transpose", kSimplify | kRaise, false)                    \
  DO(move_quantization, "data that is only moved stays quantized", kSimplify, false)                                                  \
  DO(fuse_quantized, "convolutions and products between DequantizeLinear and QuantizeLinear compute with integers", kSimplify, false) \
  DO(reshape_transposes, "a Transpose that moves dimensions of size 1 alone becomes a Reshape", kTidy, false)                         \
  DO(squeeze_reductions, "a reduction drops the dimensions that a reshape behind it takes away", kFuse | kTidy, false)                \
  DO(conv_transpose_to_conv, "a ConvTranspose of few channels whose windows do not overlap becomes a Conv and a DepthToSpace", kFuse, \
     false)                                                                                                                           \
  DO(pack_weights, "products with constants of 2, 4 or 8 bits behind DequantizeLinear compute from packed weights", kFuse, false)     \
  DO(fuse_products,                                                                                                                   \
     "bias, residual, activation, transposed and scaled factors, the order of an image's channels join Conv, Gemm and MatMul",        \
     kFuse | kTidy, false)                                                                                                            \
  DO(fuse_dequantized, "convolutions and products behind DequantizeLinear alone compute with integers, too", kTidy, false)            \
  DO(fuse_channel_shuffles, "a shuffle of channels joins and splits them, too", kFuse, false)                                         \
  DO(fuse_elementwise, "elementwise nodes in a row run in one pass over their elements", kGroup, false)                               \
  DO(remove_dead_code, "nodes and constants that nothing uses", kNotLast, true)

namespace minnow {

#define MINNOW_DECLARE_PASS(name, ...) void name(Graph&, PassContext&);
MINNOW_PASSES(MINNOW_DECLARE_PASS)

namespace {

constexpr uint8_t kNotLast = kSimplify | kFuse | kRaise | kTidy;
#define MINNOW_LIST_PASS(name, doc, stages, while_training) {#name, doc, name, stages, while_training},
constexpr Pass kPasses[] = {MINNOW_PASSES(MINNOW_LIST_PASS)};

// Each round makes the graph smaller or moves something one step; models need three or four.
constexpr int kMostRounds = 12;

size_t count_nodes(Graph& graph) {
  size_t count = 0;
  for_each_graph(graph, [&](Graph& each) { count += each.node_count(); });
  return count;
}

size_t bytes_of_constants(Graph& graph) {
  size_t bytes = 0;
  for_each_graph(graph, [&](Graph& each) {
    for (const auto& constant : each.constants()) bytes += stored_bytes(constant->constant()->dtype(), constant->constant()->shape());
  });
  return bytes;
}

/// Types while passes run: inferred types hold for all sizes, the file's claims about intermediate values are dropped, and every dimension
/// has a symbol.
class Types {
 public:
  Types(Graph& graph, PassContext& context) : graph_(graph) {
    infer_types(context.operators(), graph);
    for (const auto& input : graph.inputs()) name_dims(input->type, context.sizes);
    for (const State& state : graph.states()) name_dims(state.current->type, context.sizes);
    for (const Value* output : graph.outputs()) declared_.push_back(output->type);
  }
  /// Makes types readable after the passes: removes generated symbols, and restores the declared types of outputs.
  void finish() {
    for_each_graph(graph_, [](Graph& each) { unname_unknown(each); });
    for (size_t i = 0; i < declared_.size(); ++i) keep_declared(*graph_.outputs()[i], declared_[i]);
  }

 private:
  static void name_dims(ValueType& type, SizeTable& sizes) {
    if (!type.dims) return;
    for (Dim& dim : *type.dims)
      if (!dim.known() && (dim.symbol.empty() || dim.symbol.find('?') != dim.symbol.npos)) dim = sizes.of_input();
  }
  static void keep_declared(Value& output, const ValueType& declared) {
    ValueType& type = output.type;
    if (output.constant() || output.is_input() || type.kind != ValueType::Kind::tensor || declared.kind != type.kind || !declared.dims)
      return;
    if (!type.dims) {
      type.dims = declared.dims;
    } else if (type.dims->size() == declared.dims->size()) {
      for (size_t i = 0; i < type.dims->size(); ++i)
        if (Dim& dim = (*type.dims)[i]; !dim.known() && !(*declared.dims)[i].symbol.empty()) dim = (*declared.dims)[i];
    }
  }

  Graph& graph_;
  std::vector<ValueType> declared_;
};

void run_on_all(const Pass& pass, Graph& graph, PassContext& context) {
  for_each_graph(graph, [&](Graph& each) {
    Watch::check();
    pass.run(each, context);
  });
}

/// `left`: of OptimizeOptions::most_changes. `begin`, `end`: of the work, for progress.
size_t run_stage(uint8_t stage, Graph& graph, PassContext& context, const OptimizeOptions& options, size_t& left, double begin,
                 double end) {
  size_t changes = 0;
  for (const Pass& pass : options.passes) {
    if (left == 0) return 0;
    if (!(pass.stages & stage) || (options.level == Optimize::train && !pass.while_training)) continue;
    if (options.progress) options.progress(begin + (end - begin) * double(&pass - options.passes.data()) / double(options.passes.size()));
    PassReport report;
    context.changes = 0;
    context.details = options.report ? &report.details : nullptr;
    const auto start = std::chrono::steady_clock::now();
    run_on_all(pass, graph, context);
    changes += context.changes;
    if (!context.changes) continue;
    --left;
    if (!options.report) continue;
    report.pass = pass.name;
    report.changes = context.changes;
    report.nodes = count_nodes(graph);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    options.report(report);
  }
  return changes;
}

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

void optimize(Graph& graph, const OperatorSet& operators, const OptimizeOptions& options) {
  if (options.level == Optimize::none) return;
  PassContext context(operators, options.level);
  context.set_growth(bytes_of_constants(graph));
  Types types(graph, context);
  size_t left = options.most_changes;
  // The number of rounds is not known in advance, so each round counts as half of the rest of its stage.
  double done = 0;
  for (uint8_t stage : {kSimplify, kFuse, kRaise, kTidy, kGroup}) {
    const double end = done + 0.2;
    for (int round = 0; round < kMostRounds; ++round) {
      const double begin = done;
      done = 0.5 * (done + end);
      if (run_stage(stage, graph, context, options, left, begin, done) == 0) break;
    }
    done = end;
  }
  types.finish();
  verify(graph);
}

size_t run_pass(std::string_view name, Graph& graph, const OperatorSet& operators, Optimize level, std::vector<std::string>* details) {
  for (const Pass& pass : kPasses)
    if (pass.name == name) {
      PassContext context(operators, level);
      context.set_growth(bytes_of_constants(graph));
      Types types(graph, context);
      fold_shapes(graph, context);  // infers the shapes
      context.changes = 0;
      context.details = details;
      run_on_all(pass, graph, context);
      types.finish();
      verify(graph);
      return context.changes;
    }
  throw InvalidArgument("there is no pass \"{}\"", name);
}

}  // namespace minnow
