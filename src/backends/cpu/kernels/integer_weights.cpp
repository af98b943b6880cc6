// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/integer_weights.h"

#include <algorithm>
#include <cstring>

namespace minnow::cpu {
namespace {

// A byte as a number less the offset of its output.
int32_t number(const ByteWeights& w, size_t at) { return w.data[at] ^ (w.is_signed ? 0x80 : 0); }
int32_t offset_of(const ByteWeights& w, size_t output) { return (w.zeros ? w.zeros[output] : w.zero) + (w.is_signed ? 0x80 : 0); }

// To: i8, or i16 for words. Some groups of an output at once: its terms lie close to each other, outputs may lie a power of two apart.
template <size_t kAtOnce, class To>
void pack_as(const ByteWeights& w, std::span<const size_t> terms, size_t first, size_t end, size_t lanes, uint8_t* out) {
  constexpr size_t kTerms = 64, kGroup = kAtOnce * sizeof(To);
  const size_t used = std::min(end - first, lanes);
  for (size_t begin = 0; begin < terms.size(); begin += kTerms) {
    const std::span<const size_t> some = terms.subspan(begin, std::min(kTerms, terms.size() - begin));
    if (w.output_step == 1 && !w.zeros) {  // outputs of a term are next to each other: no step from row to row for each number
      std::memset(out, 0, some.size() * sizeof(To) * lanes);
      const int32_t offset = offset_of(w, 0);
      for (size_t k = 0; k < some.size(); ++k) {
        if (some[k] == ByteWeights::kNoTerm) continue;
        To* const to = reinterpret_cast<To*>(out + k / kAtOnce * lanes * kGroup) + k % kAtOnce;
        const size_t from = first + some[k] * w.term_step;
        for (size_t lane = 0; lane < used; ++lane) to[lane * kAtOnce] = static_cast<To>(number(w, from + lane) - offset);
      }
      out += some.size() * sizeof(To) * lanes;
      continue;
    }
    for (size_t lane = 0; lane < lanes; ++lane) {
      uint8_t* to = out + lane * kGroup;
      const size_t from = (first + lane) * w.output_step;
      const int32_t offset = lane < used ? offset_of(w, first + lane) : 0;
      for (size_t k = 0; k < some.size(); k += kAtOnce, to += lanes * kGroup) {
        To values[kAtOnce] = {};
        for (size_t i = 0; i < kAtOnce; ++i)
          if (lane < used && some[k + i] != ByteWeights::kNoTerm)
            values[i] = static_cast<To>(number(w, from + some[k + i] * w.term_step) - offset);
        std::memcpy(to, values, sizeof values);  // little-endian, as every target is
      }
    }
    out += some.size() * sizeof(To) * lanes;
  }
}

}  // namespace

bool ByteWeights::fit_bytes() const noexcept {
  if (is_signed && !zeros && !zero) return true;
  for (size_t o = 0; o < outputs; ++o) {
    const int32_t offset = offset_of(*this, o);
    for (size_t k = 0; k < terms; ++k)
      if (const int32_t value = number(*this, o * output_step + k * term_step) - offset; value < -128 || value > 127) return false;
  }
  return true;
}

void ByteWeights::sum_terms(int32_t* sums) const noexcept {
  for (size_t o = 0; o < outputs; ++o) {
    const size_t from = o * output_step, step = term_step;
    int32_t sum = 0;
    if (step == 1)  // becomes vectors
      for (size_t k = 0; k < terms; ++k) sum += number(*this, from + k);
    else
      for (size_t k = 0; k < terms; ++k) sum += number(*this, from + k * step);
    sums[o] = sum - static_cast<int32_t>(terms) * offset_of(*this, o);
  }
}

void ByteWeights::pack(IntegerForm form, std::span<const size_t> list, size_t first, size_t end, size_t lanes,
                       uint8_t* out) const noexcept {
  if (form == IntegerForm::words) return pack_as<channels_at_once(IntegerForm::words), int16_t>(*this, list, first, end, lanes, out);
  if (!kHasAmx && form == IntegerForm::matrices)  // of ARM
    return pack_as<channels_at_once(IntegerForm::matrices), int8_t>(*this, list, first, end, lanes, out);
  pack_as<channels_at_once(IntegerForm::bytes), int8_t>(*this, list, first, end, lanes, out);
}

}  // namespace minnow::cpu
