// SPDX-License-Identifier: Apache-2.0
// Lines, shapes and text drawn into pictures.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
