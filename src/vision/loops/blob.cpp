// SPDX-License-Identifier: Apache-2.0
#include "vision/loops/blob.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vision/loops/blob.cpp"
#define MINNOW_UP_TO_AVX2
#include "vision/targets.h"  // before foreach_target.h

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace minnow::vision::HWY_NAMESPACE {
#if MINNOW_KERNEL_TARGET
namespace hn = hwy::HWY_NAMESPACE;

void three(const uint8_t* pixels, int64_t n, float* const* planes, const float* mean, float scale) {
  const hn::ScalableTag<uint8_t> bytes;
  const hn::ScalableTag<float> floats;
  const hn::Rebind<int32_t, decltype(floats)> integers;
  const hn::Rebind<uint8_t, decltype(floats)> few;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(bytes)), wide = static_cast<int64_t>(hn::Lanes(floats));
  const auto factor = hn::Set(floats, scale);
  HWY_ALIGN uint8_t parts[3][256];
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::Vec<decltype(bytes)> a, b, c;
    hn::LoadInterleaved3(bytes, pixels + 3 * i, a, b, c);
    hn::StoreU(a, bytes, parts[0]);
    hn::StoreU(b, bytes, parts[1]);
    hn::StoreU(c, bytes, parts[2]);
    for (int k = 0; k < 3; ++k) {
      const auto less = hn::Set(floats, mean[k]);
      for (int64_t j = 0; j < lanes; j += wide) {
        const auto value = hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(few, parts[k] + j)));
        hn::StoreU(hn::Mul(hn::Sub(value, less), factor), floats, planes[k] + i + j);
      }
    }
  }
  for (; i < n; ++i)
    for (int k = 0; k < 3; ++k) planes[k][i] = (static_cast<float>(pixels[3 * i + k]) - mean[k]) * scale;
}

extern const BlobLoops kBlobLoops;
const BlobLoops kBlobLoops{three};
#endif
}  // namespace minnow::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#define MINNOW_LOOPS kBlobLoops
const minnow::vision::BlobLoops& minnow::vision::blob_loops() {
  static const BlobLoops& loops = choose_loops<BlobLoops>({MINNOW_EACH_TARGET(MINNOW_LOOPS_ROW)});
  return loops;
}
#endif
