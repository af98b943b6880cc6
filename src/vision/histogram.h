// SPDX-License-Identifier: Apache-2.0
// Histograms of bytes.
#pragma once
#include "vision/image.h"

namespace minnow::vision {

/// How often each value occurs among the elements of a picture of u8.
std::array<int64_t, 256> histogram_of_bytes(const ImageView& image);

}  // namespace minnow::vision
