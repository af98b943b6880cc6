// SPDX-License-Identifier: Apache-2.0
// Helpers for detectors: blobs, letterboxes, suppression, decoding.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {}  // namespace minnow::vision
