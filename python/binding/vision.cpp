// SPDX-License-Identifier: Apache-2.0
// Pictures: minnow.cv is made of these.
#include <minnow/vision.h>

#include "binding.h"

namespace minnow::python {
namespace {

vision::ReadMode mode_from(int flags) {
  if (flags < -1 || flags > 1)
    throw InvalidArgument("imread's flags are {}; there are IMREAD_UNCHANGED, IMREAD_GRAYSCALE and IMREAD_COLOR", flags);
  return static_cast<vision::ReadMode>(flags);
}

/// Runs `f` on the picture's tensor with the GIL released.
template <class F>
Var on_picture(nb::handle image, F&& f) {
  Tensor tensor;
  {
    const Guard guard;
    tensor = tensor_from(image, DType::undefined, Sharing::where_possible);
  }
  const nb::gil_scoped_release release;
  return Var(f(tensor));
}

}  // namespace

void define_vision(nb::module_& m) {
  m.def(
      "imread",
      [](const std::string& path, int flags) {
        const vision::ReadMode mode = mode_from(flags);
        const nb::gil_scoped_release release;
        return Var(vision::read_image(path, mode));
      },
      nb::arg("path"), nb::arg("flags"));
  m.def(
      "imdecode",
      [](nb::handle bytes, int flags) {
        const vision::ReadMode mode = mode_from(flags);
        return on_picture(bytes, [&](const Tensor& data) {
          return vision::decode_image({static_cast<const std::byte*>(data.data()), data.bytes()}, mode);
        });
      },
      nb::arg("bytes"), nb::arg("flags"));
  m.def(
      "resize",
      [](nb::handle image, int64_t width, int64_t height, int interpolation) {
        if (interpolation != 0 && interpolation != 1)
          throw InvalidArgument("resize: the interpolation is {}; there are INTER_NEAREST and INTER_LINEAR", interpolation);
        return on_picture(image, [&](const Tensor& picture) {
          return vision::resize(picture, width, height, static_cast<vision::Interpolation>(interpolation));
        });
      },
      nb::arg("image"), nb::arg("width"), nb::arg("height"), nb::arg("interpolation"));
  m.def(
      "cvt_color",
      [](nb::handle image, int code) {
        return on_picture(image,
                          [&](const Tensor& picture) { return vision::convert_color(picture, static_cast<vision::ColorCode>(code)); });
      },
      nb::arg("image"), nb::arg("code"));
}

}  // namespace minnow::python
