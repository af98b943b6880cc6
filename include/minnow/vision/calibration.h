// SPDX-License-Identifier: Apache-2.0
// Cameras, homographies and other geometry of points.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
