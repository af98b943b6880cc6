// SPDX-License-Identifier: Apache-2.0
// Filters, derivatives, thresholds and morphology.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
