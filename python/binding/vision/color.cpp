// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

namespace {

Tensor preprocess(const vision::ImageView& image, vision::PixelFormat source, vision::PixelFormat target, vision::Size size,
                  const std::vector<double>& matrix, bool linear, std::optional<double> padding, const vision::Scalar4& mean,
                  const vision::Scalar4& scale, bool channels_last, DType dtype) {
  vision::PreprocessOptions options{source, target, size, std::nullopt, linear, padding, mean, scale};
  if (matrix.size() == 6) {
    options.matrix.emplace();
    std::copy(matrix.begin(), matrix.end(), options.matrix->begin());
  } else if (!matrix.empty()) {
    throw InvalidArgument("preprocess: the matrix has 2 x 3 numbers, not {}", matrix.size());
  }
  options.layout = channels_last ? vision::TensorLayout::nhwc : vision::TensorLayout::nchw;
  options.dtype = dtype;
  return vision::preprocess(image, options);
}

}  // namespace

void define_color(nb::module_& m) {
  define(m, "preprocess", preprocess,
         {"src", "source", "target", "size", "matrix", "linear", "padding", "mean", "scale", "channels_last", "dtype"});
  define(m, "cvt_color", vision::convert_color, {"src", "code", "dstCn", "dst"});
  define(m, "cvt_color_two_plane", vision::convert_color_two_planes, {"src1", "src2", "code", "dst"});
}

}  // namespace minnow::python
