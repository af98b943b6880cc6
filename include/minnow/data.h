// SPDX-License-Identifier: Apache-2.0
// Data for training: data sets, loaders that can be resumed, files of samples, and random changes of pictures. The library is Minnow::data;
// pictures belong to it in builds with MINNOW_VISION.
//
//   using namespace minnow;
//   namespace T = data::transforms;
//   const auto pictures = data::transformed(data::image_folder("photos"),
//                                           T::compose({T::random_resized_crop(224), T::random_horizontal_flip(), T::to_tensor()}));
//   data::DataLoader loader(pictures, {.batch_size = 32, .shuffle = true, .workers = 2, .seed = 1});
//   for (const data::Sample& batch : loader) step.run({batch[0], batch[1]});  // one pass: pictures [n, 3, 224, 224] and classes [n]
//
// Functions throw Error: InvalidArgument for arguments that do not fit, IoError for files that cannot be read, InvalidModel for damaged
// ones. Data sets do not change and serve many threads at once.
#pragma once
#include <minnow/tensor.h>

#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace minnow::data {

/// A stream of random numbers, which is a function of a seed, a pass over the data and a number. Philox 4x32-10: Salmon et al. 2011.
class MINNOW_API Random {
 public:
  explicit Random(uint64_t seed, uint32_t pass = 0, uint64_t number = 0) noexcept : seed_(seed), number_(number), pass_(pass) {}
  uint32_t bits() noexcept;
  /// In [low, high), 53 random bits.
  double uniform(double low = 0, double high = 1) noexcept;
  /// 0 to n - 1, each equally likely; n > 0.
  int64_t below(int64_t n) noexcept;
  /// A normal number of mean 0 and deviation 1.
  double normal() noexcept;
  bool chance(double p) noexcept { return uniform() < p; }

 private:
  uint64_t seed_, number_;
  uint32_t pass_, block_ = 0, left_ = 0;
  uint32_t words_[4] = {};
};

/// The tensors of a sample, such as an input and its class, or of a batch: the same tensors with an axis in front.
using Sample = std::vector<Tensor>;

/// Samples by number.
class MINNOW_API Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Sample `index`, from 0 to size() - 1. Random changes draw from `random`, which is the sample's own: results do not depend on threads.
  virtual Sample get(int64_t index, Random& random) const = 0;
  /// Names of the classes that targets number, where they have names.
  virtual std::vector<std::string> classes() const { return {}; }
};
using DatasetPtr = std::shared_ptr<const Dataset>;

// ---- Data sets of others

/// The rows of tensors with the same first dimension.
MINNOW_API DatasetPtr tensors(std::vector<Tensor> columns, std::vector<std::string> classes = {});
/// The samples with these numbers, in this order.
MINNOW_API DatasetPtr subset(DatasetPtr dataset, std::vector<int64_t> indices);
/// Data sets one after another.
MINNOW_API DatasetPtr concat(std::vector<DatasetPtr> datasets);
/// Parts in random order with these shares of the samples, which add up to 1. The first parts get the samples that rounding leaves.
MINNOW_API std::vector<DatasetPtr> random_split(const DatasetPtr& dataset, std::span<const double> shares, uint64_t seed);
/// Samples that a function changes.
MINNOW_API DatasetPtr mapped(DatasetPtr dataset, std::function<Sample(Sample sample, Random& random)> function);
/// Samples whose first tensor a function changes (transforms, below).
using Transform = std::function<Tensor(const Tensor& input, Random& random)>;
MINNOW_API DatasetPtr transformed(DatasetPtr dataset, Transform transform);

// ---- Files

/// The array in an IDX file (yann.lecun.com/exdb/mnist), plain or packed by gzip.
MINNOW_API Tensor read_idx(const std::string& path);
/// Handwritten digits, u8 [28, 28] and i64, from the IDX files of MNIST, plain or .gz, in `root` or root/MNIST/raw.
MINNOW_API DatasetPtr mnist(const std::string& root, bool train = true);
/// Articles of clothing in files of the same form. Debian's package dataset-fashion-mnist installs them in the default folder.
MINNOW_API DatasetPtr fashion_mnist(const std::string& root = "/usr/share/datasets/fashion-mnist", bool train = true);
/// Pictures u8 [32, 32, 3], red, green, blue, and i64, from the binary form of CIFAR-10 and CIFAR-100, unpacked in `root` or in the folder
/// that the archive makes. Those of CIFAR-100 are the fine classes.
MINNOW_API DatasetPtr cifar10(const std::string& root, bool train = true);
MINNOW_API DatasetPtr cifar100(const std::string& root, bool train = true);

/// The arrays of a .npz file with their names, in the file's order.
MINNOW_API std::vector<std::pair<std::string, Tensor>> read_npz(const std::string& path);
/// Rows of the array `inputs` with those of `targets`; without names those called x, data, images or inputs, and y, targets or labels.
MINNOW_API DatasetPtr npz(const std::string& path, const std::string& inputs = "", const std::string& targets = "");

struct CsvOptions {
  std::string target = {};                 // the column of targets; without it the last one
  std::vector<std::string> features = {};  // columns of numbers; without them all others
  std::string image = {};                  // or the column of pictures' paths, from the file's folder on
  std::vector<std::string> classes = {};   // names in order; without them the sorted texts of the target, unless all are numbers
  char delimiter = ',';
  bool gray = false;  // pictures of one channel
};
/// Rows of a CSV file (RFC 4180) below a line of names: f32 [features], or a picture, and the target: the number of a class, i64, or where
/// targets are numbers i64 for whole ones and f32 for others.
MINNOW_API DatasetPtr csv(const std::string& path, const CsvOptions& options = {});

struct FolderOptions {
  bool gray = false;                      // u8 [height, width, 1] instead of red, green, blue
  std::vector<std::string> classes = {};  // names in order; without them all folders in alphabetical order
  bool allow_empty = false;               // classes without pictures
};
/// Pictures in a folder with a folder for each class, root/cat/1.jpg or root/cat/a/b.png: u8 [height, width, 3], and the class, i64.
MINNOW_API DatasetPtr image_folder(const std::string& root, const FolderOptions& options = {});

// ---- Loading

/// An order of samples, the same for the same pass.
class MINNOW_API Sampler {
 public:
  virtual ~Sampler() = default;
  virtual int64_t size() const = 0;
  virtual std::vector<int64_t> order(uint32_t pass) const = 0;
};
using SamplerPtr = std::shared_ptr<const Sampler>;
MINNOW_API SamplerPtr in_order(int64_t samples);
MINNOW_API SamplerPtr shuffled(int64_t samples, uint64_t seed);
/// `count` of the samples, drawn with replacement, each in proportion to its weight; without replacement at most as many as have a weight.
MINNOW_API SamplerPtr weighted(std::vector<double> weights, int64_t count, uint64_t seed, bool replacement = true);

/// Tensors of samples put together, with an axis in front. Throws InvalidArgument where shapes or dtypes differ.
MINNOW_API Sample collate(std::span<const Sample> samples);

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;
  bool drop_last = false;  // without a shorter last batch
  int workers = 0;         // threads that prepare batches ahead; 0: each is prepared when it is asked for
  int prefetch = 2;        // batches that each prepares ahead
  uint64_t seed = 0;       // of the order and of random changes
  SamplerPtr sampler = {};
  std::function<Sample(std::span<const Sample> samples, Random& random)> collate = {};  // instead of collate()
};

/// Batches of a data set. They depend on the seed and the pass alone, not on the number of workers.
class MINNOW_API DataLoader {
 public:
  explicit DataLoader(DatasetPtr dataset, LoaderOptions options = {});
  ~DataLoader();
  DataLoader(DataLoader&&) noexcept;
  DataLoader& operator=(DataLoader&&) noexcept;

  /// Batches of a pass.
  int64_t size() const noexcept;
  /// The next batch, or nothing where the pass is over: the next call begins another one. Throws what the data set throws; the loader then
  /// stays before the failed batch.
  std::optional<Sample> next();
  /// Ends the pass, so that the next batch is the first of another one.
  void end_pass();

  /// The position after the last batch, i64: pass, batch, and the loader's form, so that another data set is refused. Batches that workers
  /// have prepared ahead do not count. A loader that takes the state goes on with the same batches, with any number of workers.
  Tensor state() const;
  void set_state(const TensorView& state);

  /// for (const Sample& batch : loader): what is left of the pass.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Sample;
    using difference_type = std::ptrdiff_t;
    using pointer = const Sample*;
    using reference = const Sample&;
    Iterator() = default;
    explicit Iterator(DataLoader& loader) : loader_(&loader), batch_(loader.next()) {}
    const Sample& operator*() const noexcept { return *batch_; }
    const Sample* operator->() const noexcept { return &*batch_; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return batch_.has_value() == other.batch_.has_value(); }

   private:
    DataLoader* loader_ = nullptr;
    std::optional<Sample> batch_;
  };
  Iterator begin() { return Iterator(*this); }
  Iterator end() { return {}; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// ---- Changes of pictures, by Minnow::vision, with torchvision's names

/// A picture is u8 or f32 [height, width, channels] or [height, width], until to_tensor() makes it f32 [channels, height, width];
/// normalize() and random_erasing() come after that. Each throws InvalidArgument for settings out of range.
namespace transforms {

struct Range {
  double low = 0, high = 0;
};
struct Pixels {
  int height = 0, width = 0;
  Pixels(int side) : height(side), width(side) {}
  Pixels(int height, int width) : height(height), width(width) {}
};

MINNOW_API Transform compose(std::vector<Transform> transforms);
MINNOW_API Transform random_apply(std::vector<Transform> transforms, double p = 0.5);
/// u8 is divided by 255.
MINNOW_API Transform to_tensor();
/// (x - mean) / std for each channel.
MINNOW_API Transform normalize(std::vector<float> mean, std::vector<float> std);
/// `antialias`: smooth, as in PIL, where a picture becomes smaller. resize_shorter() keeps the form and gives the shorter side so many
/// pixels.
MINNOW_API Transform resize(Pixels size, bool antialias = true);
MINNOW_API Transform resize_shorter(int size, bool antialias = true);
/// A border of so many pixels on each side.
MINNOW_API Transform pad(int pixels, double fill = 0);
/// The middle, with a border of 0 where the picture is smaller.
MINNOW_API Transform center_crop(Pixels size);
/// A part at a random place, after a border of `padding` pixels of 0.
MINNOW_API Transform random_crop(Pixels size, int padding = 0);
/// A part with a random share of the area and a random ratio of width to height, resized. Szegedy et al. 2014, arXiv:1409.4842.
MINNOW_API Transform random_resized_crop(Pixels size, Range scale = {0.08, 1}, Range ratio = {3. / 4, 4. / 3});
MINNOW_API Transform random_horizontal_flip(double p = 0.5);
MINNOW_API Transform random_vertical_flip(double p = 0.5);
struct Affine {
  Range degrees = {0, 0};                   // counterclockwise
  double translate_x = 0, translate_y = 0;  // moved by up to these shares of the width and the height
  Range scale = {1, 1}, shear = {0, 0};     // shear in degrees
  double fill = 0;                          // beyond the border
};
MINNOW_API Transform random_affine(const Affine& affine);
MINNOW_API Transform random_rotation(double degrees, double fill = 0);
/// By the weights of ITU-R 601; `channels`: 1 or 3 equal ones.
MINNOW_API Transform grayscale(int channels = 1);
MINNOW_API Transform random_grayscale(double p = 0.1);
/// Brightness, contrast and saturation times a random number in [1 - x, 1 + x], and the hue turned by up to `hue` circles, in random order.
MINNOW_API Transform color_jitter(double brightness, double contrast = 0, double saturation = 0, double hue = 0);
/// By a Gaussian of `size` pixels, an odd number, and a random sigma.
MINNOW_API Transform gaussian_blur(int size, Range sigma = {0.1, 2});
/// A random rectangle of f32 [channels, height, width] becomes `value`. Zhong et al. 2017, arXiv:1708.04896.
MINNOW_API Transform random_erasing(double p = 0.5, Range scale = {0.02, 0.33}, Range ratio = {0.3, 3.3}, float value = 0);

/// For LoaderOptions::collate: each picture mixed with another of its batch, and the classes alike, f32 [n, classes]. Zhang et al. 2017,
/// arXiv:1710.09412.
MINNOW_API std::function<Sample(std::span<const Sample>, Random&)> mixup(int64_t classes, double alpha = 1);
/// The same with a rectangle of another picture. Yun et al. 2019, arXiv:1905.04899.
MINNOW_API std::function<Sample(std::span<const Sample>, Random&)> cutmix(int64_t classes, double alpha = 1);

}  // namespace transforms
}  // namespace minnow::data
