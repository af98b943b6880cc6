// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_filters(nb::module_& m) {
  define(m, "blur", vision::blur, {"src", "ksize", "anchor", "borderType", "dst"});
  define(m, "box_filter", vision::box_filter, {"src", "ddepth", "ksize", "anchor", "normalize", "borderType", "dst"});
  define(m, "sqr_box_filter", vision::sqr_box_filter, {"src", "ddepth", "ksize", "anchor", "normalize", "borderType", "dst"});
  define(m, "gaussian_blur", vision::gaussian_blur, {"src", "ksize", "sigmaX", "sigmaY", "borderType", "dst"});
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
}

}  // namespace minnow::python
