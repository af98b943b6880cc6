// SPDX-License-Identifier: Apache-2.0
// Arithmetic on pictures, and measures of their elements.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
