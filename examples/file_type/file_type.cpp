// SPDX-License-Identifier: Apache-2.0
// What kind of file is it? file_type MODEL CONFIG FILE...
// The model is Magika's (package magika, magika/models/standard_v3_3/model.onnx): it looks at the first and the last kilobyte. CONFIG,
// config.min.json beside it, names its classes.
#include <minnow/convert.h>
#include <minnow/minnow.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

namespace {

constexpr size_t kSize = 1024, kBlock = 4096;
constexpr int32_t kPadding = 256;

bool is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<int32_t> tokens(const std::vector<unsigned char>& file) {
  const size_t block = std::min(kBlock, file.size());
  const auto begin = std::find_if_not(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(block), is_space);
  const auto end = std::find_if_not(file.rbegin(), file.rbegin() + static_cast<std::ptrdiff_t>(block), is_space);
  std::vector<int32_t> made(2 * kSize, kPadding);
  const auto first = static_cast<size_t>(file.begin() + static_cast<std::ptrdiff_t>(block) - begin);
  const auto last = static_cast<size_t>(file.rbegin() + static_cast<std::ptrdiff_t>(block) - end);
  std::copy_n(begin, std::min(kSize, first), made.begin());
  std::copy_n(end, std::min(kSize, last), made.rbegin());
  return made;
}

/// The texts of the list behind "target_labels_space".
std::vector<std::string> read_labels(const char* path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t key = text.find("\"target_labels_space\""), open = text.find('[', key), close = text.find(']', open);
  if (key == text.npos || close == text.npos) throw minnow::Error(minnow::ErrorKind::invalid_argument, std::string(path) + ": no labels");
  std::vector<std::string> labels;
  for (size_t at = text.find('"', open); at < close; at = text.find('"', at)) {
    const size_t end = text.find('"', at + 1);
    labels.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return labels;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) return std::fputs("usage: file_type MODEL CONFIG FILE...\n", stderr), 2;
  const minnow::Model model = minnow::convert(argv[1]);
  const std::vector<std::string> labels = read_labels(argv[2]);
  minnow::Session session(model);
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file), {}};
    const std::vector<int32_t> input = tokens(bytes);
    const minnow::Tensor scores = session.run({{minnow::DType::i32, {1, 2 * kSize}, input.data()}})[0];
    const float* first = scores.data<float>();
    const float* best = std::max_element(first, first + scores.elements());
    std::printf("%s: %s (%.0f%%)\n", argv[i], labels.at(static_cast<size_t>(best - first)).c_str(), 100.0 * static_cast<double>(*best));
  }
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
