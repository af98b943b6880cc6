// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "vision/points/points.h"

namespace minnow::vision {

/// At least `least` points, as floats. Throws InvalidArgument for fewer, or where one is infinite or NaN.
std::vector<Point2f> finite_points(std::string_view function, const TensorView& array, int64_t least);

}  // namespace minnow::vision
