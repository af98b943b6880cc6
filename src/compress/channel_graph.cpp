// SPDX-License-Identifier: Apache-2.0
#include "compress/channel_graph.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/operator.h"
#include "passes/rewrite.h"

namespace minnow::compress {
namespace {

/// The numbers that a channel of the value has; open dimensions are 1.
double positions_of(const Value& value, size_t axis) {
  double count = 1;
  if (!value.type.dims) return count;
  for (size_t i = 1; i < value.type.dims->size(); ++i)
    if (i != axis && (*value.type.dims)[i].known()) count *= static_cast<double>((*value.type.dims)[i].size);
  return count;
}

const Tensor* constant_f32(const Value* value) {
  return value && value->constant() && value->constant()->dtype() == DType::f32 ? value->constant() : nullptr;
}

/// The elements of `tensor` with these indices along the axis.
Tensor selected(const Tensor& tensor, size_t axis, const std::vector<size_t>& indices) {
  Shape shape = tensor.shape();
  const size_t length = static_cast<size_t>(shape[axis]), size = size_of(tensor.dtype());
  const size_t outer = static_cast<size_t>(shape.product(0, axis)), inner = static_cast<size_t>(shape.product(axis + 1, shape.rank()));
  shape[axis] = static_cast<int64_t>(indices.size());
  Tensor result(tensor.dtype(), shape);
  const char* from = static_cast<const char*>(tensor.data());
  char* to = static_cast<char*>(result.writable().data());
  for (size_t o = 0; o < outer; ++o)
    for (const size_t i : indices) {
      std::copy_n(from + (o * length + i) * inner * size, inner * size, to);
      to += inner * size;
    }
  return result;
}

bool is_pool(const Node& node) {
  static constexpr std::string_view kPools[] = {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "LpPool"};
  return std::find(std::begin(kPools), std::end(kPools), node.op()) != std::end(kPools);
}

}  // namespace

ChannelGraph::ChannelGraph(Graph& graph) : graph_(graph) {
  for (Node& node : graph.nodes()) follow(node);
  // Outputs, states and subgraphs see all channels.
  for (const auto& [value, track] : tracks_) {
    bool seen = value->is_graph_output();
    for (const Use& use : value->uses()) seen |= &use.node->graph() != &graph_;
    if (seen) fix(track.atoms);
  }
  for (const State& state : graph.states())
    if (const Track* track = track_of(state.next)) fix(track->atoms);
}

uint32_t ChannelGraph::root(uint32_t atom) const noexcept {
  while (parent_[atom] != atom) atom = parent_[atom] = parent_[parent_[atom]];
  return atom;
}
ChannelGraph::Atoms ChannelGraph::fresh(size_t count) {
  Atoms atoms(count);
  std::iota(atoms.begin(), atoms.end(), static_cast<uint32_t>(parent_.size()));
  parent_.insert(parent_.end(), atoms.begin(), atoms.end());
  fixed_.resize(parent_.size(), false);
  return atoms;
}
void ChannelGraph::unite(uint32_t a, uint32_t b) {
  a = root(a), b = root(b);
  if (a == b) return;
  if (b < a) std::swap(a, b);
  parent_[b] = a;
  if (fixed_[b]) fixed_[a] = true;
}
void ChannelGraph::unite(const Atoms& a, const Atoms& b) {
  for (size_t i = 0; i < a.size(); ++i) unite(a[i], b[i]);
}
void ChannelGraph::fix(const Atoms& atoms) {
  for (const uint32_t atom : atoms) fixed_[root(atom)] = true;
}
const ChannelGraph::Track* ChannelGraph::track_of(const Value* value) const {
  const auto found = value ? tracks_.find(value) : tracks_.end();
  return found == tracks_.end() ? nullptr : &found->second;
}
void ChannelGraph::set_track(const Value* value, size_t axis, Atoms atoms) {
  if (value && !atoms.empty()) tracks_[value] = {axis, std::move(atoms)};
}
void ChannelGraph::refuse(const Node& node, const std::string& reason) {
  bool any = false;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (const Track* track = track_of(node.input(i))) any = true, fix(track->atoms);
  if (any) refusals_.push_back({&node, reason});
}

std::vector<size_t> ChannelGraph::kept(const Atoms& atoms, const std::vector<bool>& removed) const {
  std::vector<size_t> indices;
  for (size_t i = 0; i < atoms.size(); ++i)
    if (!removed[root(atoms[i])]) indices.push_back(i);
  return indices;
}
void ChannelGraph::select(Node& node, size_t input, size_t axis, const std::vector<size_t>& indices) {
  const Value* value = node.input(input);
  if (indices.size() == static_cast<size_t>(value->constant()->shape()[axis])) return;
  node.set_input(input, &graph_.add_constant(selected(*value->constant(), axis, indices), graph_.fresh_name(value->name())));
}
void ChannelGraph::edit_select(Node& node, size_t input, size_t axis, const Atoms& atoms) {
  edits_.push_back(
      [this, &node, input, axis, atoms](const std::vector<bool>& removed) { select(node, input, axis, kept(atoms, removed)); });
}

void ChannelGraph::follow(Node& node) {
  const std::string& op = node.op();
  if (op == "Conv") return follow_conv(node);
  if (op == "ConvTranspose") return follow_transposed(node);
  if (op == "Gemm" || op == "MatMul") return follow_product(node);
  bool any = false;
  for (size_t i = 0; i < node.input_count(); ++i) any |= track_of(node.input(i)) != nullptr;
  if (!any) return;
  const Track* x = track_of(node.input(0));
  if (op == "BatchNormalization") return follow_per_channel(node, 1, 4);
  if (op == "InstanceNormalization") return follow_per_channel(node, 1, 2);
  if (op == "Concat") return follow_concat(node);
  if (!x) {
    const Operator* traits = traits_of(node);
    return traits && traits->fusible ? follow_elementwise(node) : refuse(node, "it reads channels by another input than the first");
  }
  if (is_pool(node)) {
    if (x->axis != 1) return refuse(node, "it pools over channels");
    if (node.output(1) && !node.output(1)->is_unused()) return refuse(node, "its indices are read");
    return set_track(node.output(0), 1, x->atoms);
  }
  if (op == "Resize") {
    if (ints_attribute(node, "axes")) return refuse(node, "it names axes");
    if (node.input(3)) {
      const auto sizes = ints_of(node.input(3));
      if (!sizes || (*sizes)[x->axis] != static_cast<int64_t>(x->atoms.size())) return refuse(node, "its sizes are not known");
      edits_.push_back([this, &node, sizes = *sizes, track = *x](const std::vector<bool>& removed) {
        Ints changed = sizes;
        changed[track.axis] = static_cast<int64_t>(kept(track.atoms, removed).size());
        node.set_input(3, &add_ints(graph_, changed));
      });
    } else {
      const auto scales = reals_of(node.input(2));
      if (!scales || (*scales)[x->axis] != 1) return refuse(node, "its scales are not known");
    }
    return set_track(node.output(0), x->axis, x->atoms);
  }
  if (op == "Pad") {
    const auto pads = ints_of(node.input(1));
    if (!pads || node.input(3) || (*pads)[x->axis] != 0 || (*pads)[x->axis + pads->size() / 2] != 0)
      return refuse(node, "it pads channels, or its pads are not known");
    return set_track(node.output(0), x->axis, x->atoms);
  }
  if (op == "Split") return follow_split(node);
  if (op == "Slice") return follow_slice(node);
  if (op == "Transpose") {
    const Ints* permutation = ints_attribute(node, "perm");
    const auto rank = rank_of(*node.output(0));
    if (!rank) return refuse(node, "its rank is not known");
    size_t axis = *rank - 1 - x->axis;
    if (permutation)
      axis = static_cast<size_t>(std::find(permutation->begin(), permutation->end(), static_cast<int64_t>(x->axis)) - permutation->begin());
    return set_track(node.output(0), axis, x->atoms);
  }
  if (op == "Reshape" || op == "Flatten" || op == "Squeeze" || op == "Unsqueeze") return follow_reshape(node);
  if (op.starts_with("Reduce")) return follow_reduction(node);
  if (op == "Identity" || op == "Dropout") return set_track(node.output(0), x->axis, x->atoms);
  const Operator* traits = traits_of(node);
  if (traits && traits->fusible) return follow_elementwise(node);
  refuse(node, "channels cannot be followed through " + op);
}

void ChannelGraph::follow_conv(Node& node) {
  const Track* x = track_of(node.input(0));
  const Tensor* w = constant_f32(node.input(1));
  if (!w || w->shape().rank() < 3 || (node.input(2) && !constant_f32(node.input(2))))
    return refuse(node, "its weights are not constant f32");
  const size_t outputs = static_cast<size_t>(w->shape()[0]), depth = static_cast<size_t>(w->shape()[1]);
  const size_t groups = static_cast<size_t>(int_attribute(node, "group", 1));
  if (x && (x->axis != 1 || x->atoms.size() != depth * groups)) return refuse(node, "its channels are not along axis 1");
  const double taps = static_cast<double>(w->shape().product(2, w->shape().rank()));
  const double per = taps * positions_of(*node.output(0), 1);
  Work work{
      {},   x ? x->atoms : Atoms(), static_cast<double>(outputs), static_cast<double>(depth * groups), per, static_cast<double>(groups),
      false};
  if (groups > 1 && depth == 1) {
    work.depthwise = true;
    if (x) {
      Atoms out(outputs);
      for (size_t j = 0; j < outputs; ++j) out[j] = x->atoms[j / (outputs / groups)];
      edit_select(node, 1, 0, out);
      if (node.input(2)) edit_select(node, 2, 0, out);
      edits_.push_back([this, &node, in = x->atoms](const std::vector<bool>& removed) {
        node.attributes.set("group", static_cast<int64_t>(kept(in, removed).size()));
      });
      work.out = out;
      set_track(node.output(0), 1, std::move(out));
    }
    works_.push_back(std::move(work));
    return;
  }
  const Atoms out = fresh(outputs);
  // As many channels of each group.
  for (size_t j = outputs / groups; j < outputs; ++j) unite(out[j % (outputs / groups)], out[j]);
  if (x) {
    for (size_t i = depth; i < x->atoms.size(); ++i) unite(x->atoms[i % depth], x->atoms[i]);
    edit_select(node, 1, 1, Atoms(x->atoms.begin(), x->atoms.begin() + static_cast<ptrdiff_t>(depth)));
    readers_.push_back({&node, 1, x->atoms, groups});
  }
  edit_select(node, 1, 0, out);
  if (node.input(2)) edit_select(node, 2, 0, out);
  makers_.push_back({&node, 0, out});
  work.out = out;
  works_.push_back(std::move(work));
  set_track(node.output(0), 1, out);
}

void ChannelGraph::follow_transposed(Node& node) {
  const Track* x = track_of(node.input(0));
  const Tensor* w = constant_f32(node.input(1));
  if (!w || w->shape().rank() < 3 || (node.input(2) && !constant_f32(node.input(2))))
    return refuse(node, "its weights are not constant f32");
  if (int_attribute(node, "group", 1) != 1) return refuse(node, "it is a transposed convolution with groups");
  if (x && (x->axis != 1 || x->atoms.size() != static_cast<size_t>(w->shape()[0])))
    return refuse(node, "its channels are not along axis 1");
  const Atoms out = fresh(static_cast<size_t>(w->shape()[1]));
  if (x) {
    edit_select(node, 1, 0, x->atoms);
    readers_.push_back({&node, 0, x->atoms, 1});
  }
  edit_select(node, 1, 1, out);
  if (node.input(2)) edit_select(node, 2, 0, out);
  makers_.push_back({&node, 1, out});
  const double per = static_cast<double>(w->shape().product(2, w->shape().rank())) * positions_of(*node.input(0), 1);
  works_.push_back({out, x ? x->atoms : Atoms(), static_cast<double>(out.size()), static_cast<double>(w->shape()[0]), per, 1, false});
  set_track(node.output(0), 1, out);
}

void ChannelGraph::follow_product(Node& node) {
  const Track* x = track_of(node.input(0));
  const Tensor* w = constant_f32(node.input(1));
  const auto rank = rank_of(*node.output(0));
  if (!w || w->shape().rank() != 2 || !rank || *rank < 2) return refuse(node, "its weights are no constant f32 matrix");
  const bool gemm = node.op() == "Gemm";
  if (gemm && int_attribute(node, "transA", 0) != 0) return refuse(node, "its input is transposed");
  const size_t out_axis = gemm && int_attribute(node, "transB", 0) != 0 ? 0 : 1, last = *rank - 1;
  const size_t inputs = static_cast<size_t>(w->shape()[1 - out_axis]);
  if (x && (x->axis != last || x->atoms.size() != inputs)) {
    refuse(node, "it sums over another axis than that of the channels");
    x = nullptr;
  }
  const Atoms out = fresh(static_cast<size_t>(w->shape()[out_axis]));
  if (gemm && node.input(2)) {
    const Tensor* c = constant_f32(node.input(2));
    if (!c) {
      fix(out);
      refuse(node, "its bias is not constant");
    } else if (c->shape().rank() > 0 && static_cast<size_t>(c->shape().back()) == out.size()) {
      edit_select(node, 2, c->shape().rank() - 1, out);
    }
  }
  if (x) {
    edit_select(node, 1, 1 - out_axis, x->atoms);
    readers_.push_back({&node, 1 - out_axis, x->atoms, 1});
  }
  edit_select(node, 1, out_axis, out);
  makers_.push_back({&node, out_axis, out});
  works_.push_back({out, x ? x->atoms : Atoms(), static_cast<double>(out.size()), static_cast<double>(inputs),
                    positions_of(*node.output(0), last), 1, false});
  set_track(node.output(0), last, out);
}

void ChannelGraph::follow_per_channel(Node& node, size_t first, size_t last) {
  const Track* x = track_of(node.input(0));
  bool fits = x && x->axis == 1;
  for (size_t i = first; fits && i <= last; ++i) {
    const Tensor* values = node.input(i) ? node.input(i)->constant() : nullptr;
    fits = values && values->shape() == Shape{static_cast<int64_t>(x->atoms.size())};
  }
  if (!fits) return refuse(node, "its numbers for each channel are not constant");
  for (size_t i = first; i <= last; ++i) edit_select(node, i, 0, x->atoms);
  set_track(node.output(0), 1, x->atoms);
}

void ChannelGraph::follow_elementwise(Node& node) {
  const auto rank = rank_of(*node.output(0));
  if (!rank) return refuse(node, "its rank is not known");
  if (node.attributes.find("axis")) return refuse(node, "its numbers lie along an axis");  // QuantizeLinear
  std::optional<size_t> axis;
  const Atoms* atoms = nullptr;
  const auto from_end = [&](const Value& value) { return *rank - *rank_of(value); };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (const Track* track = track_of(node.input(i)); track && track->atoms.size() > 1) {
      const size_t at = track->axis + from_end(*node.input(i));
      if (axis && *axis != at) return refuse(node, "its inputs have channels along different axes");
      if (atoms && atoms->size() != track->atoms.size()) return refuse(node, "its inputs have different numbers of channels");
      axis = at, atoms = &track->atoms;
    }
  if (!axis) return refuse(node, "it spreads one channel");
  std::vector<size_t> constants;
  for (size_t i = 0; i < node.input_count(); ++i) {
    Value* input = node.input(i);
    if (!input || track_of(input)) continue;
    const auto own = rank_of(*input);
    if (!own) return refuse(node, "the rank of an input is not known");
    if (*own + *axis < *rank) continue;  // does not reach the channels
    const size_t at = *own + *axis - *rank;
    const auto length = dim_of(*input, static_cast<int64_t>(at));
    if (length && *length == 1) continue;
    if (!input->constant() || !length || static_cast<size_t>(*length) != atoms->size())
      return refuse(node, "an input's channels are not made by a layer");
    constants.push_back(i);
  }
  for (size_t i = 0; i < node.input_count(); ++i)
    if (const Track* track = track_of(node.input(i))) track->atoms.size() > 1 ? unite(*atoms, track->atoms) : fix(track->atoms);
  for (const size_t i : constants) edit_select(node, i, *rank_of(*node.input(i)) + *axis - *rank, *atoms);
  set_track(node.output(0), *axis, Atoms(*atoms));
}

void ChannelGraph::follow_concat(Node& node) {
  const auto rank = rank_of(*node.output(0));
  const auto axis = rank ? positive_axis(int_attribute(node, "axis", 0), *rank) : std::nullopt;
  if (!axis) return refuse(node, "its axis is not known");
  bool along = true, across = true;
  const Track* first = nullptr;
  for (size_t i = 0; i < node.input_count(); ++i) {
    const Track* track = track_of(node.input(i));
    along &= !track || track->axis == *axis;
    if (track && !first) first = track;
    across &= track && first && track->axis == first->axis && track->axis != *axis && track->atoms.size() == first->atoms.size();
  }
  if (across) {
    for (size_t i = 1; i < node.input_count(); ++i) unite(first->atoms, track_of(node.input(i))->atoms);
    return set_track(node.output(0), first->axis, first->atoms);
  }
  Atoms out;
  for (size_t i = 0; along && i < node.input_count(); ++i) {
    if (const Track* track = track_of(node.input(i))) {
      out.insert(out.end(), track->atoms.begin(), track->atoms.end());
      continue;
    }
    const auto length = dim_of(*node.input(i), static_cast<int64_t>(*axis));
    if (!length) return refuse(node, "it joins unknown numbers of channels");
    const Atoms fixed = fresh(static_cast<size_t>(*length));
    fix(fixed);
    out.insert(out.end(), fixed.begin(), fixed.end());
  }
  if (!along) return refuse(node, "it joins along different axes");
  set_track(node.output(0), *axis, std::move(out));
}

void ChannelGraph::follow_split(Node& node) {
  const Track x = *track_of(node.input(0));
  const auto rank = rank_of(*node.input(0));
  const auto axis = rank ? positive_axis(int_attribute(node, "axis", 0), *rank) : std::nullopt;
  if (!axis) return refuse(node, "its axis is not known");
  if (*axis != x.axis) {
    for (size_t i = 0; i < node.output_count(); ++i) set_track(node.output(i), x.axis, x.atoms);
    return;
  }
  Ints sizes;
  if (node.input(1)) {
    const auto given = ints_of(node.input(1));
    if (!given) return refuse(node, "its sizes are not known");
    sizes = *given;
  } else {
    const int64_t parts = static_cast<int64_t>(node.output_count()), all = static_cast<int64_t>(x.atoms.size()),
                  each = (all + parts - 1) / parts;
    for (int64_t i = 0; i < parts; ++i) sizes.push_back(std::min(each, all - i * each));
  }
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != static_cast<int64_t>(x.atoms.size()) ||
      sizes.size() != node.output_count())
    return refuse(node, "its sizes do not fit");
  std::vector<Atoms> parts;
  auto at = x.atoms.begin();
  for (size_t i = 0; i < sizes.size(); ++i, at += sizes[i - 1]) {
    parts.emplace_back(at, at + sizes[i]);
    set_track(node.output(i), x.axis, parts.back());
  }
  edits_.push_back([this, &node, parts](const std::vector<bool>& removed) {
    Ints changed;
    for (const Atoms& part : parts) changed.push_back(static_cast<int64_t>(kept(part, removed).size()));
    node.attributes.remove("num_outputs");
    node.set_input(1, &add_ints(graph_, changed));
  });
}

void ChannelGraph::follow_slice(Node& node) {
  const Track x = *track_of(node.input(0));
  const auto rank = rank_of(*node.input(0));
  const auto starts = ints_of(node.input(1)), ends = ints_of(node.input(2));
  if (!rank || !starts || !ends) return refuse(node, "its ends are not known");
  Ints axes(starts->size()), steps(starts->size(), 1);
  std::iota(axes.begin(), axes.end(), int64_t{0});
  if (node.input(3)) {
    const auto given = ints_of(node.input(3));
    if (!given) return refuse(node, "its axes are not known");
    axes = *given;
  }
  if (node.input(4)) {
    const auto given = ints_of(node.input(4));
    if (!given) return refuse(node, "its steps are not known");
    steps = *given;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = positive_axis(axes[i], *rank);
    if (!axis) return refuse(node, "its axes are not known");
    if (*axis != x.axis) continue;
    const int64_t all = static_cast<int64_t>(x.atoms.size());
    const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + all : at, 0, all); };
    const int64_t first = place((*starts)[i]), end = place((*ends)[i]);
    if (steps[i] != 1 || first >= end) return refuse(node, "it takes channels in steps");
    const Atoms before(x.atoms.begin(), x.atoms.begin() + first), taken(x.atoms.begin() + first, x.atoms.begin() + end);
    edits_.push_back([this, &node, i, before, taken, starts = *starts, ends = *ends](const std::vector<bool>& removed) {
      Ints from = starts, to = ends;
      from[i] = static_cast<int64_t>(kept(before, removed).size());
      to[i] = from[i] + static_cast<int64_t>(kept(taken, removed).size());
      node.set_input(1, &add_ints(graph_, from));
      node.set_input(2, &add_ints(graph_, to));
    });
    return set_track(node.output(0), x.axis, taken);
  }
  set_track(node.output(0), x.axis, x.atoms);
}

// The axis of the channels before and after, as lengths before it, along it and behind it. The first axis may be open on both sides.
void ChannelGraph::follow_reshape(Node& node) {
  const Track x = *track_of(node.input(0));
  const auto &in = node.input(0)->type.dims, &out = node.output(0)->type.dims;
  if (!in || !out || in->empty() || out->empty()) return refuse(node, "its shapes are not known");
  const auto length = [](const std::vector<Dim>& dims, size_t i) -> int64_t { return dims[i].known() ? dims[i].size : -1; };
  const bool batch = length(*in, 0) == length(*out, 0) && x.axis > 0;  // stays as it is, whatever it is
  const auto product = [&](const std::vector<Dim>& dims, size_t from, size_t to) {
    int64_t all = 1;
    for (size_t i = from; i < to; ++i) {
      if (i == 0 && batch) continue;
      if (length(dims, i) < 0) return int64_t{-1};
      all *= dims[i].size;
    }
    return all;
  };
  const int64_t before = product(*in, 0, x.axis), count = static_cast<int64_t>(x.atoms.size()),
                behind = product(*in, x.axis + 1, in->size());
  if (before < 0 || behind < 0) return refuse(node, "its shapes are not known");
  for (size_t axis = batch ? 1 : 0; axis < out->size(); ++axis) {
    const int64_t first = product(*out, 0, axis), own = length(*out, axis), last = product(*out, axis + 1, out->size());
    if (first < 0 || own <= 0 || last < 0) continue;
    Atoms atoms(static_cast<size_t>(own));
    std::vector<std::pair<uint32_t, uint32_t>> united;
    const auto at = [&](int64_t i) { return x.atoms[static_cast<size_t>(i)]; };
    if (first == before && last == behind && own == count) {
      atoms = x.atoms;
    } else if (first == before && own % count == 0 && own > count) {  // joined with axes behind it
      for (int64_t j = 0; j < own; ++j) atoms[static_cast<size_t>(j)] = at(j / (own / count));
    } else if (last == behind && own % count == 0 && own > count) {  // with axes before it
      for (int64_t j = 0; j < own; ++j) atoms[static_cast<size_t>(j)] = at(j % count);
    } else if (last == behind && count % own == 0 && own > 1 && first == before * (count / own)) {  // groups, and channels of a group
      for (int64_t j = 0; j < own; ++j) atoms[static_cast<size_t>(j)] = at(j);
      for (int64_t j = own; j < count; ++j) united.emplace_back(at(j % own), at(j));
    } else {
      continue;
    }
    const auto shape = node.op() == "Reshape" ? ints_of(node.input(1)) : std::optional<Ints>();
    if (node.op() == "Reshape" && !shape) return refuse(node, "its shape is not known");
    if (shape && (*shape)[axis] > 0)
      edits_.push_back([this, &node, axis, atoms, shape = *shape](const std::vector<bool>& removed) {
        Ints changed = shape;
        changed[axis] = static_cast<int64_t>(kept(atoms, removed).size());
        node.set_input(1, &add_ints(graph_, changed));
      });
    else if (shape && (*shape)[axis] == 0 && axis != x.axis)
      return refuse(node, "its shape refers to another axis");
    for (const auto& [a, b] : united) unite(a, b);
    return set_track(node.output(0), axis, std::move(atoms));
  }
  refuse(node, "channels are mixed with other axes");
}

void ChannelGraph::follow_reduction(Node& node) {
  const Track* x = track_of(node.input(0));
  const auto rank = rank_of(*node.input(0));
  std::optional<Ints> axes;
  if (node.input(1)) axes = ints_of(node.input(1));
  if (const Ints* given = ints_attribute(node, "axes")) axes = *given;
  if (!rank || !axes || axes->empty()) return refuse(node, "its axes are not known, or all");
  size_t before = 0;
  for (const int64_t given : *axes) {
    const auto axis = positive_axis(given, *rank);
    if (!axis || *axis == x->axis) return refuse(node, "it reduces channels");
    before += *axis < x->axis;
  }
  set_track(node.output(0), int_attribute(node, "keepdims", 1) ? x->axis : x->axis - before, x->atoms);
}

double ChannelGraph::operations(const std::vector<bool>& removed) const {
  double all = 0;
  for (const Work& work : works_) {
    const double out = work.out.empty() ? work.outs : static_cast<double>(kept(work.out, removed).size());
    const double in = work.in.empty() ? work.ins : static_cast<double>(kept(work.in, removed).size());
    all += work.depthwise ? work.per * out : work.per * out * in / work.groups;
  }
  return all;
}

bool ChannelGraph::keeps_some(const std::vector<bool>& removed) const {
  return std::all_of(tracks_.begin(), tracks_.end(), [&](const auto& row) {
    return std::any_of(row.second.atoms.begin(), row.second.atoms.end(), [&](uint32_t atom) { return !removed[root(atom)]; });
  });
}

void ChannelGraph::remove(const std::vector<bool>& removed) {
  for (const Edit& edit : edits_) edit(removed);
  for (const auto& [value, track] : tracks_)
    if (auto& dims = const_cast<Value*>(value)->type.dims; dims && track.axis < dims->size() && (*dims)[track.axis].known())
      (*dims)[track.axis].size = static_cast<int64_t>(kept(track.atoms, removed).size());
  graph_.remove_unused_constants();
}

void ChannelGraph::mask(const std::vector<bool>& removed) {
  for (const Reader& reader : readers_) {
    Value* value = reader.node->input(1);
    Tensor copy = value->constant()->clone();
    const Shape& shape = copy.shape();
    float* w = copy.writable().data<float>();
    const size_t inner = static_cast<size_t>(shape.product(reader.axis + 1, shape.rank())),
                 length = static_cast<size_t>(shape[reader.axis]);
    const size_t filters = static_cast<size_t>(shape[0]) / reader.groups;  // of a group, where there are several
    for (size_t i = 0; i < static_cast<size_t>(copy.elements()); ++i) {
      const size_t group = reader.groups > 1 ? i / (inner * length) / filters : 0;
      if (removed[root(reader.atoms[group * length + i / inner % length])]) w[i] = 0;
    }
    reader.node->set_input(1, &graph_.add_constant(std::move(copy), graph_.fresh_name(value->name())));
  }
  graph_.remove_unused_constants();
}

}  // namespace minnow::compress
