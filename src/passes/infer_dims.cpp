// SPDX-License-Identifier: Apache-2.0
#include "passes/infer_dims.h"

#include <algorithm>
#include <limits>

#include "passes/rewrite.h"

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

namespace {

class DimInference {
 public:
  DimInference(const OperatorSet& operators, SizeTable& table, Node& node) : operators_(operators), table_(table), node_(node) {}

  void run() {
    const Operator* op = operators_.find(node_.op());
    const bool has_subgraph = std::any_of(node_.attributes.begin(), node_.attributes.end(),
                                          [](const auto& attribute) { return std::holds_alternative<Subgraph>(attribute.second); });
    if (op && !has_subgraph && exact(*op)) return;
    for (size_t i = 0; i < node_.output_count(); ++i) {
      Value* output = node_.output(i);
      if (!output || output->type.kind != ValueType::Kind::tensor) continue;
      output->type.dims.reset();
      auto sizes = rule(op, i);
      if (!sizes) continue;
      output->type.dims.emplace();
      for (const auto& size : *sizes) output->type.dims->push_back(size ? table_.dim_of(*size) : table_.unknown());
    }
  }

 private:
  using Unsure = std::vector<std::optional<Size>>;  // sizes, where they are known

  // Where all shapes are fixed the operator itself knows best.
  bool exact(const Operator& op) {
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

  std::optional<Sizes> in(size_t i) const { return sizes_of(node_.input(i), table_); }
  int64_t integer(std::string_view name, int64_t fallback) const { return int_attribute(node_, name, fallback); }
  static Unsure sure(const Sizes& sizes) { return Unsure(sizes.begin(), sizes.end()); }
  static std::optional<Unsure> maybe(const std::optional<Sizes>& sizes) { return sizes ? std::optional(sure(*sizes)) : std::nullopt; }
  static Unsure unknown(size_t rank) { return Unsure(rank); }
  bool is_op(std::initializer_list<std::string_view> list) const { return std::find(list.begin(), list.end(), node_.op()) != list.end(); }

  std::optional<Unsure> rule(const Operator* op, size_t output) {
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
    if (name == "Transpose") return transpose();
    if (name == "Concat") return concat();
    if (name == "Split") return split(output);
    if (name == "Reshape") return reshape();
    if (name == "Flatten") return flatten();
    if (name == "Squeeze") return squeeze();
    if (name == "Unsqueeze") return unsqueeze();
    if (name == "Expand") return expand();
    if (name == "Tile") return tile();
    if (name == "Gather") return gather();
    if (name == "Slice") return slice();
    if (name == "Pad") return pad();
    if (name == "Resize") return resize();
    if (name.starts_with("Reduce")) return reduce(1);
    if (is_op({"ArgMax", "ArgMin"})) return arg_extreme();
    if (name == "Shape") return in(0) ? shape_length() : std::nullopt;
    if (name == "Size") return Unsure{};
    if (is_op({"LSTM", "GRU", "RNN"})) return recurrent(output);
    if (is_op({"DepthToSpace", "SpaceToDepth"})) return space();
    if (name == "TopK") return top_k();
    if (name == "Range") return unknown(1);
    if (name == "ConstantOfShape") return constant_of_shape();
    if (name == "NonZero") return in(0) ? std::optional(Unsure{Size(static_cast<int64_t>(in(0)->size())), std::nullopt}) : std::nullopt;
    if (name == "If") return branches(output);
    return {};
  }

  std::optional<Unsure> broadcast(size_t first, size_t last) {
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

  // What windows make of the dimensions from 2 on.
  std::optional<Size> windows(const Size& input, size_t axis, size_t spatial, int64_t kernel, bool ceil) {
    const auto at = [&](std::string_view name, size_t i, int64_t fallback) -> std::optional<int64_t> {
      const Ints* list = ints_attribute(node_, name);
      if (!list) return fallback;
      return i < list->size() ? std::optional((*list)[i]) : std::nullopt;
    };
    const auto stride = at("strides", axis, 1), dilation = at("dilations", axis, 1);
    const auto begin = at("pads", axis, 0), end = at("pads", axis + spatial, 0);
    if (!stride || !dilation || !begin || !end || *stride <= 0 || *dilation <= 0 || kernel <= 0) return {};
    // Attributes are as wild as a file makes them.
    constexpr int64_t kMost = int64_t{1} << 31;
    if (*stride > kMost || *dilation > kMost || kernel > kMost || std::abs(*begin) > kMost || std::abs(*end) > kMost) return {};
    const std::string_view automatic = text_attribute(node_, "auto_pad", "NOTSET");
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const auto rounded = Size::add(input, Size(*stride - 1));
      return rounded ? Size::divide_down(*rounded, *stride) : std::nullopt;
    }
    const int64_t pads = automatic == "VALID" ? 0 : *begin + *end;
    const int64_t extent = (kernel - 1) * *dilation + 1;
    if (ceil && *stride != 1) return {};
    const auto room = Size::add(input, Size(pads - extent));
    const auto count = room ? Size::divide_down(*room, *stride) : std::nullopt;
    return count ? Size::add(*count, Size(1)) : std::nullopt;
  }

  std::optional<Unsure> conv(size_t x_at, size_t w_at) {
    const auto x = in(x_at), w = in(w_at);
    if (!w || w->size() < 3 || (x && x->size() != w->size())) return {};
    Unsure y = unknown(w->size());
    y[1] = (*w)[0];
    if (!x) return y;
    y[0] = (*x)[0];
    for (size_t i = 2; i < x->size(); ++i)
      if ((*w)[i].is_number()) y[i] = windows((*x)[i], i - 2, x->size() - 2, (*w)[i].number(), false);
    return y;
  }

  std::optional<Unsure> conv_transpose() {
    const auto x = in(0), w = in(1);
    if (!w || w->size() < 3 || (x && x->size() != w->size())) return {};
    Unsure y = unknown(w->size());
    y[1] = Size::multiply((*w)[1], Size(integer("group", 1)));
    if (!x) return y;
    y[0] = (*x)[0];
    if (ints_attribute(node_, "output_shape") || text_attribute(node_, "auto_pad", "NOTSET") != "NOTSET") return y;
    const size_t spatial = x->size() - 2;
    const auto at = [&](std::string_view name, size_t i, int64_t fallback) {
      const Ints* list = ints_attribute(node_, name);
      return list && i < list->size() ? (*list)[i] : fallback;
    };
    for (size_t i = 0; i < spatial; ++i) {
      if (!(*w)[i + 2].is_number()) continue;
      constexpr int64_t kMost = int64_t{1} << 24;
      const int64_t kernel = (*w)[i + 2].number(), stride = at("strides", i, 1), dilation = at("dilations", i, 1);
      const int64_t begin = at("pads", i, 0), end = at("pads", i + spatial, 0), extra = at("output_padding", i, 0);
      for (int64_t number : {kernel, stride, dilation, begin, end, extra})
        if (number < 0 || number > kMost) return y;
      // (x - 1) * stride + (kernel - 1) * dilation + 1 + extra - pads
      const auto scaled = Size::multiply((*x)[i + 2], Size(stride));
      if (scaled) y[i + 2] = Size::add(*scaled, Size((kernel - 1) * dilation + 1 + extra - begin - end - stride));
    }
    return y;
  }

  std::optional<Unsure> pool() {
    const auto x = in(0);
    const Ints* kernel = ints_attribute(node_, "kernel_shape");
    if (!x || !kernel || kernel->size() + 2 != x->size()) return {};
    Unsure y = sure(*x);
    for (size_t i = 2; i < x->size(); ++i) y[i] = windows((*x)[i], i - 2, x->size() - 2, (*kernel)[i - 2], integer("ceil_mode", 0) != 0);
    return y;
  }

  std::optional<Unsure> global_pool() {
    auto x = in(0);
    if (!x || x->size() < 2) return {};
    for (size_t i = 2; i < x->size(); ++i) (*x)[i] = Size(1);
    return sure(*x);
  }

  std::optional<Unsure> matmul(size_t a_at, size_t b_at) {
    auto a = in(a_at), b = in(b_at);
    if (!a || !b || a->empty() || b->empty()) return {};
    if (integer("transA", 0) && a->size() >= 2) std::swap((*a)[a->size() - 1], (*a)[a->size() - 2]);
    if (integer("transB", 0) && b->size() >= 2) std::swap((*b)[b->size() - 1], (*b)[b->size() - 2]);
    const bool row = a->size() == 1, column = b->size() == 1;
    if (row) a->insert(a->begin(), Size(1));
    if (column) b->push_back(Size(1));
    const size_t batch = std::max(a->size(), b->size()) - 2;
    Unsure y(batch);
    for (size_t i = 0; i < batch; ++i) {
      const auto at = [&](const Sizes& s) { return i + s.size() >= batch + 2 ? s[i + s.size() - batch - 2] : Size(1); };
      const Size p = at(*a), q = at(*b);
      if (p == q || q.is(1))
        y[i] = p;
      else if (p.is(1) || q.is_number())
        y[i] = q;
      else if (p.is_number())
        y[i] = p;
    }
    if (!row) y.push_back((*a)[a->size() - 2]);
    if (!column) y.push_back(b->back());
    return y;
  }

  std::optional<Unsure> transpose() {
    const auto x = in(0);
    const Ints* order = ints_attribute(node_, "perm");
    if (!x || (order && order->size() != x->size())) return {};
    Unsure y;
    for (size_t i = 0; i < x->size(); ++i) {
      const auto from = order ? positive_axis((*order)[i], x->size()) : x->size() - 1 - i;
      if (!from) return {};
      y.push_back((*x)[*from]);
    }
    return y;
  }

  std::optional<Unsure> concat() {
    std::optional<Unsure> y;
    std::optional<Size> sum(Size(0));
    std::optional<size_t> axis;
    for (size_t i = 0; i < node_.input_count(); ++i) {
      const auto x = in(i);
      if (!x || (y && y->size() != x->size())) {
        sum.reset();  // an input of unknown shape still has the others' dimensions, less the axis
        if (x) return {};
        continue;
      }
      if (!y) y = sure(*x), axis = positive_axis(integer("axis", 0), x->size());
      if (!axis) return {};
      sum = sum ? Size::add(*sum, (*x)[*axis]) : std::nullopt;
      for (size_t k = 0; k < x->size(); ++k)
        if ((*x)[k].is_number()) (*y)[k] = (*x)[k];
    }
    if (y) (*y)[*axis] = sum;
    return y;
  }

  std::optional<Unsure> split(size_t output) {
    const auto x = in(0);
    const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
    if (!axis) return {};
    Unsure y = sure(*x);
    y[*axis].reset();
    if (const auto parts = ints_of(node_.input(1)); parts && output < parts->size()) {
      y[*axis] = Size((*parts)[output]);
    } else if (!node_.input(1)) {
      y[*axis] = Size::divide_exactly((*x)[*axis], Size(static_cast<int64_t>(node_.output_count())));
    }
    return y;
  }

  std::optional<Unsure> reshape() {
    const auto x = in(0);
    const auto wanted = ints_of(node_.input(1));
    if (!wanted) {
      const auto rank = node_.input(1) ? dim_of(*node_.input(1), 0) : std::nullopt;
      return rank && *rank <= static_cast<int64_t>(kMaxRank) ? std::optional(unknown(static_cast<size_t>(*rank))) : std::nullopt;
    }
    const bool zero_is_size = integer("allowzero", 0) != 0;
    Unsure shape;
    for (int64_t dim : *wanted) shape.emplace_back(Size(dim));
    if (x && !zero_is_size)
      if (const auto sizes = reshaped_sizes(*x, shape)) return sure(*sizes);
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool copied = shape[i]->is(0) && !zero_is_size;
      if (copied && x && i < x->size())
        shape[i] = (*x)[i];
      else if (copied || shape[i]->is(-1))
        shape[i].reset();
    }
    return shape;
  }

  std::optional<Unsure> flatten() {
    const auto x = in(0);
    if (!x) return unknown(2);
    const int64_t rank = static_cast<int64_t>(x->size());
    int64_t axis = integer("axis", 1);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis > rank) return {};
    Unsure y{Size(1), Size(1)};
    for (size_t i = 0; i < x->size(); ++i) {
      auto& to = y[static_cast<int64_t>(i) < axis ? 0 : 1];
      to = to ? Size::multiply(*to, (*x)[i]) : std::nullopt;
    }
    return y;
  }

  // The axes of input `i`, as a set; nothing where they are not known.
  std::optional<std::vector<bool>> axes(size_t i, size_t rank) const {
    const auto list = ints_of(node_.input(i));
    if (!list) return {};
    std::vector<bool> set(rank);
    for (int64_t axis : *list) {
      const auto place = positive_axis(axis, rank);
      if (!place) return {};
      set[*place] = true;
    }
    return set;
  }

  std::optional<Unsure> squeeze() {
    const auto x = in(0);
    const auto dropped = x && node_.input(1) ? axes(1, x->size()) : std::nullopt;
    if (!dropped) return {};
    Unsure y;
    for (size_t i = 0; i < x->size(); ++i)
      if (!(*dropped)[i]) y.push_back((*x)[i]);
    return y;
  }

  std::optional<Unsure> unsqueeze() {
    const auto x = in(0);
    const auto list = ints_of(node_.input(1));
    if (!x || !list || x->size() + list->size() > kMaxRank) return {};
    const auto added = axes(1, x->size() + list->size());
    if (!added || static_cast<size_t>(std::count(added->begin(), added->end(), true)) != list->size()) return {};
    Unsure y;
    for (size_t i = 0, k = 0; i < added->size(); ++i) y.push_back((*added)[i] ? Size(1) : (*x)[k++]);
    return y;
  }

  std::optional<Unsure> expand() {
    const auto x = in(0);
    const auto shape = ints_of(node_.input(1));
    if (!x || !shape) return {};
    const size_t rank = std::max(x->size(), shape->size());
    Unsure y(rank);
    for (size_t i = 0; i < rank; ++i) {
      const Size own = i + x->size() >= rank ? (*x)[i + x->size() - rank] : Size(1);
      const int64_t wanted = i + shape->size() >= rank ? (*shape)[i + shape->size() - rank] : 1;
      y[i] = wanted == 1 ? own : Size(wanted);
    }
    return y;
  }

  std::optional<Unsure> tile() {
    const auto x = in(0);
    const auto repeats = ints_of(node_.input(1));
    if (!x) return {};
    if (!repeats || repeats->size() != x->size()) return unknown(x->size());
    Unsure y;
    for (size_t i = 0; i < x->size(); ++i) y.push_back(Size::multiply((*x)[i], Size((*repeats)[i])));
    return y;
  }

  std::optional<Unsure> gather() {
    const auto x = in(0), indices = in(1);
    const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
    if (!axis || !indices) return {};
    Unsure y = sure(*x);
    y.erase(y.begin() + static_cast<ptrdiff_t>(*axis));
    y.insert(y.begin() + static_cast<ptrdiff_t>(*axis), indices->begin(), indices->end());
    return y;
  }

  std::optional<Unsure> slice() {
    const auto x = in(0);
    if (!x) return {};
    Unsure y = sure(*x);
    const auto starts = ints_of(node_.input(1)), ends = ints_of(node_.input(2)), steps = ints_of(node_.input(4));
    auto list = ints_of(node_.input(3));
    if (!node_.input(3)) {
      const auto count = node_.input(1) ? dim_of(*node_.input(1), 0) : std::nullopt;
      if (!count || *count > static_cast<int64_t>(x->size())) return unknown(x->size());
      list.emplace();
      for (int64_t i = 0; i < *count; ++i) list->push_back(i);
    }
    if (!list) return unknown(x->size());
    for (size_t i = 0; i < list->size(); ++i) {
      const auto axis = positive_axis((*list)[i], x->size());
      if (!axis) return {};
      y[*axis].reset();
      if (!starts || !ends || (node_.input(4) && !steps) || i >= starts->size() || i >= ends->size() || (steps && i >= steps->size()))
        continue;
      y[*axis] = sliced((*x)[*axis], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1);
    }
    return y;
  }

  static std::optional<Size> sliced(const Size& size, int64_t start, int64_t end, int64_t step) {
    constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
    if (size.is_number() && step != 0) {
      const int64_t n = size.number();
      const auto clamp = [&](int64_t at, int64_t low, int64_t high) { return std::clamp(at < 0 ? at + n : at, low, high); };
      const int64_t from = step > 0 ? clamp(start, 0, n) : clamp(start, -1, n - 1);
      const int64_t to = step > 0 ? clamp(end, 0, n) : end < -n ? -1 : clamp(end, -1, n - 1);
      if (step > 0) return Size(to <= from ? 0 : (to - from - 1) / step + 1);
      return step == std::numeric_limits<int64_t>::min() ? std::nullopt : std::optional(Size(from <= to ? 0 : (from - to - 1) / -step + 1));
    }
    // Of a size that is not known: everything. Other bounds may be cut off at it.
    return start == 0 && end >= kFar && step == 1 ? std::optional(size) : std::nullopt;
  }

  std::optional<Unsure> pad() {
    const auto x = in(0);
    if (!x) return {};
    const auto pads = ints_of(node_.input(1));
    auto list = ints_of(node_.input(3));
    if (!pads || (node_.input(3) && !list)) return unknown(x->size());
    if (!list) {
      list.emplace();
      for (size_t i = 0; i < x->size(); ++i) list->push_back(static_cast<int64_t>(i));
    }
    if (pads->size() != 2 * list->size()) return {};
    Unsure y = sure(*x);
    for (size_t i = 0; i < list->size(); ++i) {
      const auto axis = positive_axis((*list)[i], x->size());
      if (!axis) return {};
      const auto begun = Size::add((*x)[*axis], Size((*pads)[i]));
      y[*axis] = begun ? Size::add(*begun, Size((*pads)[i + list->size()])) : std::nullopt;
    }
    return y;
  }

  std::optional<Unsure> resize() {
    const auto x = in(0);
    if (!x) return {};
    Unsure y = unknown(x->size());
    if (text_attribute(node_, "keep_aspect_ratio_policy", "stretch") != "stretch") return y;
    const Ints* chosen = ints_attribute(node_, "axes");
    Ints list;
    for (size_t i = 0; i < x->size(); ++i) list.push_back(static_cast<int64_t>(i));
    if (chosen) y = sure(*x), list = *chosen;
    const auto sizes = node_.input(3) ? ints_of(node_.input(3)) : std::nullopt;
    const auto scales = node_.input(2) ? reals_of(node_.input(2)) : std::nullopt;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto axis = positive_axis(list[i], x->size());
      if (!axis) return {};
      y[*axis].reset();
      if (sizes && i < sizes->size()) {
        y[*axis] = Size((*sizes)[i]);
      } else if (!node_.input(3) && scales && i < scales->size()) {
        const double scale = (*scales)[i];
        if (scale == 1)
          y[*axis] = (*x)[*axis];
        else if (scale >= 1 && scale <= 64 && scale == static_cast<double>(static_cast<int64_t>(scale)))
          y[*axis] = Size::multiply((*x)[*axis], Size(static_cast<int64_t>(scale)));
      }
    }
    return y;
  }

  std::optional<Unsure> reduce(size_t axes_at) {
    const auto x = in(0);
    if (!x) return {};
    std::optional<std::vector<bool>> reduced(std::vector<bool>(x->size(), integer("noop_with_empty_axes", 0) == 0));
    if (node_.input(axes_at)) {
      const auto list = ints_of(node_.input(axes_at));
      if (!list) return integer("keepdims", 1) ? std::optional(unknown(x->size())) : std::nullopt;
      if (!list->empty()) reduced = axes(axes_at, x->size());
    }
    return reduced ? std::optional(without(*x, *reduced)) : std::nullopt;
  }
  std::optional<Unsure> arg_extreme() {
    const auto x = in(0);
    const auto axis = x ? positive_axis(integer("axis", 0), x->size()) : std::nullopt;
    if (!axis) return {};
    std::vector<bool> reduced(x->size());
    reduced[*axis] = true;
    return without(*x, reduced);
  }
  Unsure without(const Sizes& x, const std::vector<bool>& reduced) const {
    const bool kept = integer("keepdims", 1) != 0;
    Unsure y;
    for (size_t i = 0; i < x.size(); ++i)
      if (!reduced[i] || kept) y.push_back(reduced[i] ? Size(1) : x[i]);
    return y;
  }

  std::optional<Unsure> top_k() {
    const auto x = in(0);
    const auto axis = x ? positive_axis(integer("axis", -1), x->size()) : std::nullopt;
    if (!axis) return {};
    Unsure y = sure(*x);
    const auto k = ints_of(node_.input(1));
    y[*axis] = k && k->size() == 1 ? std::optional(Size((*k)[0])) : std::nullopt;
    return y;
  }

  std::optional<Unsure> constant_of_shape() {
    if (const auto shape = ints_of(node_.input(0))) {
      Unsure y;
      for (int64_t dim : *shape) y.emplace_back(Size(dim));
      return y;
    }
    const auto rank = node_.input(0) ? dim_of(*node_.input(0), 0) : std::nullopt;
    return rank && *rank <= static_cast<int64_t>(kMaxRank) ? std::optional(unknown(static_cast<size_t>(*rank))) : std::nullopt;
  }

  std::optional<Unsure> shape_length() {
    const int64_t rank = static_cast<int64_t>(in(0)->size());
    const auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
    const int64_t start = clamp(integer("start", 0)), end = clamp(integer("end", rank));
    return Unsure{Size(std::max<int64_t>(end - start, 0))};
  }

  std::optional<Unsure> recurrent(size_t output) {
    const auto x = in(0), r = in(2);
    if (!x || x->size() != 3 || !r || r->size() != 3) return {};
    const bool batch_first = integer("layout", 0) != 0;
    const Size &directions = (*r)[0], &hidden = (*r)[2], &steps = (*x)[batch_first ? 1 : 0], &batch = (*x)[batch_first ? 0 : 1];
    if (output == 0) return batch_first ? Unsure{batch, steps, directions, hidden} : Unsure{steps, directions, batch, hidden};
    return batch_first ? Unsure{batch, directions, hidden} : Unsure{directions, batch, hidden};
  }

  std::optional<Unsure> space() {
    const auto x = in(0);
    const int64_t block = integer("blocksize", 0);
    if (!x || x->size() != 4 || block <= 0 || block > 4096) return {};
    const bool to_space = node_.op() == "DepthToSpace";
    const auto scaled = [&](const Size& size, bool up, int64_t by) {
      return up ? Size::multiply(size, Size(by)) : Size::divide_exactly(size, Size(by));
    };
    return Unsure{(*x)[0], scaled((*x)[1], !to_space, block * block), scaled((*x)[2], to_space, block), scaled((*x)[3], to_space, block)};
  }

  // What both branches of an If agree on.
  std::optional<Unsure> branches(size_t output) {
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

  const OperatorSet& operators_;
  SizeTable& table_;
  Node& node_;
};

}  // namespace

void infer_dims(const OperatorSet& operators, SizeTable& table, Node& node) { DimInference(operators, table, node).run(); }

}  // namespace minnow
