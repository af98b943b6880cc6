// SPDX-License-Identifier: Apache-2.0
#include <minnow/vision.h>

#include <cstdio>

int main() {
  using namespace minnow;
  const std::byte pixels[12] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{40}};
  const Tensor image(TensorView(DType::u8, {2, 2, 3}, pixels));
  for (const char* suffix : {".png", ".bmp", ".ppm", ".webp", ".jpg"}) {
    const Tensor read = vision::decode_image(vision::encode_image(suffix, image));
    std::printf("%s %d %d\n", suffix, static_cast<int>(read.shape()[0]), static_cast<int>(read.data<uint8_t>()[3]));
    if (read.shape() != image.shape()) return 1;
  }
  return vision::resize(image, {4, 4}).shape()[0] == 4 ? 0 : 1;
}
