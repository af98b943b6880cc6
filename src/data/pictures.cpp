// SPDX-License-Identifier: Apache-2.0
// Picture files as samples. MINNOW_PICTURES: builds with Minnow::vision.
#include "data/pictures.h"

#if MINNOW_PICTURES
#include <minnow/vision/codecs.h>
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "data/dataset.h"

namespace minnow::data {
namespace {

#if MINNOW_PICTURES
class PictureFiles : public Dataset {
 public:
  PictureFiles(std::vector<std::string> paths, Tensor targets, std::vector<std::string> classes, bool gray)
      : paths_(std::move(paths)), targets_(std::move(targets)), classes_(std::move(classes)), gray_(gray) {}
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  Sample get(int64_t index, Random&) const override {
    check_index(index, size());
    const std::string& path = paths_[static_cast<size_t>(index)];
    Tensor picture = vision::read_image(path, gray_ ? vision::ReadMode::grayscale : vision::ReadMode::color_rgb);
    if (gray_) picture = picture.reshaped({picture.shape()[0], picture.shape()[1], 1});
    return {std::move(picture), row_of(targets_, index)};
  }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  std::vector<std::string> paths_;
  Tensor targets_;
  std::vector<std::string> classes_;
  bool gray_;
};
#endif

bool is_picture(const std::string& path) {
  constexpr std::array<std::string_view, 8> kSuffixes = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".pbm"};
  const size_t dot = path.find_last_of('.');
  std::string suffix = dot == path.npos ? std::string() : path.substr(dot);
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

// Names of the folders in a folder, and paths of the pictures below one, in alphabetical order.
std::vector<std::string> folders_in(const std::string& root) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator each(root, error), end; !error && each != end; each.increment(error))
    if (const std::string name = each->path().filename().string(); each->is_directory(error) && name[0] != '.') found.push_back(name);
  if (error) throw IoError("the folder {} cannot be read: {}", root, error.message());
  std::sort(found.begin(), found.end());
  return found;
}
std::vector<std::string> pictures_below(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::recursive_directory_iterator each(folder, std::filesystem::directory_options::follow_directory_symlink, error), end;
  for (; !error && each != end; each.increment(error))
    if (const std::string path = each->path().string(); is_picture(path) && each->is_regular_file(error)) found.push_back(path);
  if (error) throw IoError("the folder {} cannot be read: {}", folder, error.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

DatasetPtr picture_files(std::vector<std::string> paths, Tensor targets, std::vector<std::string> classes, bool gray) {
#if MINNOW_PICTURES
  return std::make_shared<PictureFiles>(std::move(paths), std::move(targets), std::move(classes), gray);
#else
  (void)paths, (void)targets, (void)classes, (void)gray;
  throw Unsupported("this build reads no pictures; build with MINNOW_VISION");
#endif
}

DatasetPtr image_folder(const std::string& root, const FolderOptions& options) try {
  const std::vector<std::string> found = folders_in(root);
  if (found.empty()) throw InvalidArgument("the folder {} has no folders; pictures lie in a folder for each class", root);
  const std::vector<std::string> classes = options.classes.empty() ? found : options.classes;
  for (const std::string& name : classes)
    if (!std::count(found.begin(), found.end(), name))
      throw InvalidArgument("the folder {} has no folder of the class \"{}\"{}", root, name, nearest(name, found));
  for (const std::string& name : found)
    if (!std::count(classes.begin(), classes.end(), name))
      throw InvalidArgument("the folder {} has the class \"{}\", which is none of those given{}", root, name, nearest(name, classes));
  std::vector<std::string> paths;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < classes.size(); ++i) {
    const std::vector<std::string> pictures = pictures_below(root + "/" + classes[i]);
    if (pictures.empty() && !options.allow_empty) throw InvalidArgument("the folder {}/{} has no pictures", root, classes[i]);
    paths.insert(paths.end(), pictures.begin(), pictures.end());
    numbers.resize(paths.size(), static_cast<int64_t>(i));
  }
  const Tensor targets = Tensor::of_i64({static_cast<int64_t>(numbers.size())}, numbers);
  return picture_files(std::move(paths), targets, classes, options.gray);
} catch (...) {
  throw_as_error();
}

}  // namespace minnow::data
