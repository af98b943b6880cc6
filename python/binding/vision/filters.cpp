// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "arguments.h"

namespace minnow::python {

namespace {

std::pair<double, Tensor> threshold(const vision::ImageView& image, double threshold, double maximum, int type, int from,
                                    vision::Output output) {
  return vision::threshold(image, threshold, maximum, static_cast<vision::Threshold>(type), static_cast<vision::ThresholdFrom>(from),
                           std::move(output));
}

std::pair<int64_t, vision::Rect> flood_fill(const vision::MutableImageView& image, const vision::MutableImageView& mask,
                                            const vision::Point& seed, const vision::Scalar4& color, const vision::Scalar4& lower,
                                            const vision::Scalar4& upper, int connectivity, bool fixed_range, bool mask_only,
                                            int mask_value) {
  return vision::flood_fill(image, &mask, seed, color, lower, upper,
                            {connectivity, fixed_range, mask_only, static_cast<uint8_t>(mask_value)});
}

/// u8 zeros with a pixel more at each side of a picture.
Tensor flood_mask(const vision::ImageView& image) {
  Tensor mask(DType::u8, Shape{image.height() + 2, image.width() + 2});
  std::memset(mask.writable().data(), 0, mask.bytes());
  return mask;
}

}  // namespace

void define_filters(nb::module_& m) {
  define(m, "blur", vision::blur, {"src", "ksize", "anchor", "borderType", "dst"});
  define(m, "box_filter", vision::box_filter, {"src", "ddepth", "ksize", "anchor", "normalize", "borderType", "dst"});
  define(m, "sqr_box_filter", vision::sqr_box_filter, {"src", "ddepth", "ksize", "anchor", "normalize", "borderType", "dst"});
  define(m, "gaussian_blur", vision::gaussian_blur, {"src", "ksize", "sigmaX", "sigmaY", "borderType", "dst"});
  define(m, "median_blur", vision::median_blur, {"src", "ksize", "dst"});
  define(m, "bilateral_filter", vision::bilateral_filter, {"src", "d", "sigmaColor", "sigmaSpace", "borderType", "dst"});
  define(m, "stack_blur", vision::stack_blur, {"src", "ksize", "dst"});
  define(m, "canny", vision::canny, {"image", "threshold1", "threshold2", "apertureSize", "L2gradient", "edges"});
  define(m, "canny_of_gradient", vision::canny_of_gradient, {"dx", "dy", "threshold1", "threshold2", "L2gradient", "edges"});
  define(m, "filter_2d", vision::filter_2d, {"src", "ddepth", "kernel", "anchor", "delta", "borderType", "dst"});
  define(m, "sep_filter_2d", vision::sep_filter_2d, {"src", "ddepth", "kernelX", "kernelY", "anchor", "delta", "borderType", "dst"});
  define(m, "sobel", vision::sobel, {"src", "ddepth", "dx", "dy", "ksize", "scale", "delta", "borderType", "dst"});
  define(m, "scharr", vision::scharr, {"src", "ddepth", "dx", "dy", "scale", "delta", "borderType", "dst"});
  define(m, "laplacian", vision::laplacian, {"src", "ddepth", "ksize", "scale", "delta", "borderType", "dst"});
  define(m, "spatial_gradient", vision::spatial_gradient, {"src", "ksize", "borderType"});
  define(m, "gaussian_kernel", vision::gaussian_kernel, {"ksize", "sigma", "ktype"});
  define(m, "deriv_kernels", vision::deriv_kernels, {"dx", "dy", "ksize", "normalize", "ktype"});
  define(m, "gabor_kernel", vision::gabor_kernel, {"ksize", "sigma", "theta", "lambd", "gamma", "psi", "ktype"});
  define(m, "structuring_element", vision::structuring_element, {"shape", "ksize", "anchor"});
  define(m, "morphology", vision::morphology, {"src", "op", "kernel", "anchor", "iterations", "borderType", "borderValue", "dst"});
  define(m, "threshold", threshold, {"src", "thresh", "maxval", "type", "from", "dst"});
  define(m, "threshold_value", vision::threshold_value, {"src", "thresh", "from"});
  define(m, "adaptive_threshold", vision::adaptive_threshold,
         {"src", "maxValue", "adaptiveMethod", "thresholdType", "blockSize", "C", "dst"});
  define(m, "equalize_hist", vision::equalize_hist, {"src", "dst"});
  define(m, "clahe", vision::clahe, {"src", "clipLimit", "tileGridSize", "bitShift", "dst"});
  define(m, "integral", vision::integral, {"src", "sdepth"});
  define(m, "integral_2", vision::integral_2, {"src", "sdepth", "sqdepth"});
  define(m, "integral_3", vision::integral_3, {"src", "sdepth", "sqdepth"});
  define(m, "distance_transform", vision::distance_transform, {"src", "distanceType", "maskSize", "dstType", "dst"});
  define(m, "distance_transform_with_labels", vision::distance_transform_with_labels, {"src", "distanceType", "maskSize", "labelType"});
  define(m, "flood_fill", flood_fill,
         {"image", "mask", "seedPoint", "newVal", "loDiff", "upDiff", "connectivity", "fixed", "mask_only", "mask_value"});
  define(m, "flood_mask", flood_mask, {"image"});
  define(m, "watershed", vision::watershed, {"image", "markers"});
}

}  // namespace minnow::python
