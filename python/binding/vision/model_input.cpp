// SPDX-License-Identifier: Apache-2.0
// Models that carry the preprocessing of pictures and the names of classes.
#include "arguments.h"
#include "cli/commands.h"

namespace minnow::python {

void define_model_input(nb::module_& m) {
  m.def(
      "picture_input",
      [](const Model& model, nb::handle picture, nb::handle format) {
        const From<vision::ImageView> image(picture, "picture");
        const From<vision::PixelFormat> source(format, "format");
        Tensor made;
        size_t index = 0;
        {
          const nb::gil_scoped_release release;
          const vision::PictureInput::Keys keys = vision::PictureInput::carried_by(model);
          if (keys.empty())
            throw InvalidArgument(
                "the model carries no preprocessing; `minnow convert --preprocess` or minnow.convert(preprocess=) stores it");
          index = vision::PictureInput::index_in(model, keys);
          made = vision::PictureInput(model.inputs()[index], keys)(image.get(), source.get());
        }
        return nb::make_tuple(index, to_python(std::move(made)));
      },
      nb::arg("model"), nb::arg("picture"), nb::arg("format"));
  m.def(
      "top_labels",
      [](const Model& model, nb::handle outputs, size_t count) {
        std::vector<Tensor> tensors;
        for (nb::handle output : outputs) tensors.push_back(tensor_from(output, DType::undefined, Sharing::where_possible));
        const std::vector<TensorView> views(tensors.begin(), tensors.end());
        nb::list list;
        for (const vision::LabelScore& row : vision::top_labels(model.labels(), views, count))
          list.append(nb::make_tuple(row.label, row.probability, row.index));
        return list;
      },
      nb::arg("model"), nb::arg("outputs"), nb::arg("count"));
  m.def(
      "read_preprocessing",
      [](const std::string& path) {
        nb::dict keys;
        for (const auto& [key, value] : cli::read_keys(path, "preprocessing")) keys[key.c_str()] = value;
        return keys;
      },
      nb::arg("path"));
  m.def(
      "check_preprocessing",
      [](const Model& model, const nb::dict& given, const std::string& prefix) {
        vision::PictureInput::Keys keys;
        for (const auto& [key, value] : given) keys.emplace(nb::cast<std::string>(key), nb::cast<std::string>(value));
        (void)vision::PictureInput(model.inputs()[vision::PictureInput::index_in(model, keys, prefix)], keys, {}, prefix);
      },
      nb::arg("model"), nb::arg("keys"), nb::arg("prefix"));
}

}  // namespace minnow::python
