// SPDX-License-Identifier: Apache-2.0
// Pictures: files, colours, geometry. The library minnow_vision, which a build with MINNOW_VISION has and the Python package contains.
//
// A picture is an ImageView: [height, width, channels], or [height, width] where there is one channel, in memory of anyone's; a part of a
// picture is a view, too. Results are tensors, or fill memory of the caller's (Output). Colours come as blue, green, red. Names, constants
// and results are OpenCV's. Functions throw InvalidArgument for shapes and numbers that do not fit, Unsupported for dtypes, and
// OutOfMemory, and use all cores that the process may use.
#pragma once
#include <minnow/vision/arithmetic.h>
#include <minnow/vision/calibration.h>
#include <minnow/vision/codecs.h>
#include <minnow/vision/color.h>
#include <minnow/vision/detection.h>
#include <minnow/vision/drawing.h>
#include <minnow/vision/filters.h>
#include <minnow/vision/geometry.h>
#include <minnow/vision/model_input.h>
#include <minnow/vision/preprocess.h>
#include <minnow/vision/structure.h>
#include <minnow/vision/truetype.h>
