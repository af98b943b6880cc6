// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gmock/gmock.h>
#include <minnow/data.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/paths.h"
#include "support/sentence.h"

namespace minnow::data::test {

using minnow::test::sentence_of;

inline std::filesystem::path folder_of(const char* name) {
  const std::filesystem::path folder = minnow::test::scratch_dir() / "data" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}
inline std::string write(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}
template <class T>
std::vector<T> values(const Tensor& tensor) {
  return std::vector<T>(tensor.data<T>(), tensor.data<T>() + tensor.elements());
}
/// A number without a shape.
template <class T>
T scalar(const Tensor& tensor) {
  EXPECT_EQ(tensor.shape(), Shape());
  return tensor.data<T>()[0];
}
/// i64: 0, 1 ... n - 1, a sample each.
inline DatasetPtr numbers(int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  return tensors({Tensor::of_i64({n}, all)});
}

}  // namespace minnow::data::test
