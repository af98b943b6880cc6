// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {
namespace {

Tensor resize(const TensorView& image, int64_t width, int64_t height, int interpolation) {
  if (interpolation != 0 && interpolation != 1)
    throw InvalidArgument("resize: the interpolation is {}; there are INTER_NEAREST and INTER_LINEAR", interpolation);
  return vision::resize(image, width, height, static_cast<vision::Interpolation>(interpolation));
}

}  // namespace

void define_geometry(nb::module_& m) { define(m, "resize", resize, {"src", "width", "height", "interpolation"}); }

}  // namespace minnow::python
