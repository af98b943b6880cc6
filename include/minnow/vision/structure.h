// SPDX-License-Identifier: Apache-2.0
// Contours, shapes, lines, components, features and matching.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
