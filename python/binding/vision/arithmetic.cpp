// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

/// A number, a tuple of numbers, or a picture.
template <>
struct From<vision::Operand> {
  std::optional<From<vision::ImageView>> picture;
  std::optional<vision::Operand> value;
  From(nb::handle object, const char* name) {
    if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) {
      value.emplace(numbers_of(object, name, 1, 1)[0]);
    } else if (PyTuple_Check(object.ptr())) {
      value.emplace(numbers_of(object, name, 1, 4));
    } else {
      picture.emplace(object, name);
      const vision::ImageView& view = picture->get();
      if (!view) throw TypeFault("{} takes a picture or numbers, not None", name);
      value.emplace(view);
    }
  }
  const vision::Operand& get() const { return *value; }
};

namespace {

void move_channel(const vision::ImageView& from, int channel, const vision::MutableImageView& to, int to_channel) {
  vision::mix_channels({from}, {to}, {channel, to_channel});
}

std::tuple<double, double, vision::Point, vision::Point> min_max(const vision::ImageView& image, const vision::ImageView& mask) {
  const vision::Extremes found = vision::min_max(image, mask);
  return {found.least, found.most, found.least_at, found.most_at};
}

}  // namespace

void define_arithmetic(nb::module_& m) {
  using vision::ImageView;
  using vision::Norm;
  define(m, "add", vision::add, {"src1", "src2", "mask", "dtype", "dst"});
  define(m, "subtract", vision::subtract, {"src1", "src2", "mask", "dtype", "dst"});
  define(m, "multiply", vision::multiply, {"src1", "src2", "scale", "dtype", "dst"});
  define(m, "divide", vision::divide, {"src1", "src2", "scale", "dtype", "dst"});
  define(m, "absdiff", vision::absdiff, {"src1", "src2", "dst"});
  define(m, "minimum", vision::minimum, {"src1", "src2", "dst"});
  define(m, "maximum", vision::maximum, {"src1", "src2", "dst"});
  define(m, "add_weighted", vision::add_weighted, {"src1", "alpha", "src2", "beta", "gamma", "dtype", "dst"});
  define(m, "scale_add", vision::scale_add, {"src1", "alpha", "src2", "dst"});
  define(m, "bitwise_and", vision::bitwise_and, {"src1", "src2", "mask", "dst"});
  define(m, "bitwise_or", vision::bitwise_or, {"src1", "src2", "mask", "dst"});
  define(m, "bitwise_xor", vision::bitwise_xor, {"src1", "src2", "mask", "dst"});
  define(m, "bitwise_not", vision::bitwise_not, {"src", "mask", "dst"});
  define(m, "compare", vision::compare, {"src1", "src2", "cmpop", "dst"});
  define(m, "in_range", vision::in_range, {"src", "lowerb", "upperb", "dst"});
  define(m, "blend_linear", vision::blend_linear, {"src1", "src2", "weights1", "weights2", "dst"});
  define(m, "convert_scale_abs", vision::convert_scale_abs, {"src", "alpha", "beta", "dst"});
  define(m, "normalize", vision::normalize, {"src", "alpha", "beta", "norm_type", "dtype", "mask", "dst"});
  define(m, "lookup", vision::lookup, {"src", "lut", "dst"});
  define(m, "transform", vision::transform, {"src", "m", "dst"});
  define(m, "square_root", vision::square_root, {"src", "dst"});
  define(m, "power", vision::power, {"src", "power", "dst"});
  define(m, "exponential", vision::exponential, {"src", "dst"});
  define(m, "logarithm", vision::logarithm, {"src", "dst"});
  define(m, "magnitude", vision::magnitude, {"x", "y", "magnitude"});
  define(m, "phase", vision::phase, {"x", "y", "angleInDegrees", "angle"});
  define(m, "polar_to_cart", vision::polar_to_cart, {"magnitude", "angle", "angleInDegrees"});
  define(m, "split", vision::split, {"m"});
  define(m, "merge", vision::merge, {"mv", "dst"});
  define(m, "extract_channel", vision::extract_channel, {"src", "coi", "dst"});
  define(m, "insert_channel", vision::insert_channel, {"src", "dst", "coi"});
  define(m, "move_channel", move_channel, {"src", "from", "dst", "to"});
  define(m, "hconcat", vision::hconcat, {"src", "dst"});
  define(m, "vconcat", vision::vconcat, {"src", "dst"});
  define(m, "copy_to", vision::copy_to, {"src", "mask", "dst"});
  define(m, "sum", vision::sum, {"src"});
  define(m, "mean", vision::mean, {"src", "mask"});
  define(m, "mean_std_dev", vision::mean_std_dev, {"src", "mask"});
  define(m, "min_max", min_max, {"src", "mask"});
  define(m, "norm", static_cast<double (*)(const ImageView&, Norm, const ImageView&)>(vision::norm), {"src1", "normType", "mask"});
  define(m, "norm_of_difference", static_cast<double (*)(const ImageView&, const ImageView&, Norm, bool, const ImageView&)>(vision::norm),
         {"src1", "src2", "normType", "relative", "mask"});
  define(m, "psnr", vision::psnr, {"src1", "src2", "R"});
  define(m, "count_nonzero", vision::count_nonzero, {"src"});
  define(m, "find_nonzero", vision::find_nonzero, {"src"});
  define(m, "reduce", vision::reduce, {"src", "dim", "rtype", "dtype", "dst"});
  define(m, "histogram", vision::histogram, {"images", "channels", "mask", "histSize", "ranges", "hist"});
  define(m, "compare_histograms", vision::compare_histograms, {"H1", "H2", "method"});
  define(m, "back_project", vision::back_project, {"images", "channels", "hist", "ranges", "scale", "dst"});
}

}  // namespace minnow::python
