// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {
namespace {

using vision::TrueTypeFont;

/// `file`: the path of a font, or its bytes.
TrueTypeFont open_font(nb::handle file, nb::handle index) {
  const int face = From<int>(index, "idx").get();
  if (!PyBytes_Check(file.ptr())) return TrueTypeFont(From<std::string>(file, "fontFileName").get(), face);
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(file.ptr(), &data, &size) != 0) throw nb::python_error();
  return TrueTypeFont(std::span<const std::byte>(reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size)), face);
}

nb::object put_text(const TrueTypeFont& font, nb::handle img, nb::handle text, nb::handle org, nb::handle height, nb::handle color,
                    nb::handle thickness, nb::handle type, nb::handle bottom_left) {
  From<vision::MutableImageView> image(img, "img");
  const From<std::string> letters(text, "text");
  const From<vision::Point> origin(org, "org");
  const From<int> pixels(height, "fontHeight"), width(thickness, "thickness");
  const From<vision::Scalar4> paint(color, "color");
  const From<vision::LineType> lines(type, "line_type");
  const From<bool> lower(bottom_left, "bottomLeftOrigin");
  {
    const nb::gil_scoped_release release;
    font.put_text(image.get(), letters.get(), origin.get(), pixels.get(), paint.get(), width.get(), lines.get(), lower.get());
  }
  image.done();
  return nb::borrow(image.object());
}

nb::object font_text_size(const TrueTypeFont& font, nb::handle text, nb::handle height, nb::handle thickness) {
  const vision::TextSize size =
      font.text_size(From<std::string>(text, "text").get(), From<int>(height, "fontHeight").get(), From<int>(thickness, "thickness").get());
  return nb::make_tuple(to_python(size.size), size.base_line);
}

}  // namespace

void define_truetype(nb::module_& m) {
  nb::class_<TrueTypeFont>(m, "TrueTypeFont");
  m.def("open_font", open_font);
  m.def("font_put_text", put_text);
  m.def("font_text_size", font_text_size);
}

}  // namespace minnow::python
