// SPDX-License-Identifier: Apache-2.0
// Pruning of trained models, and masks for training.
#include <minnow/prune.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "samples.h"

namespace minnow::python {

void define_prune(nb::module_& m) {
  m.def(
      "prune",
      [](const Model& model, nb::handle options, nb::handle calibration) {
        compress::Steps steps;
        for (const auto& [key, value] : argument<std::map<std::string, std::string>>(options, "options", "texts by name"))
          if (!steps.set(key, value)) throw InvalidArgument("{}: there is no such option", key);
        if (steps.empty()) steps.prune.emplace();
        const compress::Samples samples = calibration.is_none() ? compress::Samples() : samples_from(model, calibration, "calibration");
        compress::Steps::Result result = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          return steps.apply(model, samples);
        }();
        return nb::make_tuple(result.model, result.plain, result.sentences);
      },
      nb::arg("model"), nb::arg("options"), nb::arg("calibration").none());
  m.def(
      "prune_mask",
      [](nb::handle scores, const std::string& pattern, double sparsity, size_t axis) {
        return to_writable_numpy(compress::prune_mask(tensor_from(scores, DType::f32, Sharing::where_possible), pattern, sparsity, axis));
      },
      nb::arg("scores"), nb::arg("pattern"), nb::arg("sparsity"), nb::arg("axis"));
  m.def(
      "weight_axes",
      [](const Model& model) {
        nb::dict axes;
        for (const auto& [name, axis] : compress::weight_axes(model)) axes[nb::cast(name)] = axis;
        return axes;
      },
      nb::arg("model"));
}

}  // namespace minnow::python
