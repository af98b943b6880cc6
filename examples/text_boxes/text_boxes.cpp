// SPDX-License-Identifier: Apache-2.0
// Draws where lines of text are: text_boxes ppocr_v4_det.onnx PICTURE OUT.png
//                                text_boxes ppocr_v4_det.onnx FRAME.nv21 WIDTH HEIGHT OUT.png
// The network, the detector of PP-OCRv4, gives how likely each pixel is text. A camera's frame becomes its input in one pass.
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace vision = minnow::vision;

int main(int argc, char** argv) try {
  if (argc != 4 && argc != 6) return std::fputs("usage: text_boxes MODEL (PICTURE | FRAME.nv21 WIDTH HEIGHT) OUT.png\n", stderr), 2;
  minnow::Session session(minnow::convert(argv[1]));
  minnow::Tensor picture, drawn;
  vision::PreprocessOptions options;
  if (argc == 6) {
    const int64_t width = std::atoi(argv[3]), height = std::atoi(argv[4]);
    std::ifstream file(argv[2], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    if (width <= 0 || height <= 0 || static_cast<int64_t>(bytes.size()) != width * height * 3 / 2)
      return std::fprintf(stderr, "%s: is no NV21 frame of %s x %s pixels\n", argv[2], argv[3], argv[4]), 1;
    picture = minnow::Tensor(minnow::TensorView(minnow::DType::u8, {height * 3 / 2, width}, bytes.data()));
    drawn = vision::convert_color(picture, vision::ColorCode::yuv_to_bgr_nv21);
    options.source = vision::PixelFormat::nv21;
  } else {
    picture = vision::read_image(argv[2]);
    drawn = picture.clone();
  }

  const auto height = static_cast<double>(drawn.shape()[0]), width = static_cast<double>(drawn.shape()[1]);
  const double larger = std::max(1.0, 736 / std::min(width, height));  // small letters are seen when they have more pixels
  const auto side = [&](double length) { return static_cast<int>(std::lround(length * larger / 32)) * 32; };  // halved five times
  options.size = {side(width), side(height)};
  options.target = vision::PixelFormat::bgr;
  options.mean = {123.7, 116.3, 103.5, 0};
  options.scale = {1 / (255 * 0.229), 1 / (255 * 0.224), 1 / (255 * 0.225), 1};
  const minnow::Tensor likely = session.run({vision::preprocess(picture, options)})[0].reshaped({options.size.height, options.size.width});

  const minnow::Tensor boxes = vision::db_boxes(likely).first;  // [n, 4, 2]
  std::vector<vision::Polygon> corners(static_cast<size_t>(boxes.shape()[0]));
  for (size_t i = 0; i < corners.size() * 4; ++i)
    corners[i / 4].push_back({static_cast<int>(std::lround(boxes.data<float>()[2 * i] * width / options.size.width)),
                              static_cast<int>(std::lround(boxes.data<float>()[2 * i + 1] * height / options.size.height))});
  vision::polylines(drawn.writable(), corners, true, {0, 0, 255, 0}, 2, vision::LineType::antialiased);
  vision::write_image(argv[argc - 1], drawn);
  std::printf("%zu lines of text\n", corners.size());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
