// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_dims.h"

#include <algorithm>

#include "passes/infer_dims_rules.h"

namespace minnow {

std::optional<Sizes> sizes_of(const Value* value, SizeTable& table) {
  if (!value || !rank_of(*value)) return {};
  Sizes sizes;
  for (const Dim& dim : *value->type.dims) sizes.push_back(table.size_of(dim));
  return sizes;
}

std::optional<Sizes> reshaped_sizes(const Sizes& from, const std::vector<std::optional<Size>>& wanted) {
  Sizes to;
  std::optional<size_t> inferred;
  bool unknown = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) {
      unknown = true;
      to.emplace_back();
    } else if (wanted[i]->is(-1)) {
      if (inferred) return {};
      inferred = i;
      to.emplace_back(1);
    } else if (wanted[i]->is(0)) {
      if (i >= from.size()) return {};
      to.push_back(from[i]);
    } else {
      to.push_back(*wanted[i]);
    }
  }
  if (unknown) return {};
  if (!inferred) return to;
  // Equal dimensions cancel first, so that a product does not have to be divided that is too long to write down.
  Sizes above = from, below;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i == inferred) continue;
    const auto equal = std::find(above.begin(), above.end(), to[i]);
    if (equal != above.end())
      above.erase(equal);
    else
      below.push_back(to[i]);
  }
  std::optional<Size> product(Size(1)), divisor(Size(1));
  for (const Size& size : above) product = product ? Size::multiply(*product, size) : std::nullopt;
  for (const Size& size : below) divisor = divisor ? Size::multiply(*divisor, size) : std::nullopt;
  const auto rest = product && divisor ? Size::divide_exactly(*product, *divisor) : std::nullopt;
  if (!rest) return {};
  to[*inferred] = *rest;
  return to;
}

void DimRules::run() {
  set_elements();
  const Operator* op = operators_.find(node_.op());
  const bool has_subgraph = std::any_of(node_.attributes.begin(), node_.attributes.end(),
                                        [](const auto& attribute) { return std::holds_alternative<Subgraph>(attribute.second); });
  if (op && !has_subgraph && exact(*op)) return;
  for (size_t i = 0; i < node_.output_count(); ++i) {
    Value* output = node_.output(i);
    if (!output || output->type.kind != ValueType::Kind::tensor) continue;
    output->type.dims.reset();
    auto sizes = rule(op, i);
    if (!sizes || sizes->size() > kMaxRank) continue;  // a shape of so many numbers fails when it is known
    output->type.dims.emplace();
    for (const auto& size : *sizes) output->type.dims->push_back(size ? table_.dim_of(*size) : table_.unknown());
  }
}

// Where all shapes are fixed the operator itself knows best.
bool DimRules::exact(const Operator& op) {
  std::vector<ValueInfo> in(node_.input_count()), out(node_.output_count());
  std::vector<const ValueInfo*> pointers(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Value* value = node_.input(i);
    if (!value) continue;
    if (!value->type.is_static() || value->type.dtype == DType::undefined) return false;
    in[i].dtype = value->type.dtype;
    in[i].shape = value->type.shape();
    if (value->constant()) in[i].contents = *value->constant();
    pointers[i] = &in[i];
  }
  try {
    infer_outputs(op, NodeView(node_, pointers, {}, &op), out);
  } catch (const NeedsContents&) {
    return false;
  } catch (const Error&) {
    return false;  // perhaps in a branch that is never taken; if it is, the run says what is wrong
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (!node_.output(i) || out[i].kind != ValueInfo::Kind::tensor) continue;
    ValueType& type = node_.output(i)->type;
    type = ValueType::tensor(out[i].dtype);
    if (out[i].extent == ValueInfo::Extent::unknown) continue;
    type.dims.emplace();
    for (int64_t dim : out[i].shape) type.dims->push_back(out[i].extent == ValueInfo::Extent::exact ? Dim{dim, {}} : table_.unknown());
  }
  return true;
}

std::optional<DimRules::Unsure> DimRules::rule(const Operator* op, size_t output) {
  const std::string& name = node_.op();
  if (op && op->elementwise) return broadcast(0, node_.input_count());
  if (output == 0 && is_op({"Identity",
                            "Softmax",
                            "LogSoftmax",
                            "Hardmax",
                            "BatchNormalization",
                            "LayerNormalization",
                            "RMSNormalization",
                            "InstanceNormalization",
                            "GroupNormalization",
                            "LpNormalization",
                            "MeanVarianceNormalization",
                            "LRN",
                            "Dropout",
                            "QuantizeLinear",
                            "DequantizeLinear",
                            "CumSum",
                            "CumProd",
                            "Trilu",
                            "ScatterElements",
                            "ScatterND",
                            "TensorScatter",
                            "ReverseSequence",
                            "RotaryEmbedding",
                            "CausalConvWithState",
                            "DynamicQuantizeLinear"}))
    return maybe(in(0));
  if (name == "Dropout") return maybe(in(0));
  if (name == "GatherElements") return maybe(in(1));
  if (is_op({"Conv", "minnow.FusedConv", "ConvInteger"})) return conv(0, 1);
  if (is_op({"QLinearConv", "minnow.QuantizedConv"})) return conv(0, 3);
  if (name == "ConvTranspose") return conv_transpose();
  if (is_op({"MaxPool", "AveragePool", "LpPool"})) return pool();
  if (is_op({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})) return global_pool();
  if (is_op({"MatMul", "MatMulInteger", "minnow.FusedMatMul"})) return matmul(0, 1);
  if (is_op({"QLinearMatMul", "minnow.QuantizedMatMul"})) return matmul(0, 3);
  if (name == "Gemm") return matmul(0, 1);
  if (name == "Einsum") return einsum();
  if (name == "Attention" && output == 0) return attention();
  if (name == "DFT") return dft();
  if (name == "STFT") return stft();
  if (name == "RoiAlign") return roi_align();
  if (name == "NonMaxSuppression") return Unsure{std::nullopt, Size(3)};
  if (name == "Transpose") return transpose();
  if (name == "Concat") return concat();
  if (name == "Split") return split(output);
  if (name == "minnow.ChannelShuffle") return channel_shuffle(output);
  if (name == "Reshape") return reshape();
  if (name == "Flatten") return flatten();
  if (name == "Squeeze") return squeeze();
  if (name == "Unsqueeze") return unsqueeze();
  if (name == "Expand") return expand();
  if (name == "Tile") return tile();
  if (name == "Gather") return gather();
  if (name == "Slice") return slice();
  if (name == "Pad") return pad();
  if (name == "Compress") return compress();
  if (name == "GatherND") return gather_nd();
  if (name == "Col2Im") return col2im();
  if (name == "Resize") return resize();
  if (name.starts_with("Reduce")) return reduce(1);
  if (is_op({"ArgMax", "ArgMin"})) return argmax();
  if (name == "Shape") return in(0) ? shape_length() : std::nullopt;
  if (name == "Size") return Unsure{};
  if (is_op({"LSTM", "GRU", "RNN"})) return recurrent(output);
  if (is_op({"DepthToSpace", "SpaceToDepth"})) return space();
  if (name == "TopK") return top_k();
  if (is_op({"Range", "Unique"}) && !(name == "Unique" && output == 0 && node_.attributes.find("axis"))) return unknown(1);
  if (name == "ConstantOfShape") return constant_of_shape();
  if (name == "NonZero") return in(0) ? std::optional(Unsure{Size(static_cast<int64_t>(in(0)->size())), std::nullopt}) : std::nullopt;
  if (name == "If") return branches(output);
  if (is_op({"SequenceAt", "ConcatFromSequence"})) return from_sequence();
  return {};
}

std::optional<DimRules::Unsure> DimRules::broadcast(size_t first, size_t last) {
  std::vector<Sizes> all;
  size_t rank = 0;
  for (size_t i = first; i < last; ++i) {
    if (!node_.input(i)) continue;
    auto sizes = in(i);
    if (!sizes) return {};
    rank = std::max(rank, sizes->size());
    all.push_back(std::move(*sizes));
  }
  Unsure y(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    // A number above 1 decides; a symbol does where all others are 1 or the same.
    Size size(1);
    bool known = true;
    for (const Sizes& sizes : all) {
      if (axis + sizes.size() < rank) continue;
      const Size& own = sizes[axis + sizes.size() - rank];
      if (own.is(1) || own == size) continue;
      if (size.is(1)) {
        size = own;
      } else if (own.is_number()) {
        size = own, known = true;
      } else if (!size.is_number()) {
        known = false;
      }
    }
    if (known) y[axis] = size;
  }
  return y;
}

// The dimensions that all tensors of a sequence have.
void DimRules::set_elements() {
  if (!is_op({"SequenceConstruct", "SequenceInsert", "SequenceErase", "SplitToSequence"})) return;
  Value* sequence = node_.output(0);
  if (!sequence || sequence->type.kind != ValueType::Kind::sequence || !sequence->type.element) return;
  std::optional<Unsure> y;
  bool begun = false;
  const auto meet = [&](const std::optional<Unsure>& dims) {
    if (!begun) {
      y = dims;
    } else if (!y || !dims || y->size() != dims->size()) {
      y.reset();
    } else {
      for (size_t i = 0; i < dims->size(); ++i)
        if ((*y)[i] != (*dims)[i]) (*y)[i].reset();
    }
    begun = true;
  };
  if (node_.op() == "SplitToSequence") {
    y = maybe(in(0));
    const auto axis = y ? positive_axis(integer("axis", 0), y->size()) : std::nullopt;
    if (!axis) return;
    if (!node_.input(1) && integer("keepdims", 1) == 0)
      y->erase(y->begin() + static_cast<ptrdiff_t>(*axis));
    else
      (*y)[*axis].reset();
  } else {
    const bool extends = node_.op() != "SequenceConstruct";
    if (extends && !(node_.input(0)->producer() && node_.input(0)->producer()->op() == "SequenceEmpty")) meet(element_of(node_.input(0)));
    const size_t last = node_.op() == "SequenceInsert" ? 2 : node_.op() == "SequenceErase" ? 0 : node_.input_count();
    for (size_t i = extends ? 1 : 0; i < last; ++i) meet(maybe(in(i)));
  }
  if (!y) return;
  ValueType element = *sequence->type.element;
  element.dims.emplace();
  for (const auto& size : *y) element.dims->push_back(size ? table_.dim_of(*size) : table_.unknown());
  sequence->type.element = std::make_shared<const ValueType>(std::move(element));
}

std::optional<DimRules::Unsure> DimRules::element_of(const Value* sequence) {
  if (!sequence || sequence->type.kind != ValueType::Kind::sequence || !sequence->type.element || !sequence->type.element->dims) return {};
  Unsure y;
  for (const Dim& dim : *sequence->type.element->dims)
    y.push_back(SizeTable::is_unknown(dim) ? std::nullopt : std::optional(table_.size_of(dim)));
  return y;
}

std::optional<DimRules::Unsure> DimRules::from_sequence() {
  auto y = element_of(node_.input(0));
  if (!y || node_.op() == "SequenceAt") return y;
  const bool is_new = integer("new_axis", 0) != 0;
  const auto axis = positive_axis(integer("axis", 0), y->size() + is_new);
  if (!axis) return {};
  if (is_new)
    y->insert(y->begin() + static_cast<ptrdiff_t>(*axis), std::nullopt);
  else
    (*y)[*axis].reset();
  return y;
}

// What both branches of an If agree on.
std::optional<DimRules::Unsure> DimRules::branches(size_t output) {
  std::optional<Unsure> y;
  for (std::string_view name : {"then_branch", "else_branch"}) {
    const Subgraph* branch = node_.attributes.get<Subgraph>(name);
    if (!branch || !*branch || output >= (*branch)->outputs().size()) return {};
    const auto sizes = sizes_of((*branch)->outputs()[output], table_);
    if (!sizes || (y && y->size() != sizes->size())) return {};
    if (!y) {
      y = sure(*sizes);
      continue;
    }
    for (size_t i = 0; i < sizes->size(); ++i)
      if ((*y)[i] != (*sizes)[i]) (*y)[i].reset();
  }
  return y;
}

void infer_dims(const OperatorSet& operators, SizeTable& table, Node& node) { DimRules(operators, table, node).run(); }

}  // namespace minnow
