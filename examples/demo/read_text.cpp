// SPDX-License-Identifier: Apache-2.0
// Reads the text of a picture: one network finds the lines, a second one reads each of them.
//   read_text DETECTOR.minnow RECOGNIZER.minnow PICTURE [TEXT.txt: what the picture says, to show beside]
#include <minnow/minnow.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "picture.h"

namespace {

using minnow::DType;
using minnow::TensorView;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Box {
  double left, top, right, bottom;
};

// Lines of text: connected regions of the map of text probability, grown by what the network shrinks them (Liao et al. 2019,
// arXiv:1911.08947).
std::vector<Box> find_lines(minnow::Session& detector, const Picture& picture, double& seconds) {
  const double scale = std::max(1.0, 736.0 / std::min(picture.width, picture.height));
  const auto side = [&](int length) { return std::max(32, static_cast<int>(length * scale / 32 + 0.5) * 32); };
  const int width = std::min(side(picture.width), 2048), height = std::min(side(picture.height), 2048);
  const std::vector<float> pixels = planar_bgr(picture, 0, 0, picture.width, picture.height, width, height);
  const double start = now();
  const minnow::Tensor map = detector.run({TensorView(DType::f32, {1, 3, height, width}, pixels.data())})[0];
  seconds = now() - start;
  const float* probability = map.data<float>();
  std::vector<char> seen(static_cast<size_t>(width) * static_cast<size_t>(height));
  std::vector<Box> boxes;
  std::vector<int> stack;
  for (int first = 0; first < width * height; ++first) {
    if (seen[static_cast<size_t>(first)] || probability[first] < 0.3f) continue;
    int left = width, right = 0, top = height, bottom = 0, count = 0;
    float strongest = 0;
    stack.assign(1, first);
    seen[static_cast<size_t>(first)] = 1;
    while (!stack.empty()) {
      const int at = stack.back(), x = at % width, y = at / width;
      stack.pop_back();
      ++count;
      strongest = std::max(strongest, probability[at]);
      left = std::min(left, x), right = std::max(right, x + 1), top = std::min(top, y), bottom = std::max(bottom, y + 1);
      const auto visit = [&](int next) {
        if (!seen[static_cast<size_t>(next)] && probability[next] >= 0.3f) seen[static_cast<size_t>(next)] = 1, stack.push_back(next);
      };
      if (x > 0) visit(at - 1);
      if (x + 1 < width) visit(at + 1);
      if (y > 0) visit(at - width);
      if (y + 1 < height) visit(at + width);
    }
    if (strongest < 0.6f || bottom - top < 4 || count < 40) continue;
    const double grow = 0.75 * (right - left) * (bottom - top) / ((right - left) + (bottom - top));
    const double fx = double(picture.width) / width, fy = double(picture.height) / height;
    boxes.push_back({std::max(0.0, (left - grow) * fx), std::max(0.0, (top - grow) * fy),
                     std::min(double(picture.width), (right + grow) * fx), std::min(double(picture.height), (bottom + grow) * fy)});
  }
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
    const bool same_line = std::min(a.bottom, b.bottom) - std::max(a.top, b.top) > 0.5 * std::min(a.bottom - a.top, b.bottom - b.top);
    return same_line ? a.left < b.left : a.top < b.top;
  });
  return boxes;
}

// Class 0 means "nothing new here"; a class that repeats without it in between is one letter (connectionist temporal classification).
std::string read_line(minnow::Session& recognizer, const std::vector<std::string>& letters, const Picture& picture, const Box& box,
                      double& seconds) {
  const int width = std::max(32, static_cast<int>(48 * (box.right - box.left) / (box.bottom - box.top) + 0.5));
  const std::vector<float> pixels = planar_bgr(picture, box.left, box.top, box.right, box.bottom, width, 48);
  const double start = now();
  const minnow::Tensor scores = recognizer.run({TensorView(DType::f32, {1, 3, 48, width}, pixels.data())})[0];
  seconds = now() - start;
  const int64_t steps = scores.shape()[1], classes = scores.shape()[2];
  std::string text;
  int64_t last = 0;
  for (int64_t t = 0; t < steps; ++t) {
    const float* row = scores.data<float>() + t * classes;
    const int64_t best = std::max_element(row, row + classes) - row;
    if (best != 0 && best != last) text += static_cast<size_t>(best) <= letters.size() ? letters[static_cast<size_t>(best - 1)] : " ";
    last = best;
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: read_text DETECTOR RECOGNIZER PICTURE [TEXT]\n"), 2;
  try {
    const double start = now();
    const minnow::Model detector_model = minnow::Model::load(argv[1]), recognizer_model = minnow::Model::load(argv[2]);
    minnow::Session detector(detector_model), recognizer(recognizer_model);
    std::vector<std::string> letters;
    std::istringstream dictionary(recognizer_model.properties().at("character"));
    for (std::string letter; std::getline(dictionary, letter);) letters.push_back(letter);
    const Picture picture = read_picture(argv[3]);
    std::vector<std::string> expected;
    if (argc > 4) {
      std::ifstream file(argv[4]);
      for (std::string line; std::getline(file, line);) expected.push_back(line);
    }
    const double loaded = now();
    double detect = 0, recognize = 0;
    const std::vector<Box> lines = find_lines(detector, picture, detect);
    std::printf("%s, %d x %d pixels: %zu lines of text\n\n", argv[3], picture.width, picture.height, lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      double seconds = 0;
      const std::string text = read_line(recognizer, letters, picture, lines[i], seconds);
      recognize += seconds;
      if (i < expected.size()) std::printf("  printed: %s\n", expected[i].c_str());
      std::printf("  read:    %s   (%.1f ms)\n", text.c_str(), seconds * 1e3);
    }
    std::printf(
        "\nloading %.1f ms, finding the lines %.1f ms, reading them %.1f ms (first runs: planning and packing of weights are in it)\n",
        (loaded - start) * 1e3, detect * 1e3, recognize * 1e3);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "read_text: %s\n", error.what());
    return 1;
  }
}
