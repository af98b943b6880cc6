// SPDX-License-Identifier: Apache-2.0
// The binary form of CIFAR: records of one or two labels and 3 x 32 x 32 bytes, red, green, blue.
#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/no_memory.h"
#include "data/dataset.h"

namespace minnow::data {
namespace {

constexpr int64_t kSide = 32, kPlane = kSide * kSide;

DatasetPtr cifar_files(const std::string& root, std::string_view folder, std::span<const std::string> files, int64_t labels,
                       std::vector<std::string> classes) {
  const std::string_view folders[] = {"", folder};
  const int64_t record = labels + 3 * kPlane;
  std::vector<std::byte> all;
  for (const std::string& file : files) {
    const std::string name = file + ".bin", path = file_in(root, folders, {&name, 1});
    const std::vector<std::byte> bytes = unpacked_file(path);
    if (bytes.empty() || static_cast<int64_t>(bytes.size()) % record)
      throw InvalidModel("{}: a file of CIFAR has records of {} bytes, this one {} bytes", path, record, bytes.size());
    const int64_t count = static_cast<int64_t>(bytes.size()) / record;
    for (int64_t i = 0; i < count; ++i)
      if (const auto label = std::to_integer<size_t>(bytes[static_cast<size_t>(i * record + labels - 1)]); label >= classes.size())
        throw InvalidModel("{}: sample {} has the label {}; there are {} classes, from 0", path, i, label, classes.size());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  const int64_t count = static_cast<int64_t>(all.size()) / record;
  Tensor pictures(DType::u8, {count, kSide, kSide, 3}), targets(DType::i64, {count});
  std::byte* to = static_cast<std::byte*>(pictures.writable().data());
  int64_t* target = targets.writable().data<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* from = all.data() + i * record + labels;
    target[i] = std::to_integer<int64_t>(from[-1]);
    for (int64_t pixel = 0; pixel < kPlane; ++pixel)
      for (int64_t channel = 0; channel < 3; ++channel) *to++ = from[channel * kPlane + pixel];
  }
  return tensors({pictures, targets}, std::move(classes));
}

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

}  // namespace

DatasetPtr cifar10(const std::string& root, bool train) try {
  std::vector<std::string> files{"test_batch"};
  if (train) files = words("data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5");
  return cifar_files(root, "cifar-10-batches-bin", files, 1, words("airplane automobile bird cat deer dog frog horse ship truck"));
} catch (...) {
  throw_as_error();
}

DatasetPtr cifar100(const std::string& root, bool train) try {
  const std::string file = train ? "train" : "test";
  return cifar_files(
      root, "cifar-100-binary", {&file, 1}, 2,
      words(
          "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle caterpillar "
          "cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant flatfish forest fox girl "
          "hamster "
          "house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree "
          "orange orchid otter palm_tree pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket "
          "rose "
          "sea seal shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone "
          "television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm"));
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data
