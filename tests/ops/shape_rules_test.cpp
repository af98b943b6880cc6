// SPDX-License-Identifier: Apache-2.0
// The shape rule of every operator over symbols: a node of each operator is run, and what the rule tells from numbers, from symbols and
// from both is compared with the result. An operator without a node here, or whose rule knows no symbols, fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/graph.h"
#include "ops/evaluate.h"
#include "support/operators.h"
#include "support/shape_rules.h"

namespace minnow::test {
namespace {

/// Nodes in the text form of graphs, lines divided by ';'. "x" and the like are inputs of patterns; y, the first output, is of the
/// operator.
constexpr std::string_view kNodes[] = {
    "input x: f32[2, 2, 3]; const s = i64[4] [2, 3, 4, 5]; y = AffineGrid(x, s)",
    "input x: f32[2, 3, 4]; y = ArgMax(x) {axis = 1}",
    "input x: f32[2, 3, 4]; y = ArgMin(x) {axis = 1}",
    "input q: f32[2, 3, 4, 8]; input k: f32[2, 3, 5, 8]; input v: f32[2, 3, 5, 6]; y = Attention(q, k, v)",
    "input x: f32[2, 3, 8, 9]; y = AveragePool(x) {kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 0]}",
    "input x: f32[2, 3, 4]; input s: f32[3]; input b: f32[3]; input m: f32[3]; input v: f32[3]; y = BatchNormalization(x, s, b, m, v)",
    "const p = f32[2, 2] [0, 1, 1, 0]; y = Bernoulli(p)",
    "input x: f32[2, 3]; y = BitCast(x) {to = 6}",
    "input x: i32[2, 3]; const s = i32[] 1; y = BitShift(x, s) {direction = \"LEFT\"}",
    "const n = i64[] 8; y = BlackmanWindow(n)",
    "input x: f32[2, 3]; y = Cast(x) {to = 7}",
    "input x: f32[2, 3]; input t: i64[1]; y = CastLike(x, t)",
    "input x: f32[2, 3, 8]; input w: f32[3, 1, 4]; y, p = CausalConvWithState(x, w)",
    "input x: f32[4, 6]; const s = i64[2] [2, 8]; y = CenterCropPad(x, s)",
    "input x: f32[2, 12, 6]; const i = i64[2] [3, 4]; const b = i64[2] [2, 2]; y = Col2Im(x, i, b)",
    "input x: f32[3, 4]; const c = bool[3] [1, 0, 1]; y = Compress(x, c) {axis = 0}",
    "input x: f32[2, 3]; input z: f32[2, 5]; y = Concat(x, z) {axis = 1}",
    "y = Constant() {value_int = 3}",
    "const s = i64[2] [2, 3]; y = ConstantOfShape(s)",
    "input x: f32[2, 4, 9, 8]; input w: f32[6, 2, 3, 3]; y = Conv(x, w) {group = 2, strides = [2, 1], pads = [1, 1, 1, 1]}",
    "input x: u8[2, 4, 9, 8]; input w: u8[6, 4, 3, 3]; y = ConvInteger(x, w)",
    "input x: f32[2, 4, 5, 6]; input w: f32[4, 3, 3, 3]; y = ConvTranspose(x, w) {strides = [2, 2]}",
    "input x: f32[2, 3]; const a = i64[] 1; y = CumProd(x, a)",
    "input x: f32[2, 3]; const a = i64[] 1; y = CumSum(x, a)",
    "input x: f32[2, 8, 1]; y = DFT(x) {onesided = 1}",
    "input x: f32[2, 4, 6, 6]; input w: f32[3, 4, 3, 3]; input o: f32[2, 18, 4, 4]; y = DeformConv(x, w, o)",
    "input x: f32[2, 8, 3, 4]; y = DepthToSpace(x) {blocksize = 2}",
    "input x: u8[2, 3]; input s: f32[]; y = DequantizeLinear(x, s)",
    "input x: f32[2, 3, 3]; y = Det(x)",
    "input x: f32[2, 3]; y = Dropout(x)",
    "input x: f32[2, 3]; y, s, z = DynamicQuantizeLinear(x)",
    "input a: f32[2, 3, 4]; input b: f32[2, 4, 5]; y = Einsum(a, b) {equation = \"bij,bjk->bik\"}",
    "input x: f32[2, 1]; const s = i64[3] [4, 1, 3]; y = Expand(x, s)",
    "input x: f32[2, 3]; y = EyeLike(x)",
    "input x: f32[2, 3, 4]; y = Flatten(x) {axis = 2}",
    "input x: f32[5, 2, 3]; input w: f32[1, 12, 3]; input r: f32[1, 12, 4]; y, h = GRU(x, w, r) {hidden_size = 4}",
    "input x: f32[4, 3]; const i = i64[2] [1, 0]; y = Gather(x, i)",
    "input x: f32[4, 3]; const i = i64[2, 3] [0, 1, 2, 3, 0, 1]; y = GatherElements(x, i)",
    "input x: f32[4, 3]; const i = i64[2, 1] [0, 3]; y = GatherND(x, i)",
    "input a: f32[2, 3]; input b: f32[4, 3]; input c: f32[4]; y = Gemm(a, b, c) {transB = 1}",
    "input x: f32[2, 3, 4, 5]; y = GlobalAveragePool(x)",
    "input x: f32[2, 3, 4, 5]; y = GlobalLpPool(x)",
    "input x: f32[2, 3, 4, 5]; y = GlobalMaxPool(x)",
    "input x: f32[2, 3, 4, 5]; input g: f32[2, 6, 7, 2]; y = GridSample(x, g)",
    "input x: f32[2, 4, 5]; input s: f32[4]; input b: f32[4]; y = GroupNormalization(x, s, b) {num_groups = 2}",
    "const n = i64[] 8; y = HammingWindow(n)",
    "const n = i64[] 8; y = HannWindow(n)",
    "input x: f32[2, 3]; y = Hardmax(x)",
    "input x: f32[2, 3]; y = Identity(x)",
    "input x: f32[2, 3, 4]; input s: f32[3]; input b: f32[3]; y = InstanceNormalization(x, s, b)",
    "input x: f32[2, 3, 4, 5]; y = LRN(x) {size = 3}",
    "input x: f32[5, 2, 3]; input w: f32[1, 16, 3]; input r: f32[1, 16, 4]; y, h, c = LSTM(x, w, r) {hidden_size = 4}",
    "input x: f32[2, 3, 4]; input s: f32[4]; y = LayerNormalization(x, s)",
    "input q: f32[2, 3, 8]; input k: f32[2, 3, 8]; input v: f32[2, 3, 4]; y, p = LinearAttention(q, k, v) "
    "{update_rule = \"linear\", q_num_heads = 2, kv_num_heads = 2}",
    "input x: f32[2, 3]; y = LogSoftmax(x)",
    "input x: f32[2, 3]; y = LpNormalization(x)",
    "input x: f32[2, 3, 8, 9]; y = LpPool(x) {kernel_shape = [3, 2]}",
    "input a: f32[2, 3, 4]; input b: f32[4, 5]; y = MatMul(a, b)",
    "input a: u8[2, 3, 4]; input b: u8[4, 5]; y = MatMulInteger(a, b)",
    "input x: f32[2, 3, 8, 9]; y, i = MaxPool(x) {kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1}",
    "input x: f32[1, 3, 8, 9]; const r = f32[2, 5] [0, 0, 0, 3, 3, 0, 1, 1, 4, 4]; y = MaxRoiPool(x, r) {pooled_shape = [2, 2]}",
    "input x: f32[1, 1, 2, 2]; const i = i64[1, 1, 2, 2] [0, 2, 8, 10]; y = MaxUnpool(x, i) {kernel_shape = [2, 2], strides = [2, 2]}",
    "input x: f32[2, 3, 4, 5]; y = MeanVarianceNormalization(x)",
    "const b = i64[] 4; const l = i64[] 16; const r = i64[] 8000; const f = f32[] 0; const t = f32[] 4000; y = MelWeightMatrix(b, l, r, f, "
    "t)",
    "input x: f32[2, 3]; y = Multinomial(x) {sample_size = 4}",
    "input x: f32[2, 3]; const t = i64[2] [0, 2]; y = NegativeLogLikelihoodLoss(x, t) {reduction = \"none\"}",
    "input b: f32[2, 5, 4]; input s: f32[2, 3, 5]; const m = i64[] 2; y = NonMaxSuppression(b, s, m)",
    "input x: f32[2, 3]; y = NonZero(x)",
    "const i = i64[2, 3] [0, 1, 2, 3, 0, 1]; const d = i64[] 4; input v: f32[2]; y = OneHot(i, d, v)",
    "input x: f32[2, 3]; input s: f32[3]; y = PRelu(x, s)",
    "input x: f32[2, 3]; const p = i64[4] [1, 0, 2, 1]; y = Pad(x, p)",
    "input x: u8[2, 4, 9, 8]; const s = f32[] 1; const z = u8[] 0; input w: u8[6, 4, 3, 3]; y = QLinearConv(x, s, z, w, s, z, s, z)",
    "input a: u8[2, 3]; const s = f32[] 1; const z = u8[] 0; input b: u8[3, 4]; y = QLinearMatMul(a, s, z, b, s, z, s, z)",
    "input x: f32[2, 3]; const s = f32[] 1; y = QuantizeLinear(x, s)",
    "input x: f32[2, 3, 4]; input s: f32[4]; y = RMSNormalization(x, s)",
    "input x: f32[5, 2, 3]; input w: f32[1, 16, 3]; input r: f32[1, 16, 4]; input g: f32[5, 1, 2, 4]; "
    "y, w2, r2 = minnow.RecurrentGradient(x, w, r, _, _, _, _, _, _, _, _, g)",
    "input x: f32[5, 2, 3]; input w: f32[1, 4, 3]; input r: f32[1, 4, 4]; y, h = RNN(x, w, r) {hidden_size = 4}",
    "y = RandomNormal() {shape = [2, 3]}",
    "input x: f32[2, 3]; y = RandomNormalLike(x)",
    "y = RandomUniform() {shape = [2, 3]}",
    "input x: f32[2, 3]; y = RandomUniformLike(x)",
    "const a = i64[] 2; const b = i64[] 9; const c = i64[] 3; y = Range(a, b, c)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceL1(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceL2(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceLogSum(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceLogSumExp(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceMax(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceMean(x, a) {keepdims = 0}",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceMin(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceProd(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceSum(x, a)",
    "input x: f32[2, 3, 4]; const a = i64[1] [1]; y = ReduceSumSquare(x, a)",
    "input x: f32[2, 3, 4]; const s = i64[3] [0, -1, 2]; y = Reshape(x, s)",
    "input x: f32[2, 3, 4, 5]; const s = f32[4] [1, 1, 2, 2]; y = Resize(x, _, s)",
    "input x: f32[4, 3]; const l = i64[3] [1, 2, 3]; y = ReverseSequence(x, l)",
    "input x: f32[1, 3, 8, 9]; input r: f32[2, 4]; const b = i64[2] [0, 0]; y = RoiAlign(x, r, b) {output_height = 2, output_width = 3}",
    "input x: f32[2, 3, 4, 8]; input c: f32[2, 4, 4]; input s: f32[2, 4, 4]; y = RotaryEmbedding(x, c, s)",
    "input x: f32[2, 16, 1]; const t = i64[] 4; input w: f32[8]; y = STFT(x, t, w)",
    "input x: f32[4, 3]; const i = i64[2, 3] [0, 1, 2, 3, 0, 1]; input u: f32[2, 3]; y = ScatterElements(x, i, u)",
    "input x: f32[4, 3]; const i = i64[2, 1] [0, 3]; input u: f32[2, 3]; y = ScatterND(x, i, u)",
    "input x: f32[2, 3, 4]; y = Shape(x)",
    "input x: f32[2, 3, 4]; y = Size(x)",
    "input x: f32[6, 5]; const s = i64[1] [1]; const e = i64[1] [5]; const a = i64[1] [0]; const t = i64[1] [2]; y = Slice(x, s, e, a, t)",
    "input x: f32[2, 3]; y = Softmax(x)",
    "input x: f32[2, 3]; const t = i64[2] [0, 2]; y, l = SoftmaxCrossEntropyLoss(x, t)",
    "input x: f32[2, 3, 4, 6]; y = SpaceToDepth(x) {blocksize = 2}",
    "input x: f32[2, 6]; const s = i64[2] [2, 4]; y, z = Split(x, s) {axis = 1}",
    "input x: f32[2, 1, 3]; const a = i64[1] [1]; y = Squeeze(x, a)",
    "input x: f32[2, 4, 3]; input u: f32[2, 1, 3]; y = TensorScatter(x, u)",
    "const x = i64[2, 3] [1, 2, 3, 2, 1, 1]; y = TfIdfVectorizer(x) {mode = \"TF\", min_gram_length = 1, max_gram_length = 1, "
    "max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1], pool_int64s = [1, 2]}",
    "input x: f32[2, 3]; const r = i64[2] [2, 3]; y = Tile(x, r)",
    "input x: f32[2, 5]; const k = i64[1] [3]; y, i = TopK(x, k)",
    "input x: f32[2, 3, 4]; y = Transpose(x) {perm = [1, 2, 0]}",
    "input x: f32[2, 3, 3]; y = Trilu(x)",
    "input x: f32[2, 3]; y, i, v, c = Unique(x) {axis = 1}",
    "input x: f32[2, 3]; const a = i64[1] [1]; y = Unsqueeze(x, a)",
    "const c = bool[2, 1] [1, 0]; input a: f32[2, 3]; input b: f32[3]; y = Where(c, a, b)",
    "input x: f32[2, 5]; const i = i64[2] [1, 3]; y = ai.onnx.ml.ArrayFeatureExtractor(x, i)",
    "input r: f32[]; const t = i64[] 1; input x: f32[2]; input g: f32[2]; input h: f32[2]; y, z = ai.onnx.preview.training.Adagrad(r, t, "
    "x, g, h)",
    "input r: f32[]; const t = i64[] 1; input x: f32[2]; input g: f32[2]; input v: f32[2]; input h: f32[2]; "
    "y, z, w = ai.onnx.preview.training.Adam(r, t, x, g, v, h)",
    "input r: f32[]; const t = i64[] 1; input x: f32[2]; input g: f32[2]; input v: f32[2]; "
    "y, z = ai.onnx.preview.training.Momentum(r, t, x, g, v) {mode = \"standard\", norm_coefficient = 0.0, alpha = 0.9, beta = 1.0}",
    "const k = u32[2] [1, 2]; const s = i64[2] [3, 4]; y = minnow.KeyedUniform(k, s)",
    "input c: f32[1]; input x: f32[2, 3]; input g: f32[2, 3]; y = minnow.UpdateElements(c, x, g) {rule = [0, -1, -1, -1, -1, 0, -1, -1, "
    "-1, "
    "-1], results = [1]}",
    "input x: f32[2, 4, 3]; input z: f32[5]; y = minnow.After(x, z)",
#if MINNOW_GRADIENTS
    "input q: f32[2, 3, 5, 8]; input k: f32[2, 3, 7, 8]; input v: f32[2, 3, 7, 4]; input g: f32[2, 3, 5, 4]; "
    "y, b, c = minnow.AttentionGradient(q, k, v, _, _, _, _, g)",
    "input x: f32[2, 4, 9, 8]; input s: f32[4]; input g: f32[2, 4, 9, 8]; y, t, b = minnow.BatchNormalizationGradient(x, s, g)",
    "input x: f32[2, 4, 9, 8]; input s: f32[9, 8]; input g: f32[2, 4, 9, 8]; "
    "y, t, b = minnow.LayerNormalizationGradient(x, s, g) {axis = 2}",
    "input x: f32[2, 4, 9, 8]; input g: f32[2, 6, 7, 6]; y = minnow.ConvWeightGradient(x, g) {kernel_shape = [3, 3]}",
    "input x: f32[2, 4, 9, 8]; input g: f32[2, 4, 4, 4]; y = minnow.MaxPoolGradient(x, g) {kernel_shape = [3, 2], strides = [2, 2]}",
    "input q: f32[2, 3, 8]; input k: f32[2, 3, 8]; input v: f32[2, 3, 4]; input g: f32[2, 3, 4]; "
    "y, b, c = minnow.LinearAttentionGradient(q, k, v, _, _, _, g) {update_rule = \"linear\", q_num_heads = 2, kv_num_heads = 2}",
    "input x: f32[1, 3, 8, 9]; const r = f32[2, 5] [0, 0, 0, 3, 3, 0, 1, 1, 4, 4]; input g: f32[2, 3, 2, 2]; "
    "y = minnow.MaxRoiPoolGradient(x, r, g) {pooled_shape = [2, 2]}",
    "input x: f32[1, 3, 8, 9]; input r: f32[2, 4]; const b = i64[2] [0, 0]; input g: f32[2, 3, 2, 3]; "
    "y, z = minnow.RoiAlignGradient(x, r, b, g) {output_height = 2, output_width = 3}",
#endif
    "input x: f32[2, 4, 3]; y = minnow.ChannelShuffle(x) {groups = 2}",
    "input x: f32[2, 4, 9, 8]; input w: f32[6, 4, 3, 3]; y = minnow.FusedConv(x, w)",
    "input a: f32[2, 3, 4]; input b: f32[4, 5]; y = minnow.FusedMatMul(a, b)",
    "input x: i8[5, 2, 3]; input w: i8[4, 6, 3]; input r: i8[4, 6, 6]; input h: i8[2, 6]; input c: i16[2, 6]; "
    "y, g, d = minnow.FixedPointLstm(x, w, r, _, h, c) {x_scales = [1.0, 1.0, 1.0, 1.0], h_scales = [1.0, 1.0, 1.0, 1.0]}",
    "input b: u8[5, 2, 8]; input s: f32[5, 2]; y = minnow.DequantizeNBits(b, s) {K = 20, bits = 4, block_size = 16}",
    "input a: f32[2, 3, 20]; input b: u8[5, 2, 8]; input s: f32[5, 2]; y = minnow.MatMulNBits(a, b, s) {K = 20, N = 5, bits = 4, "
    "block_size = 16}",
    "input x: u8[2, 3]; input p: f32[256]; y = minnow.LookUp(x, p)",
    "input x: u8[2, 3]; input p: i8[256]; y = minnow.LookUp(x, p)",
    "input x: f32[5, 2, 3]; input w: i8[1, 12, 3]; input r: i8[1, 12, 4]; input u: f32[1, 12, 1]; input v: f32[1, 12, 1]; "
    "y, h = minnow.QuantizedGRU(x, w, r, _, _, _, u, v) {hidden_size = 4}",
    "input x: f32[5, 2, 3]; input w: i8[1, 16, 3]; input r: i8[1, 16, 4]; input u: f32[1, 16, 1]; input v: f32[1, 16, 1]; "
    "y, h, c = minnow.QuantizedLSTM(x, w, r, _, _, _, _, u, v) {hidden_size = 4}",
    "input x: f32[6, 5]; const s = i64[2] [1, 0]; y = minnow.Region(x, s) {sizes = [2, 3], steps = [2, 1]}",
    "input x: f32[2, 4, 3]; y, u, v = minnow.Svd(x)",
    "input x: f32[2, 4, 3]; y = minnow.StopGradient(x)",
    "input x: f32[2, 4, 3]; const s = i64[2] [4, 1]; y = minnow.SumTo(x, s)",
};

/// Nodes of these run graphs, hold sequences or optionals, or are made by passes with many numbers: their own tests compare them, by
/// run_operator or by the types of whole graphs.
constexpr std::string_view kElsewhere[] = {"If",
                                           "Loop",
                                           "Scan",
                                           "SequenceMap",
                                           "Optional",
                                           "OptionalGetElement",
                                           "OptionalHasElement",
                                           "SequenceAt",
                                           "SequenceConstruct",
                                           "SequenceEmpty",
                                           "SequenceErase",
                                           "SequenceInsert",
                                           "SequenceLength",
                                           "SplitToSequence",
                                           "ConcatFromSequence",
                                           "ai.onnx.ml.TreeEnsemble",
                                           "minnow.FusedElementwise",
                                           "minnow.QuantizedAdd",
                                           "minnow.QuantizedAttention",
                                           "minnow.QuantizedConv",
                                           "minnow.QuantizedMatMul"};
/// Symbols tell nothing: the result follows from attributes or from contents that are numbers.
constexpr std::string_view kWithoutSymbols[] = {"Constant", "RandomNormal", "RandomUniform"};

template <size_t kCount>
bool is_in(const std::string_view (&list)[kCount], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// A node of an elementwise operator: a matrix, and rows beside it.
std::string elementwise_node(const Operator& op) {
  std::string text, list;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const InputSpec& spec = op.inputs[i];
    if (spec.arity == Arity::optional) break;
    const DType dtype = contains(spec.dtypes, DType::f32) ? DType::f32 : contains(spec.dtypes, DType::i64) ? DType::i64 : DType::boolean;
    text += format("input x{}: {}{}; ", i, dtype, i == 0 ? Shape{2, 3} : Shape{3});
    list += format("{}x{}", i ? ", " : "", i);
  }
  return text + format("y = {}({})", op.name, list);
}

void run_and_compare(const Operator& op, std::string text) {
  std::replace(text.begin(), text.end(), ';', '\n');
  const auto graph = parse_graph("graph {\n" + text + "\noutput y\n}");
  std::vector<Datum> given;
  for (const auto& input : graph->inputs()) given.emplace_back(pattern(input->type.shape(), 7, input->type.dtype));
  SymbolicKnowledge known;
  bool met = false;
  evaluate(OperatorSet::builtin(), *graph, given, [&](const Node& node, std::span<const Datum> from, std::span<Datum> to) {
    if (node.op() != op.name) return;
    met = true;
    EXPECT_TRUE(symbolic_rule_agrees(op, node, from, to, &known));
  });
  EXPECT_TRUE(met);
  EXPECT_TRUE(known.ranks > 0 || is_in(kWithoutSymbols, op.name)) << op.name << ": its shape rule knows no symbols";
}

class ShapeRuleOf : public testing::TestWithParam<const Operator*> {};

TEST_P(ShapeRuleOf, agrees_with_a_run) {
  const Operator& op = *GetParam();
  if (is_in(kElsewhere, op.name)) return;
  bool found = false;
  for (const std::string_view text : kNodes) {
    if (text.find(format("= {}(", op.name)) == text.npos) continue;
    found = true;
    run_and_compare(op, std::string(text));
  }
  if (found) return;
  ASSERT_TRUE(op.elementwise) << op.name << " has no node in this file";
  run_and_compare(op, elementwise_node(op));
}

INSTANTIATE_TEST_SUITE_P(operators, ShapeRuleOf, testing::ValuesIn(OperatorSet::builtin().list()), name_of_operator);

}  // namespace
}  // namespace minnow::test
