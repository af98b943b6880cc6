// SPDX-License-Identifier: Apache-2.0
// libFuzzer: any bytes give a picture or an error.
#include <minnow/vision.h>

#include <cstdlib>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using minnow::vision::ReadMode;
  for (const ReadMode mode : {ReadMode::unchanged, ReadMode::grayscale, ReadMode::color, ReadMode::any_depth | ReadMode::any_color,
                              ReadMode::reduced_color_4, ReadMode::color_rgb}) {
    try {
      minnow::vision::decode_image(std::as_bytes(std::span(data, size)), mode);
    } catch (const minnow::Error& error) {
      if (error.kind() == minnow::ErrorKind::internal) std::abort();  // a broken promise of ours
    }
  }
  return 0;
}
