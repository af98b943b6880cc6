// SPDX-License-Identifier: Apache-2.0
// Quantization of trained models.
#include <minnow/compress.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "cli/samples.h"
#include "samples.h"

namespace minnow::python {

compress::Samples samples_from(const Model& model, nb::handle given, const char* name) {
  if (nb::isinstance<nb::str>(given)) return cli::read_samples(model, nb::cast<std::string>(given), {}, 0);
  if (nb::isinstance<nb::dict>(given)) {
    std::vector<std::pair<std::string, Tensor>> arrays;
    for (const auto& [key, value] : nb::cast<nb::dict>(given))
      arrays.emplace_back(argument<std::string>(key, name, "names of inputs"),
                          tensor_from(value, DType::undefined, Sharing::where_possible));
    return cli::samples_of(model, arrays, name);
  }
  auto samples = std::make_shared<std::vector<std::vector<Tensor>>>();
  for (nb::handle sample : given) {
    samples->emplace_back();
    for (nb::handle array : sample) samples->back().push_back(tensor_from(array, DType::undefined, Sharing::where_possible));
  }
  return {samples->size(), [samples](size_t i) { return (*samples)[i]; }};
}

namespace {

nb::list rows_of(const std::vector<compress::LayerReport>& layers) {
  nb::list rows;
  for (const compress::LayerReport& row : layers)
    rows.append(nb::make_tuple(row.node, row.op, row.output, row.refusal, row.fidelity.sqnr, row.fidelity.cosine, row.weights.sqnr, row.low,
                               row.high, row.clipped, row.bytes_before, row.bytes_after));
  return rows;
}

nb::list rows_of(const std::vector<compress::OutputReport>& outputs) {
  nb::list rows;
  for (const compress::OutputReport& row : outputs)
    rows.append(nb::make_tuple(row.name, row.fidelity.sqnr, row.fidelity.cosine, row.agreement < 0 ? nb::none() : nb::cast(row.agreement)));
  return rows;
}

}  // namespace

void define_compress(nb::module_& m) {
  m.def(
      "quantize",
      [](const Model& model, nb::handle calibration, nb::handle evaluation, nb::handle options, nb::handle title, nb::object progress) {
        compress::QuantizeOptions chosen;
        for (const auto& [key, value] : argument<std::map<std::string, std::string>>(options, "options", "texts by name"))
          chosen.set(key, value);
        const auto heading = argument<std::string>(title, "title", "a text");
        const compress::Samples samples =
            calibration.is_none() ? compress::synthetic_samples(model, 8, chosen.seed) : samples_from(model, calibration, "calibration");
        compress::Samples others;
        if (!evaluation.is_none()) others = samples_from(model, evaluation, "evaluation");
        chosen.progress = [&](double part) {
          const nb::gil_scoped_acquire acquire;
          if (!progress.is_none()) progress(part);
        };
        std::string page;
        compress::Quantized result = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          compress::Quantized made = compress::quantize(model, samples, chosen);
          if (others.count) {
            made.report.outputs = compress::compare(model, made.model, others);
            made.report.evaluated = others.count;
          }
          page = compress::report_page(made.report, heading);
          return made;
        }();
        const compress::QuantizeReport& report = result.report;
        return nb::make_tuple(result.model, result.plain, rows_of(report.layers), rows_of(report.outputs), report.samples, report.evaluated,
                              report.bytes_before, report.bytes_after, page);
      },
      nb::arg("model"), nb::arg("calibration").none(), nb::arg("evaluation").none(), nb::arg("options"), nb::arg("title"),
      nb::arg("progress").none());
}

}  // namespace minnow::python
