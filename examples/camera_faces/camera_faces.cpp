// SPDX-License-Identifier: Apache-2.0
// Draws faces into a camera's frame: camera_faces face_detection_short_range.tflite FRAME.nv21 WIDTH HEIGHT OUT.png
// FRAME.nv21 has the bytes of an NV21 frame, as Android's cameras give it. BlazeFace, of the package mediapipe
// (mediapipe/modules/face_detection), looks at 896 places: two on each of 16 x 16, six on each of 8 x 8. Each has a box and six points:
// eyes, nose, mouth and ears.
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <minnow/vision.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace vision = minnow::vision;
using minnow::DType;
using minnow::Tensor;

namespace {

constexpr int64_t kPlaces = 896, kSide = 128, kPoints = 6;

Tensor floats(const minnow::Shape& shape, const std::vector<float>& values) { return Tensor::of_f32(shape, values); }

/// The rows of a tensor [n, ...] with these numbers.
Tensor rows_of(const Tensor& tensor, const std::vector<int>& rows, const minnow::Shape& shape) {
  const int64_t length = tensor.elements() / tensor.shape()[0];
  std::vector<float> values;
  for (const int row : rows) values.insert(values.end(), tensor.data<float>() + row * length, tensor.data<float>() + (row + 1) * length);
  return floats(shape, values);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) return std::fputs("usage: camera_faces MODEL FRAME.nv21 WIDTH HEIGHT OUT.png\n", stderr), 2;
  minnow::Session session(minnow::convert(argv[1]));
  const int64_t width = std::atoi(argv[3]), height = std::atoi(argv[4]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (width <= 0 || height <= 0 || static_cast<int64_t>(bytes.size()) != width * height * 3 / 2)
    return std::fprintf(stderr, "%s: is no NV21 frame of %s x %s pixels\n", argv[2], argv[3], argv[4]), 1;
  const vision::ImageView frame(DType::u8, height * 3 / 2, width, 1, bytes.data(), width);

  // The frame becomes the network's input: all of it, in the middle of 128 x 128 pixels, from -1 to 1.
  const auto [picture, where] =
      vision::letterbox(vision::convert_color(frame, vision::ColorCode::yuv_to_rgb_nv21), {kSide, kSide}, {0, 0, 0, 0});
  vision::PreprocessOptions options;
  options.source = options.target = vision::PixelFormat::rgb;
  options.layout = vision::TensorLayout::nhwc;
  options.mean.fill(127.5), options.scale.fill(1 / 127.5);
  const std::vector<Tensor> outputs = session.run({vision::preprocess(picture, options)});
  const float *raw = outputs[0].data<float>(), *weights = outputs[1].data<float>();  // [1, 896, 16], [1, 896, 1]

  std::vector<float> boxes, points, scores;
  int64_t place = 0;
  for (const auto& [cell, each] : {std::pair{8, 2}, {16, 6}}) {
    const Tensor middles = vision::grid_points({kSide, kSide}, {cell}).first;
    for (int64_t i = 0; i < middles.shape()[0] * each; ++i, ++place) {
      const float *found = raw + place * (4 + 2 * kPoints), x = middles.data<float>()[i / each * 2],
                  y = middles.data<float>()[i / each * 2 + 1];
      const float left = x + found[0] - found[2] / 2, top = y + found[1] - found[3] / 2;
      boxes.insert(boxes.end(), {left, top, left + found[2], top + found[3]});
      for (int64_t k = 0; k < kPoints; ++k) points.insert(points.end(), {x + found[4 + 2 * k], y + found[5 + 2 * k]});
      scores.push_back(1 / (1 + std::exp(-weights[place])));
    }
  }

  const Tensor all = floats({kPlaces, 4}, boxes), likely = floats({kPlaces}, scores);
  const std::vector<int> kept = vision::nms(all, likely, 0.3f, 0.6f);
  const auto count = static_cast<int64_t>(kept.size());
  const Tensor faces = vision::out_of_letterbox(rows_of(all, kept, {count, 4}), where);
  const Tensor parts = vision::out_of_letterbox(rows_of(floats({kPlaces, kPoints, 2}, points), kept, {count, kPoints, 2}), where);
  Tensor drawn = vision::convert_color(frame, vision::ColorCode::yuv_to_bgr_nv21);
  vision::draw_detections(drawn.writable(), faces, {}, std::vector<std::string>(kept.size(), "face"), rows_of(likely, kept, {count}),
                          parts);
  vision::write_image(argv[5], drawn);
  for (int64_t i = 0; i < count; ++i) {
    const float* box = faces.data<float>() + 4 * i;
    std::printf("face: %.0f %.0f %.0f %.0f\n", static_cast<double>(box[0]), static_cast<double>(box[1]), static_cast<double>(box[2]),
                static_cast<double>(box[3]));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
