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
      [](nb::handle file, nb::handle flags) {
        const auto path = argument<std::string>(file, "filename", "a text");
        const vision::ReadMode mode = mode_from(argument<int>(flags, "flags", "an integer"));
        const nb::gil_scoped_release release;
        return Var(vision::read_image(path, mode));
      },
      nb::arg("path").none(), nb::arg("flags").none());
  m.def(
      "imdecode",
      [](nb::handle bytes, nb::handle flags) {
        const vision::ReadMode mode = mode_from(argument<int>(flags, "flags", "an integer"));
        return on_picture(bytes, [&](const Tensor& data) {
          return vision::decode_image({static_cast<const std::byte*>(data.data()), data.bytes()}, mode);
        });
      },
      nb::arg("bytes").none(), nb::arg("flags").none());
  m.def(
      "resize",
      [](nb::handle image, nb::handle wide, nb::handle high, nb::handle way) {
        const int64_t width = argument<int64_t>(wide, "width", "an integer"), height = argument<int64_t>(high, "height", "an integer");
        const int interpolation = argument<int>(way, "interpolation", "an integer");
        if (interpolation != 0 && interpolation != 1)
          throw InvalidArgument("resize: the interpolation is {}; there are INTER_NEAREST and INTER_LINEAR", interpolation);
        return on_picture(image, [&](const Tensor& picture) {
          return vision::resize(picture, width, height, static_cast<vision::Interpolation>(interpolation));
        });
      },
      nb::arg("image").none(), nb::arg("width"), nb::arg("height"), nb::arg("interpolation").none());
  m.def(
      "cvt_color",
      [](nb::handle image, nb::handle given) {
        const int code = argument<int>(given, "code", "an integer");
        return on_picture(image,
                          [&](const Tensor& picture) { return vision::convert_color(picture, static_cast<vision::ColorCode>(code)); });
      },
      nb::arg("image").none(), nb::arg("code").none());
}

}  // namespace minnow::python
