// SPDX-License-Identifier: Apache-2.0
// minnow.MatMulNBits from the packed weights. A few rows are multiplied as the weights come from memory, in f32 or in whole numbers of 24
// bits; for more, a panel of weights is unpacked for each block of rows, and the product goes through the tiles of matrix products. Where
// the left factor may be rounded to bytes, so are many rows, and multiplied in whole numbers.
#include <atomic>
#include <cmath>
#include <cstring>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/matmul.h"
#include "backends/cpu/kernels/stop.h"
#include "backends/cpu/schemes/schemes.h"
#include "backends/cpu/schemes/units.h"
#include "base/numeric.h"
#include "base/saturating.h"
#include "graph/nbits.h"

namespace minnow::cpu {
namespace {

constexpr size_t kA = 0, kB = 1, kScales = 2, kZeros = 3, kIndex = 4, kBias = 5;
constexpr size_t kFewRows = 4;  // are multiplied one by one
constexpr size_t kMostLanes = 16;
constexpr int64_t kBytes = 4;  // accuracy_level: A may be rounded to 8 bits

Estimate estimate(const NodeView& node, const Device& device) {
  if (node.input_dtype(kA) != DType::f32) return declined("A is {}, not f32", node.input_dtype(kA));
  const NBitsKernels& kernels = *cpu_device(device).kernels->nbits;
  if (!kernels.multiply[0]) return unavailable("SSE4 has no kernel for it");
  if (const NBits form = NBits::of(node); !kernels.multiply[form.bits - kLeastBits])
    return declined("there is no kernel for {} bits", form.bits);
  for (const size_t i : {kB, kScales, kZeros})
    if (node.has_input(i) && !node.is_constant(i)) return declined("input {} is not constant", i);
  if (node.has_input(kIndex)) return declined("the numbers of a block are not neighbours");
  if (node.output_shape(0).elements() == 0) return declined("a matrix is empty");
  const double weights = static_cast<double>(node.input_shape(kB).elements()), depth = static_cast<double>(node.require<int64_t>("K"));
  const double numbers = depth * static_cast<double>(node.require<int64_t>("N"));
  const double rows = static_cast<double>(node.input_shape(kA).elements()) / depth;
  const double read = device.weight_time(weights + 4.0 * static_cast<double>(node.input_shape(kScales).elements()));
  const bool few = rows <= static_cast<double>(kFewRows);
  const double compute = device.flop_time(2 * rows * numbers, few ? 0.3 : 0.85) + (few ? 0 : device.flop_time(6 * numbers));
  return Estimate(std::max(read, compute) +
                  device.byte_time(4.0 * static_cast<double>(node.input_shape(kA).elements() + node.output_shape(0).elements())) + 5e-7);
}

Numbers<double> reals_of(const TensorView& tensor) {
  Numbers<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  return values;
}

/// Whether f16 holds all scales exactly, so that they take half the room.
bool fit_f16(const TensorView& scales) {
  if (scales.dtype() != DType::f32) return scales.dtype() == DType::f16;  // without reading pages that may have been released
  const float* data = scales.data<float>();
  return std::all_of(data, data + scales.elements(), [](float x) { return f32_from_f16(f16_from_f32(x)) == x; });
}

/// The fastest kernels that the machine runs, or empty ones.
const NBitsDigitKernels& digits_for(const Kernels& kernels) {
  const auto& digits = kernels.nbits->digits;
  return digits[0].needs_bytes && !runs(*kernels.integer, IntegerForm::bytes) ? digits[1] : digits[0];
}

class NBitsKernel final : public Kernel {
 public:
  explicit NBitsKernel(PrepareContext& context)
      : form_(NBits::of(context.node())),
        kernels_(*cpu_device(context.device()).kernels),
        digits_(digits_for(kernels_)),
        k_(static_cast<size_t>(form_.depth)),
        n_(static_cast<size_t>(context.node().require<int64_t>("N"))),
        m_(static_cast<size_t>(context.node().input_shape(kA).elements()) / k_),
        groups_(ceil_div(k_, kNBitsGroup)),
        panels_(ceil_div(n_, kernels_.lanes)),
        blocks_(ceil_div(groups_ * kNBitsGroup, static_cast<size_t>(form_.block))),
        matmul_(kernels_, {m_, k_, n_}, matmul_options(context.device()), {}) {
    const NodeView& node = context.node();
    const size_t places = product_of({panels_, blocks_, kernels_.lanes});
    const PackingParameters parameters = {{"bits", form_.bits}, {"block", form_.block}, {"K", form_.depth}};
    words_ = context.packed(kB, in_parts() ? "nbits in two parts" : "nbits", parameters,
                            product_of({panels_, groups_, size_t(form_.bits), kernels_.lanes, sizeof(uint32_t)}),
                            [&](const TensorView& b, void* out) { pack_numbers(b.data<uint8_t>(), static_cast<uint32_t*>(out)); });
    panel_.block = static_cast<size_t>(form_.block);
    panel_.middle = form_.middle();
    panel_.half_scales = fit_f16(node.contents(kScales));
    PackingParameters of_scales = parameters;
    of_scales.push_back({"half", panel_.half_scales});
    scales_ = context.packed(kScales, "nbits scales", of_scales, product_of({places, scale_bytes()}),
                             [&](const TensorView& scales, void* out) { pack_scales(scales, out); });
    if (node.has_input(kZeros)) {
      zero_bytes_ = node.input_dtype(kZeros) == DType::u8 ? 1 : sizeof(float);
      zeros_ = context.packed(kZeros, "nbits zero points", parameters, product_of({places, zero_bytes_}),
                              [&](const TensorView& zeros, void* out) { pack_zeros(zeros, out); });
    }
    const int64_t* level = node.find<int64_t>("accuracy_level");
    one_byte_ = splits() && level && *level == kBytes;
    many_ = m_ > kFewRows && one_byte_ && panel_.block >= kNBitsGroup && digits_.multiply_rows[form_index()];
    if (m_ > kFewRows && !many_) {
      units_.reserve(context, matmul_.units(), matmul_.scratch_floats());
      if (node.has_input(kBias)) bias_offset_ = context.reserve_scratch(matmul_.bias_floats() * sizeof(float));
      return;
    }
    tasks_ = std::min(panels_, static_cast<size_t>(context.device().threads) * 4);
    if (many_) {
      tasks_ = std::max(tasks_, std::min(m_, static_cast<size_t>(context.device().threads) * 4));
      bytes_offset_ = context.reserve_scratch(product_of({ceil_div(m_, kMostNBitsRows), rows_of_bytes(), sizeof(float)}));
    }
    if (splits()) digits_offset_ = context.reserve_scratch(product_of({many_ ? tasks_ : m_, row_of_digits(), sizeof(float)}));
    if (copies()) a_offset_ = context.reserve_scratch(product_of({m_, groups_, kNBitsGroup, sizeof(float)}));
    if (zero_bytes_) sums_offset_ = context.reserve_scratch(product_of({m_, blocks_, sizeof(float)}));
  }

  void run(RunContext& context) const noexcept override {
    const float *a = context.in<float>(kA), *bias = context.has_input(kBias) ? context.in<float>(kBias) : nullptr;
    if (many_ && multiply_many(context, a, bias)) return;
    if (m_ <= kFewRows || many_) return multiply_rows(context, a, bias);
    float* y = context.out<float>(0);
    if (bias) {
      float* packed = context.scratch_at<float>(bias_offset_);
      matmul_.pack_bias(bias, 1, packed);
      bias = packed;
    }
    units_.run(context, [&](size_t unit, float* scratch, size_t before) {
      matmul_.run(unit, {a, nullptr, bias, nullptr, y, nullptr, {make_panel, this}}, scratch, before);
    });
  }

 private:
  static MatMul::Options matmul_options(const Device& device) {
    MatMul::Options options{static_cast<size_t>(device.threads), device.l2};
    options.made_step = kNBitsGroup;
    return options;
  }
  size_t form_index() const noexcept { return static_cast<size_t>(form_.bits - kLeastBits); }
  size_t own_blocks() const noexcept { return static_cast<size_t>(form_.blocks()); }
  bool copies() const noexcept { return k_ % kNBitsGroup != 0; }
  bool in_parts() const noexcept { return low_bits(static_cast<int>(form_.bits)) != form_.bits; }
  bool splits() const noexcept { return digits_.split[form_index()] && (!in_parts() || panel_.block >= kNBitsGroup); }
  size_t unit() const noexcept { return std::min(panel_.block, kNBitsGroup); }
  size_t units_of_row() const noexcept { return groups_ * kNBitsGroup / unit(); }
  size_t row_of_digits() const noexcept { return groups_ * kNBitsGroup + 2 * units_of_row(); }
  /// For NBitsRows: for each row and group bytes in words, a step and a sum.
  size_t rows_of_bytes() const noexcept { return groups_ * kMostNBitsRows * (kNBitsGroup / 4 + 2); }
  NBitsRows bytes_of(float* rows, size_t row) const noexcept {
    float* const first = rows + row / kMostNBitsRows * rows_of_bytes();
    float* const steps = first + groups_ * kMostNBitsRows * (kNBitsGroup / 4);
    return {reinterpret_cast<const int32_t*>(first), steps,   steps + groups_ * kMostNBitsRows,
            std::min(kMostNBitsRows, m_ - row),      nullptr, 0};
  }
  size_t scale_bytes() const noexcept { return panel_.half_scales ? 2 : sizeof(float); }

  void pack_numbers(const uint8_t* b, uint32_t* out) const {
    const size_t lanes = kernels_.lanes, bits = static_cast<size_t>(form_.bits), words = groups_ * bits;
    const size_t bytes = own_blocks() * static_cast<size_t>(form_.bytes());  // of a row: less than its words, or more
    // In two's complement, less the middle: the highest bit of each number turns.
    uint32_t turned[kMostBits] = {};
    for (size_t i = bits - 1; i < kNBitsGroup * bits; i += bits) turned[i / 32] |= uint32_t{1} << i % 32;
    std::memset(out, 0, panels_ * words * lanes * sizeof(uint32_t));
    if (in_parts()) return pack_parts(b, bytes, out);
    for (size_t column = 0; column < n_; ++column) {
      const uint8_t *row = b + column * bytes, *const end = row + std::min(bytes, words * sizeof(uint32_t));
      uint32_t *to = out + column / lanes * words * lanes + column % lanes, word = 0;
      for (size_t i = 0; row != end; i = i + 1 < bits ? i + 1 : 0, to += lanes) {
        const size_t left = static_cast<size_t>(end - row), each = std::min(sizeof word, left);
        word = 0;
        std::memcpy(&word, row, each);
        *to = word ^ turned[i];
        row += each;
      }
    }
  }
  /// `bytes` of a row: blocks follow each other without a gap, because 16 numbers fill whole bytes.
  void pack_parts(const uint8_t* b, size_t bytes, uint32_t* out) const {
    const size_t lanes = kernels_.lanes, bits = static_cast<size_t>(form_.bits), of_group = bits * sizeof(uint32_t);
    const size_t low = static_cast<size_t>(low_bits(static_cast<int>(bits)));
    NBitsPlace places[2][kNBitsGroup];
    for (size_t i = 0; i < kNBitsGroup; ++i) places[0][i] = nbits_place(i, low, low), places[1][i] = nbits_place(i, low, bits - low);
    const unsigned turned = 1U << (bits - 1), mask = (1U << low) - 1;
    for (size_t column = 0; column < n_; ++column)
      for (size_t group = 0; group < groups_ && group * of_group < bytes; ++group) {
        uint8_t stream[kMostBits * sizeof(uint32_t) + 1] = {};
        std::memcpy(stream, b + column * bytes + group * of_group, std::min(of_group, bytes - group * of_group));
        uint32_t made[kMostBits] = {};
        for (size_t i = 0; i < kNBitsGroup; ++i) {
          const unsigned number = static_cast<unsigned>(form_.number(stream, i)) ^ turned;
          made[places[0][i].word] |= (number & mask) << places[0][i].bit;
          made[low + places[1][i].word] |= number >> low << places[1][i].bit;
        }
        uint32_t* const to = out + ((column / lanes * groups_ + group) * bits) * lanes + column % lanes;
        for (size_t i = 0; i < bits; ++i) to[i * lanes] = made[i];
      }
  }
  /// Calls put(place of the file's form, place of the packed form).
  template <class F>
  void for_blocks(F put) const {
    const size_t lanes = kernels_.lanes;
    for (size_t column = 0; column < n_; ++column)
      for (size_t block = 0; block < own_blocks(); ++block)
        put(column * own_blocks() + block, (column / lanes * blocks_ + block) * lanes + column % lanes);
  }
  void pack_scales(const TensorView& scales, void* out) const {
    std::memset(out, 0, panels_ * blocks_ * kernels_.lanes * scale_bytes());
    const Numbers<double> values = reals_of(scales);
    for_blocks([&](size_t from, size_t to) {
      const float scale = static_cast<float>(values[from]);
      if (panel_.half_scales)
        static_cast<uint16_t*>(out)[to] = f16_from_f32(scale);
      else
        static_cast<float*>(out)[to] = scale;
    });
  }
  void pack_zeros(const TensorView& zeros, void* out) const {
    std::memset(out, 0, panels_ * blocks_ * kernels_.lanes * zero_bytes_);
    if (zero_bytes_ == 1) {
      const uint8_t* packed = zeros.data<uint8_t>();
      return for_blocks([&](size_t from, size_t to) {
        const uint8_t* row = packed + from / own_blocks() * static_cast<size_t>(form_.zero_point_bytes());
        static_cast<uint8_t*>(out)[to] = static_cast<uint8_t>(form_.number(row, from % own_blocks()));
      });
    }
    const Numbers<double> values = reals_of(zeros);
    for_blocks([&](size_t from, size_t to) { static_cast<float*>(out)[to] = static_cast<float>(values[from] - form_.middle()); });
  }

  NBitsPanel panel(size_t index) const noexcept {
    const size_t places = index * blocks_ * kernels_.lanes;
    NBitsPanel panel = panel_;
    panel.words = static_cast<const uint32_t*>(words_.get()) + index * groups_ * static_cast<size_t>(form_.bits) * kernels_.lanes;
    panel.scales = static_cast<const char*>(scales_.get()) + places * scale_bytes();
    if (zero_bytes_ == 1) panel.bytes = static_cast<const uint8_t*>(zeros_.get()) + places;
    if (zero_bytes_ > 1) panel.zeros = static_cast<const float*>(zeros_.get()) + places;
    return panel;
  }

  static void make_panel(const void* from, size_t pair, size_t begin, size_t count, float* to) noexcept {
    const NBitsKernel& self = *static_cast<const NBitsKernel*>(from);
    constexpr size_t kPair = 2;
    const size_t first = pair * kPair, last = std::min(first + kPair, self.panels_), lanes = self.kernels_.lanes;
    for (size_t i = first; i < last; ++i)
      self.kernels_.nbits->unpack[self.form_index()](self.panel(i), begin, count, to + (i - first) * lanes, (last - first) * lanes);
  }

  NBitsDigits digits_of(float* rows, size_t row) const noexcept {
    float *digits = rows + row * row_of_digits(), *steps = digits + groups_ * kNBitsGroup;
    return {reinterpret_cast<int32_t*>(digits), steps, steps + units_of_row()};
  }

  /// A row with zeros up to whole groups.
  const float* pad_row(const float* a, size_t row, float* padded) const noexcept {
    const size_t stride = groups_ * kNBitsGroup;
    float* const to = padded + row * stride;
    std::memcpy(to, a + row * k_, k_ * sizeof(float));
    std::fill(to + k_, to + stride, 0.0F);
    return to;
  }

  /// The rows in whole numbers; null if they have to be multiplied as they are.
  float* split_rows(RunContext& context, const float* a, size_t stride) const noexcept {
    if (!splits() || many_) return nullptr;
    float* rows = context.scratch_at<float>(digits_offset_);
    for (size_t row = 0; row < m_; ++row)
      if (!digits_.split[form_index()](a + row * stride, groups_, unit(), one_byte_, digits_of(rows, row))) return nullptr;
    return rows;
  }

  /// Rows of bytes. False, and nothing is done, if one has to be multiplied as it is.
  bool multiply_many(RunContext& context, const float* a, const float* bias) const noexcept {
    float *const rows = context.scratch_at<float>(bytes_offset_), *const digits = context.scratch_at<float>(digits_offset_);
    float* const padded = copies() ? context.scratch_at<float>(a_offset_) : nullptr;
    constexpr size_t kWords = kNBitsGroup / 4;
    std::atomic<bool> whole = true;
    context.parallel_for(tasks_, [&](size_t task) {
      const NBitsDigits made = digits_of(digits, task);
      for (size_t row = share(m_, tasks_, task), last = share(m_, tasks_, task + 1); row < last; ++row) {
        const float* const from = padded ? pad_row(a, row, padded) : a + row * k_;
        if (!digits_.split[form_index()](from, groups_, kNBitsGroup, true, made)) whole.store(false, std::memory_order_relaxed);
        const size_t place = row % kMostNBitsRows;
        float* const to = rows + row / kMostNBitsRows * rows_of_bytes();
        float* const steps = to + groups_ * kMostNBitsRows * kWords;
        for (size_t group = 0; group < groups_; ++group) {
          const size_t at = group * kMostNBitsRows + place;
          for (size_t i = 0; i < kWords; ++i) std::memcpy(to + at * kWords + i, made.digits + (group * kWords + i) * 4, sizeof(int32_t));
          steps[at] = made.steps[group], steps[groups_ * kMostNBitsRows + at] = made.sums[group];
        }
      }
    });
    if (!whole.load(std::memory_order_relaxed)) return false;
    float* const y = context.out<float>(0);
    const size_t lanes = kernels_.lanes;
    context.parallel_for(tasks_, [&](size_t task) {
      Stop stop;
      for (size_t i = share(panels_, tasks_, task), last = share(panels_, tasks_, task + 1); i < last; ++i) {
        if (stop.after(m_ * k_)) return;
        const NBitsPanel columns = panel(i);
        const size_t first = i * lanes, count = std::min(lanes, n_ - first);
        for (size_t row = 0; row < m_; row += kMostNBitsRows) {
          float some[kMostNBitsRows * kMostLanes];
          NBitsRows each = bytes_of(rows, row);
          float* const to = y + row * n_ + first;
          each.y = count == lanes ? to : some, each.stride = count == lanes ? n_ : lanes;
          digits_.multiply_rows[form_index()](columns, each, groups_);
          for (size_t r = 0; r < each.count; ++r) {
            if (count != lanes) std::copy_n(some + r * lanes, count, to + r * n_);
            if (bias)
              for (size_t c = 0; c < count; ++c) to[r * n_ + c] += bias[first + c];
          }
        }
      }
    });
    return true;
  }

  void multiply_rows(RunContext& context, const float* a, const float* bias) const noexcept {
    size_t stride = k_;
    float* padded = nullptr;
    if (copies()) {
      padded = context.scratch_at<float>(a_offset_);
      stride = groups_ * kNBitsGroup;
      for (size_t row = 0; row < m_; ++row) pad_row(a, row, padded);
      a = padded;
    }
    float* const digits = split_rows(context, a, stride);
    const float* sums = nullptr;
    if (!digits && zero_bytes_) {
      float* of_blocks = context.scratch_at<float>(sums_offset_);
      for (size_t row = 0; row < m_; ++row)
        for (size_t block = 0; block < blocks_; ++block) {
          const size_t first = block * panel_.block;
          of_blocks[row * blocks_ + block] =
              kernels_.rows->reduce[static_cast<size_t>(Reduction::sum)](a + row * stride + first, std::min(panel_.block, stride - first));
        }
      sums = of_blocks;
    }
    float* y = context.out<float>(0);
    const auto multiply = (one_byte_ ? digits_.multiply_bytes : digits_.multiply_digits)[form_index()];
    context.parallel_for(tasks_, [&](size_t task) {
      Stop stop;
      const size_t lanes = kernels_.lanes, last = share(panels_, tasks_, task + 1);
      for (size_t i = share(panels_, tasks_, task); i < last; ++i) {
        if (stop.after(m_ * k_)) return;
        const NBitsPanel columns = panel(i);
        const size_t first = i * lanes, count = std::min(lanes, n_ - first);
        for (size_t row = 0; row < m_; ++row) {
          float some[kMostLanes], *const to = y + row * n_ + first, *const result = count == lanes ? to : some;
          const float* of_row = sums ? sums + row * blocks_ : nullptr;
          if (digits)
            multiply(columns, digits_of(digits, row), groups_, result);
          else
            kernels_.nbits->multiply[form_index()](columns, a + row * stride, of_row, groups_, result);
          if (result != to) std::copy_n(result, count, to);
          if (bias)
            for (size_t c = 0; c < count; ++c) to[c] += bias[first + c];
        }
      }
    });
  }

  const NBits form_;
  const Kernels& kernels_;
  const NBitsDigitKernels& digits_;
  const size_t k_, n_, m_, groups_, panels_, blocks_;  // blocks of whole groups: the last one may be empty
  const MatMul matmul_;                                // of more rows than a few
  NBitsPanel panel_{};                                 // less the places
  bool one_byte_ = false, many_ = false;               // A is rounded to 8 bits; more rows than a few of it
  size_t zero_bytes_ = 0, tasks_ = 1, a_offset_ = 0, digits_offset_ = 0, bytes_offset_ = 0, sums_offset_ = 0, bias_offset_ = 0;
  std::shared_ptr<const void> words_, scales_, zeros_;
  Units units_;
};

std::unique_ptr<Kernel> prepare(PrepareContext& context) { return std::make_unique<NBitsKernel>(context); }

constexpr Scheme kSchemes[] = {
    {"minnow.MatMulNBits", "matmul_nbits", estimate, prepare},
};

}  // namespace

std::span<const Scheme> nbits_schemes() { return selected<kSchemes>(); }

}  // namespace minnow::cpu
