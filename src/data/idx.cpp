// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST: two zeros, a code for the dtype, the rank, dimensions and elements, all big-endian.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/dataset.h"

namespace minnow::data {
namespace {

DType dtype_of(unsigned code) {
  switch (code) {
    case 8:
      return DType::u8;
    case 9:
      return DType::i8;
    case 11:
      return DType::i16;
    case 12:
      return DType::i32;
    case 13:
      return DType::f32;
    case 14:
      return DType::f64;
    default:
      return DType::undefined;
  }
}

DatasetPtr mnist_files(const std::string& root, bool train, std::span<const std::string_view> folders, std::vector<std::string> classes) {
  const auto find = [&](const char* kind) {
    const std::string name = std::string(train ? "train" : "t10k") + "-" + kind + "-ubyte", names[] = {name, name + ".gz"};
    return file_in(root, folders, names);
  };
  const std::string pictures_path = find("images-idx3"), labels_path = find("labels-idx1");
  const Tensor pictures = read_idx(pictures_path), stored = read_idx(labels_path);
  if (pictures.dtype() != DType::u8 || pictures.shape().rank() != 3 || stored.dtype() != DType::u8 || stored.shape().rank() != 1 ||
      pictures.shape()[0] != stored.shape()[0])
    throw InvalidModel("{}: pictures {} {} do not go with labels {} {}", pictures_path, pictures.dtype(), pictures.shape(), stored.dtype(),
                       stored.shape());
  Tensor labels(DType::i64, stored.shape());
  std::copy_n(stored.data<uint8_t>(), stored.elements(), labels.writable().data<int64_t>());
  check_labels(labels_path, labels, classes.size());
  return tensors({pictures, labels}, std::move(classes));
}

}  // namespace

Tensor read_idx(const std::string& path) try {
  const std::vector<std::byte> bytes = unpacked_file(path);
  const auto at = [&](size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const DType dtype = bytes.size() < 4 || at(0) || at(1) ? DType::undefined : dtype_of(at(2));
  const size_t rank = dtype == DType::undefined ? 0 : at(3), begin = 4 + 4 * rank;
  if (!rank || rank > 8 || bytes.size() < begin) throw InvalidModel("{}: this is no IDX file", path);
  Shape shape;
  double count = static_cast<double>(size_of(dtype));
  for (size_t i = 4; i < begin; i += 4) {
    shape.push_back(int64_t{at(i)} << 24 | int64_t{at(i + 1)} << 16 | int64_t{at(i + 2)} << 8 | int64_t{at(i + 3)});
    count *= static_cast<double>(shape.back());
  }
  if (count != static_cast<double>(bytes.size() - begin))
    throw InvalidModel("{}: the header says {} {}, the file has {} bytes of elements", path, dtype, shape, bytes.size() - begin);
  Tensor tensor(dtype, shape);
  std::byte* to = static_cast<std::byte*>(tensor.writable().data());
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), to);
  if (const size_t size = size_of(dtype); size > 1)
    for (int64_t i = 0; i < tensor.elements(); ++i, to += size) std::reverse(to, to + size);
  return tensor;
} catch (...) {
  throw_as_error();
}

DatasetPtr mnist(const std::string& root, bool train) try {
  constexpr std::string_view kFolders[] = {"", "MNIST/raw"};
  return mnist_files(root, train, kFolders, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
} catch (...) {
  throw_as_error();
}

DatasetPtr fashion_mnist(const std::string& root, bool train) try {
  constexpr std::string_view kFolders[] = {"", "FashionMNIST/raw"};
  return mnist_files(root, train, kFolders,
                     {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"});
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data
