// SPDX-License-Identifier: Apache-2.0
// minnow.FusedElementwise, and single elementwise operators without a kernel of their own, as programs that run in one pass over blocks:
// f32 and boolean tensors, broadcast in any way in the plain layout; whole tensors, numbers and values per channel in the packed one. Fused
// nodes may begin with DequantizeLinear and end with QuantizeLinear, and then read and write bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/schemes/elementwise_geometry.h"
#include "backends/cpu/schemes/elementwise_program.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/share.h"

namespace minnow::cpu {
namespace {

constexpr std::string_view kFused = "minnow.FusedElementwise";
constexpr size_t kBlock = ElementwiseProgram::kBlock;
constexpr size_t kElementsPerTask = 16 << 10;

using Source = ElementwiseGeometry::Source;
using Form = ElementwiseProgram::Form;

bool is_f32_or_boolean(DType dtype) { return dtype == DType::f32 || dtype == DType::boolean; }
constexpr bool kBytes = !kSmall;
bool is_byte(DType dtype) { return kBytes && (dtype == DType::u8 || dtype == DType::i8); }

/// How bytes stand for numbers: (byte - zero_point) scale. Truth values are bytes 0 and 1.
struct Quantum {
  float scale = 1;
  int32_t zero_point = 0;
  bool is_signed = false;
  bool operator==(const Quantum&) const = default;
};

/// How the sources and the result are quantized.
struct Quanta {
  std::vector<std::optional<Quantum>> sources;
  Quantum result;
};

/// Nothing if scale and zero point are no numbers in the body.
std::optional<Quantum> quantum_of(const ValueInfo* scale, const ValueInfo* zero, DType dtype) {
  if (!scale || !scale->contents || scale->dtype != DType::f32 || (zero && (!zero->contents || zero->dtype != dtype))) return std::nullopt;
  Quantum made{*scale->contents.data<float>(), 0, dtype == DType::i8};
  if (zero) made.zero_point = made.is_signed ? int32_t{*zero->contents.data<int8_t>()} : int32_t{*zero->contents.data<uint8_t>()};
  return made;
}

/// The program of a node or, for a fused one, of the nodes in its body. Empty if programs do not support an operator or a dtype.
std::optional<ElementwiseProgram> compile(const NodeView& node, const Kernels& kernels, const std::vector<Source>& sources,
                                          Quanta& quanta) {
  if constexpr (kBytes) quanta.sources.assign(sources.size(), std::nullopt);
  std::vector<Form> forms;
  for (const Source& source : sources) forms.push_back(source.form);
  ElementwiseProgram program(kernels, forms);
  if (node.op() != kFused) {
    std::vector<ElementwiseProgram::Value> operands;
    for (size_t i = 0, s = 0; i < node.input_count(); ++i) operands.push_back(node.has_input(i) ? program.input(s++) : -1);
    const auto result = program.add(node, operands);
    if (!result) return std::nullopt;
    program.finish(*result);
    return program;
  }
  const Graph& body = **node.find<Subgraph>("body");
  struct Known {
    ElementwiseProgram::Value value;
    ValueInfo info;
  };
  std::unordered_map<const minnow::Value*, Known> known;
  for (size_t i = 0; i < node.input_count(); ++i) known[body.inputs()[i].get()] = {program.input(i), node.input(i)};
  for (const auto& constant : body.constants()) {
    Known& made = known[constant.get()];
    made.info.dtype = constant->constant()->dtype();
    made.info.shape = constant->constant()->shape();
    made.info.contents = *constant->constant();
    const bool boolean = made.info.dtype == DType::boolean;
    if (!is_f32_or_boolean(made.info.dtype)) {
      if (!is_byte(made.info.dtype)) return std::nullopt;
      made.value = -1;  // a zero point
      continue;
    }
    made.value =
        program.constant(boolean ? static_cast<float>(made.info.contents.data<uint8_t>()[0] != 0) : made.info.contents.data<float>()[0]);
  }
  const minnow::Value* end = body.outputs()[0];
  for (const Node& inner : body.nodes()) {
    std::vector<const ValueInfo*> infos;
    std::vector<ElementwiseProgram::Value> operands;
    bool reads_bytes = false;
    for (size_t i = 0; i < inner.input_count(); ++i) {
      const minnow::Value* input = inner.input(i);
      infos.push_back(input ? &known.at(input).info : nullptr);
      operands.push_back(input ? known.at(input).value : -1);
      reads_bytes |= input && is_byte(known.at(input).info.dtype);
    }
    const bool dequantizes = kBytes && inner.op() == "DequantizeLinear";
    if (dequantizes || (kBytes && inner.op() == "QuantizeLinear")) {
      const DType dtype = dequantizes ? infos[0]->dtype : node.output(0).dtype;
      const auto quantum = quantum_of(infos[1], infos.size() > 2 ? infos[2] : nullptr, dtype);
      if (!quantum || !is_byte(dtype) || (dequantizes ? !inner.input(0)->is_input() : inner.output(0) != end)) return std::nullopt;
      if (dequantizes) {
        std::optional<Quantum>& source = quanta.sources[static_cast<size_t>(operands[0])];
        if (source && *source != *quantum) return std::nullopt;
        source = quantum;
      } else {
        quanta.result = *quantum;
      }
      known[inner.output(0)].value = operands[0];
      known[inner.output(0)].info.dtype = DType::f32;
      continue;
    }
    if (reads_bytes) return std::nullopt;
    const auto result = program.add(NodeView(inner, infos), operands);
    if (!result) return std::nullopt;
    // Programs give floats and booleans alone; it does not matter which.
    Known& made = known[inner.output(0)];
    made.value = *result;
    made.info.dtype = DType::f32;
  }
  program.finish(known.at(end).value);
  return program;
}

class ElementwiseKernel final : public Kernel {
 public:
  ElementwiseKernel(PrepareContext& context, ElementwiseGeometry geometry, ElementwiseProgram program, Quanta quanta)
      : geometry_(std::move(geometry)),
        program_(std::move(program)),
        quanta_(std::move(quanta)),
        integer_(*cpu_device(context.device()).kernels->integer),
        bytes_(size_of(context.node().output(0).dtype) == 1) {
    const size_t row = static_cast<size_t>(geometry_.row), rows = static_cast<size_t>(geometry_.rows);
    if (geometry_.long_rows) {
      cuts_ = (row + kBlock - 1) / kBlock;
    } else {
      rows_per_block_ = kBlock / row;
    }
    blocks_ = (rows + rows_per_block_ - 1) / rows_per_block_ * cuts_;
    const size_t block = geometry_.long_rows ? std::min(row, kBlock) : row * rows_per_block_;
    blocks_per_task_ = std::max<size_t>(1, kElementsPerTask / block);
    size_t buffers = bytes_ ? 1 : 0;
    for (const Source& source : geometry_.sources) buffers += source.spread ? 1 : 0;
    pointers_ = geometry_.sources.size();
    const size_t pointer_floats = align_up(pointers_ * sizeof(const float*)) / sizeof(float);
    buffers_offset_ = pointer_floats;
    program_offset_ = pointer_floats + buffers * kBlock;
    units_.reserve(context, (blocks_ + blocks_per_task_ - 1) / blocks_per_task_, program_offset_ + program_.scratch());
  }

  void run(RunContext& context) const noexcept override {
    units_.run(context, [&](size_t task, float* scratch) {
      const size_t last = std::min(blocks_, (task + 1) * blocks_per_task_);
      program_.begin(scratch + program_offset_);
      for (size_t block = task * blocks_per_task_; block < last; ++block) run_block(context, block, scratch);
    });
  }

 private:
  void run_block(RunContext& context, size_t block, float* scratch) const noexcept {
    const int64_t first = static_cast<int64_t>(block / cuts_ * rows_per_block_);
    const int64_t rows = std::min(static_cast<int64_t>(rows_per_block_), geometry_.rows - first);
    const int64_t begin = static_cast<int64_t>(block % cuts_ * kBlock), end = std::min(geometry_.row, begin + static_cast<int64_t>(kBlock));
    const size_t count = static_cast<size_t>(rows * (end - begin));
    const float** pointers = reinterpret_cast<const float**>(scratch);
    float* buffer = scratch + buffers_offset_;
    for (size_t s = 0; s < pointers_; ++s) {
      const Source& source = geometry_.sources[s];
      if (source.spread) {
        spread(source, kBytes ? quanta_.sources[s].value_or(Quantum()) : Quantum(), context, first, rows, begin, end, buffer);
        pointers[s] = buffer;
        buffer += kBlock;
        continue;
      }
      const float* base = source.channels.empty() ? context.in<float>(source.input) : source.channels.data();
      pointers[s] = base + geometry_.offset_of(source, first) + begin * source.strides.back();
    }
    const int64_t at = first * geometry_.row + begin;
    if (!bytes_) return program_.run(pointers, count, buffer, context.out<float>(0) + at);
    program_.run(pointers, count, buffer + kBlock, buffer);
    const Quantum result = kBytes ? quanta_.result : Quantum();
    integer_.quantize(buffer, count, result.scale, result.zero_point, result.is_signed, context.out<uint8_t>(0) + at);
  }

  void spread(const Source& source, const Quantum& quantum, RunContext& context, int64_t first, int64_t rows, int64_t begin, int64_t end,
              float* to) const noexcept {
    const int64_t step = source.strides.back(), count = end - begin;
    for (int64_t r = first; r < first + rows; ++r, to += count) {
      const int64_t at = geometry_.offset_of(source, r) + begin * step;
      if (source.bytes) {
        const uint8_t* from = context.in<uint8_t>(source.input) + at;
        const auto dequantize = [&](const uint8_t* bytes, int64_t n, float* y) {
          integer_.dequantize({bytes, quantum.is_signed, quantum.zero_point}, static_cast<size_t>(n), quantum.scale, y);
        };
        if (step == 1)
          dequantize(from, count, to);
        else
          for (int64_t i = 0; i < count; ++i) dequantize(from + i * step, 1, to + i);
      } else {
        const float* from = context.in<float>(source.input) + at;
        if (step == 0)
          std::fill_n(to, count, *from);
        else
          for (int64_t i = 0; i < count; ++i) to[i] = from[i];
      }
    }
  }

  ElementwiseGeometry geometry_;
  ElementwiseProgram program_;
  Quanta quanta_;
  const IntegerKernels& integer_;
  bool bytes_;
  size_t cuts_ = 1, rows_per_block_ = 1, blocks_ = 0, blocks_per_task_ = 1, pointers_ = 0, buffers_offset_ = 0, program_offset_ = 0;
  Units units_;
};

// A function of one tensor of bytes, to bytes: its program runs once, for every byte.
class ByteTableKernel final : public Kernel {
 public:
  ByteTableKernel(PrepareContext& context, const ElementwiseProgram& program, const Quanta& quanta)
      : integer_(*cpu_device(context.device()).kernels->integer),
        count_(context.device().bytes(DType::u8, context.node().output_shape(0), context.output_layout(0))) {
    uint8_t bytes[kEntries];
    for (size_t i = 0; i < kEntries; ++i) bytes[i] = static_cast<uint8_t>(i);
    const Quantum from = quanta.sources[0].value_or(Quantum()), &to = quanta.result;
    std::vector<float> x(kEntries), y(kEntries), scratch(program.scratch());
    integer_.dequantize({bytes, from.is_signed, from.zero_point}, kEntries, from.scale, x.data());
    const float* inputs[] = {x.data()};
    program.begin(scratch.data());
    program.run(inputs, kEntries, scratch.data(), y.data());
    integer_.quantize(y.data(), kEntries, to.scale, to.zero_point, to.is_signed, table_);
  }

  void run(RunContext& context) const noexcept override {
    constexpr size_t kEach = 4 * kElementsPerTask;
    context.parallel_for((count_ + kEach - 1) / kEach, [&](size_t task) {
      const size_t first = task * kEach;
      integer_.lookup(context.in<uint8_t>(0) + first, std::min(kEach, count_ - first), table_, context.out<uint8_t>(0) + first);
    });
  }

 private:
  static constexpr size_t kEntries = 256;
  const IntegerKernels& integer_;
  size_t count_;
  uint8_t table_[kEntries];
};

bool is_table(const NodeView& node) {
  return node.op() == kFused && node.input_count() == 1 && is_byte(node.input_dtype(0)) && is_byte(node.output(0).dtype);
}

/// A body of DequantizeLinear of one tensor or two, the first times numbers that each channel has (a gate), their sum, a PRelu or Relu, and
/// QuantizeLinear: one pass over bytes that keeps numbers in vectors (23 of them in mp_face_landmark, AVX2, Zen 3: 540 -> 200 us,
/// 2026-11-28). On f32 tensors that hold integers, Mul by a number takes the place of DequantizeLinear, and Div by one, Round and Clip that
/// of QuantizeLinear; HardSwish may be the function, too. Scales are joined, so that numbers between two integers may round otherwise, but
/// not for f32 tensors that are only quantized.
struct Blend {
  size_t a = 0, b = 0;  // inputs
  bool adds = false, only_divides = false, hard_swish = false;
  Quantum from[2], to;
  float low = 0, high = 0;             // bounds of the result less its zero point
  std::optional<size_t> slopes, gate;  // the inputs that have one for each channel
  float slope = 1;
};

/// Reads a blend from the body of a fused node.
class BlendReader {
 public:
  explicit BlendReader(const NodeView& node)
      : node_(node), body_(**node.find<Subgraph>("body")), is_f32_(node.output(0).dtype == DType::f32) {}

  std::optional<Blend> read() {
    for (const Node& inner : body_.nodes())
      if (!add(inner)) return std::nullopt;
    return finished();
  }

 private:
  struct Term {
    size_t input = 0;
    Quantum quantum;
    const minnow::Value* value = nullptr;
    std::optional<size_t> gate;
  };

  std::optional<size_t> input_of(const minnow::Value* value) const {
    size_t i = 0;
    while (i < node_.input_count() && body_.inputs()[i].get() != value) ++i;
    return i < node_.input_count() ? std::optional(i) : std::nullopt;
  }
  static ValueInfo info_of(const minnow::Value* value) {
    ValueInfo info;
    if (value && value->constant())
      info.dtype = value->constant()->dtype(), info.shape = value->constant()->shape(), info.contents = *value->constant();
    return info;
  }

  /// False: this is no blend.
  bool add(const Node& inner) {
    const std::string& op = inner.op();
    if (is_f32_ && result_) return add_rounding(inner);
    if (op == "Mul" && !added_ && !bends_ && add_gate(inner)) return true;
    if (op == (is_f32_ ? "Mul" : "DequantizeLinear") || op == (is_f32_ ? "Div" : "QuantizeLinear")) return add_scale(inner);
    if (op == "Add" && !added_ && count_ == 2) {
      const bool in_order = inner.input(0) == terms_[0].value && inner.input(1) == terms_[1].value;
      if (!in_order && !(inner.input(0) == terms_[1].value && inner.input(1) == terms_[0].value)) return false;
      added_ = true;
    } else if ((op == "PRelu" || op == "Relu") && inner.input(0) == current_ && !bends_) {
      bends_ = true;
      if (!add_slope(inner)) return false;
    } else if (is_f32_ && op == "HardSwish" && inner.input(0) == current_ && !bends_) {
      made_.hard_swish = bends_ = true;
    } else {
      return false;
    }
    current_ = inner.output(0);
    return true;
  }
  /// Round and Clip behind Div.
  bool add_rounding(const Node& inner) {
    if (inner.input(0) != current_ || inner.op() != (rounds_ ? "Clip" : "Round")) return false;
    current_ = inner.output(0);
    if (!std::exchange(rounds_, true)) return true;
    const ValueInfo low = info_of(inner.input(1)), high = info_of(inner.input(2));
    if (!low.contents || !high.contents || current_ != body_.outputs()[0]) return false;
    made_.low = *low.contents.data<float>(), made_.high = *high.contents.data<float>();
    return clips_ = true;
  }
  /// Whether the node multiplies a term by a gate.
  bool add_gate(const Node& inner) {
    bool is_gate = false;
    for (size_t k = 0; k < count_; ++k)
      for (size_t i = 0; i < 2; ++i) {
        const std::optional<size_t> gate = input_of(inner.input(1 - i));
        if (inner.input(i) != terms_[k].value || !gate || terms_[0].gate || terms_[1].gate || node_.input_dtype(*gate) != DType::f32)
          continue;
        terms_[k].gate = gate, is_gate = true;
        current_ = terms_[k].value = inner.output(0);
      }
    return is_gate;
  }
  /// A term, or the result.
  bool add_scale(const Node& inner) {
    const std::string& op = inner.op();
    const std::optional<size_t> x = input_of(inner.input(0));
    const ValueInfo scale = info_of(inner.input(1)), zero = info_of(inner.input(2));
    const DType dtype = x ? node_.input_dtype(*x) : node_.output(0).dtype;
    const auto quantum = quantum_of(&scale, inner.input(2) ? &zero : nullptr, dtype);
    if (!quantum || !(quantum->scale > 0) || scale.shape.elements() != 1) return false;
    const bool is_whole = x && node_.input_shape(*x) == node_.output_shape(0) && (is_f32_ ? dtype == DType::f32 : is_byte(dtype));
    if (op == "QuantizeLinear" || op == "Div") {
      if (is_f32_ && !count_ && is_whole) terms_[count_++] = {*x, {}, nullptr, {}}, current_ = inner.input(0), made_.only_divides = true;
      if (inner.input(0) != current_) return false;
      result_ = quantum;
    } else {
      if (!is_whole || count_ == 2) return false;
      terms_[count_++] = {*x, *quantum, inner.output(0), {}};
    }
    current_ = inner.output(0);
    return true;
  }
  bool add_slope(const Node& inner) {
    if (inner.op() == "Relu") {
      made_.slope = 0;
      return true;
    }
    ValueInfo slope = info_of(inner.input(1));
    made_.slopes = input_of(inner.input(1));
    if (made_.slopes) slope = node_.input(*made_.slopes);
    if (!slope.contents || slope.dtype != DType::f32) return false;
    if (slope.shape.elements() == 1) made_.slope = *slope.contents.data<float>(), made_.slopes.reset();
    return true;
  }

  std::optional<Blend> finished() {
    if (!result_ || clips_ != is_f32_ || !count_ || added_ != (count_ == 2)) return std::nullopt;
    if (terms_[1].gate) std::swap(terms_[0], terms_[1]);
    made_.adds = added_;
    made_.a = terms_[0].input, made_.from[0] = terms_[0].quantum, made_.gate = terms_[0].gate;
    made_.b = made_.a, made_.from[1] = {0, 0, made_.from[0].is_signed};
    if (added_) made_.b = terms_[1].input, made_.from[1] = terms_[1].quantum;
    made_.to = *result_;
    const bool serves = result_->scale > 1e-25f && result_->scale < 1e25f && std::isfinite(made_.from[0].scale / result_->scale) &&
                        std::isfinite(made_.from[1].scale / result_->scale) && made_.from[0].is_signed == made_.from[1].is_signed;
    if (!serves) return std::nullopt;
    if (!is_f32_) {
      made_.low = static_cast<float>((made_.to.is_signed ? -128 : 0) - made_.to.zero_point), made_.high = made_.low + 255;
    }
    if (!made_.slopes && made_.slope == 0) made_.low = std::max(made_.low, 0.0f), made_.slope = 1;
    return made_;
  }

  const NodeView& node_;
  const Graph& body_;
  bool is_f32_;
  Blend made_;
  Term terms_[2];
  size_t count_ = 0;
  std::optional<Quantum> result_;
  const minnow::Value* current_ = nullptr;
  bool added_ = false, rounds_ = false, clips_ = false, bends_ = false;
};

std::optional<Blend> blend_of(const NodeView& node) {
  const DType dtype = node.output(0).dtype;
  if (node.op() != kFused || !(dtype == DType::f32 || is_byte(dtype))) return std::nullopt;
  return BlendReader(node).read();
}

class BlendKernel final : public Kernel {
 public:
  BlendKernel(PrepareContext& context, const Blend& blend, const ElementwiseGeometry& geometry)
      : integer_(*cpu_device(context.device()).kernels->integer),
        lanes_(cpu_device(context.device()).kernels->lanes),
        reals_(context.node().output(0).dtype == DType::f32),
        blend_(blend),
        factor_{blend.from[0].scale / blend.to.scale, blend.from[1].scale / blend.to.scale},
        offset_(lanes_, -factor_[1] * static_cast<float>(blend.from[1].zero_point)),
        first_(lanes_, factor_[0]),
        geometry_(geometry),
        row_(static_cast<size_t>(geometry.row)),
        cuts_((row_ + kElementsPerTask - 1) / kElementsPerTask),
        rows_(static_cast<size_t>(geometry.rows)) {
    if (blend.slope != 1) slopes_.assign(lanes_, blend.slope);
    for (const Source& source : geometry_.sources) {
      if (blend.slopes == source.input) slopes_ = source.channels;
      if (blend.gate == source.input) gate_ = &source;
    }
  }

  void run(RunContext& context) const noexcept override {
    // Some short rows at a time: a task costs as much as a few hundred elements.
    const size_t each = std::max<size_t>(1, kElementsPerTask / row_);
    context.parallel_for(ceil_div(rows_, each) * cuts_, [&](size_t task) {
      const size_t cut = task % cuts_ * kElementsPerTask, last = std::min(rows_, (task / cuts_ + 1) * each);
      for (size_t row = task / cuts_ * each; row < last; ++row) run_piece(context, row, cut);
    });
  }

 private:
  static constexpr size_t kMostLanes = 16;
  void run_piece(RunContext& context, size_t row, size_t cut) const noexcept {
    const size_t at = row * row_ + cut, count = std::min(kElementsPerTask, row_ - cut);
    float gated[kMostLanes];
    const float* first = first_.data();
    if (gate_) {
      const float* gate = gate_->channels.empty() ? context.in<float>(gate_->input) : gate_->channels.data();
      gate += geometry_.offset_of(*gate_, static_cast<int64_t>(row));
      for (size_t l = 0; l < lanes_; ++l) gated[l] = factor_[0] * gate[l];
      first = gated;
    }
    const size_t vectors = std::max<size_t>(1, slopes_.size() / lanes_);
    const float* slopes = slopes_.empty() ? nullptr : slopes_.data() + row % vectors * lanes_;
    if (blend_.only_divides)
      return integer_.round_quotients(context.in<float>(blend_.a) + at, count, blend_.to.scale, blend_.low, blend_.high,
                                      context.out<float>(0) + at);
    if (reals_)
      return integer_.blend_reals(context.in<float>(blend_.a) + at, blend_.adds ? context.in<float>(blend_.b) + at : nullptr, count,
                                  {first, slopes, factor_[1], blend_.low, blend_.high, blend_.hard_swish ? blend_.to.scale : 0},
                                  context.out<float>(0) + at);
    const ByteBlend how{first,
                        offset_.data(),
                        slopes,
                        factor_[1],
                        blend_.low,
                        blend_.high,
                        blend_.from[0].zero_point,
                        blend_.to.zero_point,
                        blend_.from[0].is_signed,
                        blend_.to.is_signed};
    integer_.blend(context.in<uint8_t>(blend_.a) + at, context.in<uint8_t>(blend_.b) + at, count, how, context.out<uint8_t>(0) + at);
  }

  const IntegerKernels& integer_;
  size_t lanes_;
  bool reals_;
  Blend blend_;
  float factor_[2];
  std::vector<float> offset_, first_, slopes_;  // vectors; slopes: none, one, or one for each vector of channels
  ElementwiseGeometry geometry_;
  const Source* gate_ = nullptr;  // of geometry_
  size_t row_, cuts_, rows_;
};

/// Whether a blend serves in this geometry: its slopes and its gate are a vector for each row.
bool is_served(const Blend& blend, const ElementwiseGeometry& geometry) {
  return std::none_of(geometry.sources.begin(), geometry.sources.end(), [&](const Source& source) {
    return (blend.slopes == source.input && source.channels.empty()) || (blend.gate == source.input && source.form != Form::lanes);
  });
}

std::string geometry_of(const NodeView& node, const Device& device, Layout layout, ElementwiseGeometry& geometry) {
  const bool fused = node.op() == kFused;
  const auto is_known = [&](DType dtype) { return is_f32_or_boolean(dtype) || (fused && is_byte(dtype)); };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && !is_known(node.input_dtype(i))) return format("the dtype of input {} is {}", i, node.input_dtype(i));
  const DType result = node.output(0).dtype;
  if (!is_known(result)) return format("the dtype of the output is {}", result);
  const Shape& y = node.output_shape(0);
  if (y.elements() == 0) return "the output is empty";
  if (layout == Layout::plain) return geometry.plain(node);
  if (device.pack == 1 || y.rank() < 3 || result == DType::boolean) return "the output has no packed layout";
  return geometry.packed(node, device.pack);
}

Estimate estimate(const NodeView& node, const Device& device, Layout layout) {
  ElementwiseGeometry geometry;
  if (const std::string refusal = geometry_of(node, device, layout, geometry); !refusal.empty()) return declined("{}", refusal);
  Quanta quanta;
  const auto program = compile(node, *cpu_device(device).kernels, geometry.sources, quanta);
  if (!program) return declined("an operator or a dtype in it has no kernel");
  const ValueInfo& y = node.output(0);
  const double elements = static_cast<double>(device.bytes(DType::f32, y.shape, layout)) / sizeof(float);
  double bytes = static_cast<double>(device.bytes(y.dtype, y.shape, layout));
  for (const Source& source : geometry.sources)
    bytes += static_cast<double>(node.input_shape(source.input).elements()) * static_cast<double>(size_of(node.input_dtype(source.input)));
  double cost = program->cost();
  // Operations as measured (AVX2, Zen 3 of 126 GFLOP/s, mobilenet_v3_small and mp_face_landmark, 2026-11-29).
  for (const auto& quantum : quanta.sources) cost += quantum ? 7 : 0;
  if (is_byte(y.dtype)) cost += 22;
  if (kSmall) {  // has neither tables nor blends
  } else if (is_table(node)) {
    cost = 13;
  } else if (const auto blend = blend_of(node); blend && is_served(*blend, geometry)) {
    cost = y.dtype == DType::f32 ? 8 : 17;
  }
  Estimate result(device.byte_time(bytes) + device.flop_time(elements * cost) + 3e-7);
  for (const Source& source : geometry.sources) {
    const bool whole = node.input_shape(source.input) == y.shape && node.input_dtype(source.input) == y.dtype &&
                       (y.dtype == DType::f32 || is_byte(y.dtype));
    if (whole && result.overwrites < 0) result.overwrites = static_cast<int>(source.input);
    const bool lanes = source.form == Form::lanes && source.channels.empty();
    const bool image = node.input_shape(source.input) == y.shape;
    if (layout == Layout::packed && (image || lanes)) result.packed_inputs |= uint64_t{1} << source.input;
  }
  if (layout == Layout::packed) {
    if (node.input_count() > 64) return declined("there are more than 64 inputs");
    result.packed_outputs = 1;
  }
  return result;
}
Estimate estimate_plain(const NodeView& node, const Device& device) { return estimate(node, device, Layout::plain); }
Estimate estimate_packed(const NodeView& node, const Device& device) { return estimate(node, device, Layout::packed); }

std::unique_ptr<Kernel> prepare(PrepareContext& context) {
  ElementwiseGeometry geometry;
  geometry_of(context.node(), context.device(), context.output_layout(0), geometry);
  Quanta quanta;
  auto program = compile(context.node(), *cpu_device(context.device()).kernels, geometry.sources, quanta);
  if (!kSmall) {
    if (is_table(context.node())) return std::make_unique<ByteTableKernel>(context, *program, quanta);
    if (const auto blend = blend_of(context.node()); blend && is_served(*blend, geometry))
      return std::make_unique<BlendKernel>(context, *blend, geometry);
  }
  return std::make_unique<ElementwiseKernel>(context, std::move(geometry), std::move(*program), std::move(quanta));
}

#define MINNOW_PROGRAM_ROWS(op) \
  {op, "elementwise.packed", estimate_packed, prepare}, { op, "elementwise", estimate_plain, prepare }

constexpr Scheme kSchemes[] = {
    MINNOW_PROGRAM_ROWS("minnow.FusedElementwise"),
    MINNOW_PROGRAM_ROWS("Clip"),
    MINNOW_PROGRAM_ROWS("Max"),
    MINNOW_PROGRAM_ROWS("Mean"),
    MINNOW_PROGRAM_ROWS("Min"),
    MINNOW_PROGRAM_ROWS("Pow"),
    MINNOW_PROGRAM_ROWS("Sum"),
    MINNOW_PROGRAM_ROWS("Acos"),
    MINNOW_PROGRAM_ROWS("Acosh"),
    MINNOW_PROGRAM_ROWS("Asin"),
    MINNOW_PROGRAM_ROWS("Asinh"),
    MINNOW_PROGRAM_ROWS("Atanh"),
    MINNOW_PROGRAM_ROWS("Cosh"),
    MINNOW_PROGRAM_ROWS("Sinh"),
    MINNOW_PROGRAM_ROWS("Tan"),
    {"And", "elementwise", estimate_plain, prepare},
    {"Cast", "elementwise", estimate_plain, prepare},
    {"Equal", "elementwise", estimate_plain, prepare},
    {"Greater", "elementwise", estimate_plain, prepare},
    {"GreaterOrEqual", "elementwise", estimate_plain, prepare},
    {"IsInf", "elementwise", estimate_plain, prepare},
    {"IsNaN", "elementwise", estimate_plain, prepare},
    {"Less", "elementwise", estimate_plain, prepare},
    {"LessOrEqual", "elementwise", estimate_plain, prepare},
    {"Not", "elementwise", estimate_plain, prepare},
    {"Or", "elementwise", estimate_plain, prepare},
    {"Where", "elementwise", estimate_plain, prepare},
    {"Xor", "elementwise", estimate_plain, prepare},
};
#undef MINNOW_PROGRAM_ROWS

}  // namespace

std::span<const Scheme> fused_elementwise_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
