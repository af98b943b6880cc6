// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/preprocess.h"

#include <algorithm>
#include <cmath>

#include "vision/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/preprocess.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace {

// All rows have room for whole vectors.
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::RebindToSigned<F>;
using U = hn::RebindToUnsigned<F>;
using V = hn::Vec<F>;

HWY_INLINE V of(float x) { return hn::Set(F(), x); }
HWY_INLINE V whole(V x) { return hn::Round(hn::Min(hn::Max(x, hn::Zero(F())), of(255.0f))); }

template <int kByte>
void blend_byte(const uint32_t* const* corners, const float* across, const float* down, float* out, size_t n) {
  const U words;
  const auto byte = [&](const uint32_t* from) HWY_ATTR {
    const auto shifted = kByte == 0 ? hn::Load(words, from) : hn::ShiftRight<8 * kByte>(hn::Load(words, from));
    return hn::ConvertTo(F(), hn::BitCast(I(), hn::And(shifted, hn::Set(words, 255u))));
  };
  for (size_t i = 0; i < n; i += hn::Lanes(F())) {
    V value = byte(corners[0] + i);
    if (across) {
      const V x = hn::Load(F(), across + i), y = hn::Load(F(), down + i);
      const V upper = hn::MulAdd(hn::Sub(byte(corners[1] + i), value), x, value);
      const V left = byte(corners[2] + i), lower = hn::MulAdd(hn::Sub(byte(corners[3] + i), left), x, left);
      value = hn::Floor(hn::Add(hn::MulAdd(hn::Sub(lower, upper), y, upper), of(0.5f)));
    }
    hn::Store(value, F(), out + i);
  }
}
void blend(const uint32_t* const* corners, const float* across, const float* down, int channels, float* const* planes, size_t n) {
  blend_byte<0>(corners, across, down, planes[0], n);
  if (channels == 1) return;
  blend_byte<1>(corners, across, down, planes[1], n);
  blend_byte<2>(corners, across, down, planes[2], n);
  if (channels == 4) blend_byte<3>(corners, across, down, planes[3], n);
}

struct Color {
  V b, g, r;
};
/// ITU-R BT.601, video range.
HWY_INLINE Color color_of(const uint32_t* from) {
  const U words;
  const auto word = hn::Load(words, from);
  const auto mask = hn::Set(words, 255u);
  const auto byte = [&](hn::Vec<U> x) HWY_ATTR { return hn::ConvertTo(F(), hn::BitCast(I(), hn::And(x, mask))); };
  const V luma = hn::Mul(hn::Max(hn::Sub(byte(word), of(16.0f)), hn::Zero(F())), of(1.16400004f));
  const V u = hn::Sub(byte(hn::ShiftRight<8>(word)), of(128.0f)), v = hn::Sub(byte(hn::ShiftRight<16>(word)), of(128.0f));
  return {whole(hn::MulAdd(u, of(2.018f), luma)), whole(hn::MulAdd(u, of(-0.391f), hn::MulAdd(v, of(-0.813f), luma))),
          whole(hn::MulAdd(v, of(1.596f), luma))};
}
void blend_yuv(const uint32_t* const* corners, const float* across, const float* down, float* const* planes, size_t n) {
  for (size_t i = 0; i < n; i += hn::Lanes(F())) {
    Color made = color_of(corners[0] + i);
    if (across) {
      const V x = hn::Load(F(), across + i), y = hn::Load(F(), down + i);
      const Color right = color_of(corners[1] + i), below = color_of(corners[2] + i), last = color_of(corners[3] + i);
      const auto blended = [&](V p, V q, V s, V t) HWY_ATTR {
        const V upper = hn::MulAdd(hn::Sub(q, p), x, p), lower = hn::MulAdd(hn::Sub(t, s), x, s);
        return hn::Floor(hn::Add(hn::MulAdd(hn::Sub(lower, upper), y, upper), of(0.5f)));
      };
      made = {blended(made.b, right.b, below.b, last.b), blended(made.g, right.g, below.g, last.g),
              blended(made.r, right.r, below.r, last.r)};
    }
    hn::Store(made.b, F(), planes[0] + i), hn::Store(made.g, F(), planes[1] + i), hn::Store(made.r, F(), planes[2] + i);
  }
}

void to_gray(const float* blue, const float* green, const float* red, float* gray, size_t n) {
  const F d;
  for (size_t i = 0; i < n; i += hn::Lanes(d))
    hn::Store(hn::Round(hn::MulAdd(hn::Load(d, red + i), of(0.299f),
                                   hn::MulAdd(hn::Load(d, green + i), of(0.587f), hn::Mul(hn::Load(d, blue + i), of(0.114f))))),
              d, gray + i);
}

void pad(float* HWY_RESTRICT plane, const uint8_t* HWY_RESTRICT outside, float padding, size_t n) {
  for (size_t i = 0; i < n; ++i) plane[i] = outside[i] ? padding : plane[i];
}

void finish(const float* HWY_RESTRICT plane, double mean, float scale, float* HWY_RESTRICT out, size_t n) {
  // Next to the mean, its rounding to f32 would be most of the result: the first difference is exact for bytes.
  const float most = static_cast<float>(std::nearbyint(mean * 256) / 256), rest = static_cast<float>(mean - static_cast<double>(most));
  for (size_t i = 0; i < n; ++i) out[i] = ((plane[i] - most) - rest) * scale;
}

}  // namespace

extern const PreprocessLoops kPreprocessLoops;
const PreprocessLoops kPreprocessLoops{blend, blend_yuv, to_gray, pad, finish};

#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kPreprocessLoops
const minnow::vision::PreprocessLoops& minnow::vision::preprocess_loops() {
  static const PreprocessLoops& loops = choose_loops<PreprocessLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
