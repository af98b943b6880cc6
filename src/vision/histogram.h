// SPDX-License-Identifier: Apache-2.0
// Histograms of bytes.
#pragma once
#include "vision/image.h"

namespace minnow::vision {

/// How often each value occurs in a channel of a picture of u8, where the mask, if there is one, is not 0.
std::array<int64_t, 256> histogram_of_bytes(const ImageView& image, int64_t channel = 0, const ImageView& mask = {});

}  // namespace minnow::vision
