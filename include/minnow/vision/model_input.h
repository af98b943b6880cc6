// SPDX-License-Identifier: Apache-2.0
// A model's input made from a picture, by the preprocessing that the model carries, and the names of the classes that it finds.
#pragma once
#include <minnow/minnow.h>
#include <minnow/vision/geometry.h>
#include <minnow/vision/preprocess.h>

#include <map>
#include <string>
#include <vector>

namespace minnow::vision {

/// How a picture becomes one input of a model. A model carries it as properties "preprocess.KEY" (`minnow convert --preprocess` writes
/// them); docs/vision.md lists the keys and their values.
class PictureInput {
 public:
  using Keys = std::map<std::string, std::string>;

  /// The keys that a model carries; none if it carries no preprocessing.
  MINNOW_API static Keys carried_by(const Model& model);
  /// The input that key "input" names, else the model's only input of 3 or 4 dimensions. Throws InvalidArgument as the constructor does.
  MINNOW_API static size_t index_in(const Model& model, const Keys& keys, const std::string& prefix = "preprocess.");

  /// `shape`: the shape that the input is to have, -1 for open dimensions; empty: as declared. Throws InvalidArgument for an unknown key or
  /// a wrong value. The sentence begins with `prefix` and the key.
  MINNOW_API PictureInput(const ValueDescription& input, const Keys& keys, std::span<const int64_t> shape = {},
                          const std::string& prefix = "preprocess.");
  /// The tensor for the input. Throws InvalidArgument for a picture that does not fit its format.
  MINNOW_API Tensor operator()(const ImageView& image, PixelFormat source = PixelFormat::bgr) const;
  /// The colours of the input: rgb, bgr, rgba, bgra or gray.
  PixelFormat color() const noexcept { return pixels_.target; }

 private:
  enum class Fit : uint8_t { stretch, crop, letterbox };
  /// The picture scaled to `size`, of which the result shows the part that begins at `left`, `top`.
  struct Place {
    double width, height;
    double left, top;
  };
  Place place_of(Size picture, Size wanted) const;

  PreprocessOptions pixels_;
  Fit fit_ = Fit::stretch;
  Interpolation interpolation_ = Interpolation::linear;
  int shorter_ = 0;  // the picture's shorter side is scaled to this number of pixels before the middle is cut out; 0: to fill the input
  double padding_ = 114;
  DType dtype_ = DType::f32;
  bool batch_ = true;
};

/// A class and how likely it is.
struct LabelScore {
  std::string label;
  size_t index = 0;
  double probability = 0;
};
/// The likeliest classes, best first, from the first output that has one number for each label; empty if none has. Floats between 0 and 1
/// that add up to 1 are probabilities; other floats become probabilities by softmax. u8 and i8 count 256ths, from the least value up.
MINNOW_API std::vector<LabelScore> top_labels(const std::vector<std::string>& labels, std::span<const TensorView> outputs,
                                              size_t count = 5);

}  // namespace minnow::vision
