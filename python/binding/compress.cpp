// SPDX-License-Identifier: Apache-2.0
// Quantization of trained models.
#include <minnow/compress.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "binding.h"
#include "cli/quantize_job.h"
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
  const std::vector<ValueDescription>& inputs = model.inputs();
  for (nb::handle sample : given) {
    std::vector<Tensor>& row = samples->emplace_back();
    for (nb::handle array : sample) {
      const Tensor tensor = tensor_from(array, DType::undefined, Sharing::where_possible);
      row.push_back(row.size() < inputs.size() ? cli::input_of(inputs[row.size()], tensor) : tensor);
    }
  }
  return {samples->size(), [samples](size_t i) { return (*samples)[i]; }};
}

namespace {

nb::list rows_of(const std::vector<compress::LayerReport>& layers) {
  nb::list rows;
  for (const compress::LayerReport& row : layers)
    rows.append(nb::make_tuple(row.node, row.op, row.output, row.refusal, row.fidelity.sqnr, row.fidelity.cosine, row.weights.sqnr, row.low,
                               row.high, row.clipped, row.bytes_before, row.bytes_after, row.weight_bits, row.operations,
                               row.seconds_before, row.seconds_after));
  return rows;
}

nb::list rows_of(const std::vector<compress::Candidate>& candidates, size_t chosen) {
  nb::list rows;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const compress::Candidate& row = candidates[i];
    nb::dict bits;
    for (const auto& [name, count] : row.bits) bits[name.c_str()] = count;
    rows.append(nb::make_tuple(row.bytes, row.sqnr, row.agreement < 0 ? nb::none() : nb::cast(row.agreement), row.f32, bits, row.best,
                               i == chosen));
  }
  return rows;
}

nb::list rows_of(const std::vector<compress::OutputReport>& outputs) {
  nb::list rows;
  for (const compress::OutputReport& row : outputs)
    rows.append(nb::make_tuple(row.name, row.fidelity.sqnr, row.fidelity.cosine, row.agreement < 0 ? nb::none() : nb::cast(row.agreement)));
  return rows;
}

compress::QuantizeOptions options_from(nb::handle options) {
  compress::QuantizeOptions chosen;
  for (const auto& [key, value] : argument<std::map<std::string, std::string>>(options, "options", "texts by name")) chosen.set(key, value);
  return chosen;
}

std::function<void(double)> progress_of(const nb::object& progress) {
  return [&progress](double part) {
    const nb::gil_scoped_acquire acquire;
    if (!progress.is_none()) progress(part);
  };
}

nb::tuple tuple_of(const compress::Quantized& result, const std::string& page) {
  const compress::QuantizeReport& report = result.report;
  return nb::make_tuple(result.model, result.plain, rows_of(report.layers), rows_of(report.outputs), report.samples, report.evaluated,
                        report.bytes_before, report.bytes_after, page);
}

void define_training(nb::module_& m) {
  m.def(
      "plan_training",
      [](const Model& model, nb::handle calibration, nb::handle options, const nb::object& progress) {
        compress::QuantizeOptions chosen = options_from(options);
        compress::Samples samples;
        if (!calibration.is_none()) {
          samples = samples_from(model, calibration, "calibration");
          if (samples.count == 0) throw InvalidArgument("there are no calibration samples");
        }
        chosen.progress = progress_of(progress);
        const compress::TrainingPlan plan = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          return compress::plan_training(model, samples, chosen);
        }();
        nb::list layers, values;
        for (const compress::TrainedLayer& each : plan.layers)
          layers.append(
              nb::make_tuple(each.name, each.weights, each.axis, each.scale, each.variance, each.epsilon, each.steps, each.gates));
        for (const compress::TrainedValues& each : plan.values)
          values.append(nb::make_tuple(each.names, each.sources, each.scale.scale, each.scale.zero));
        return nb::make_tuple(plan.model, layers, values);
      },
      nb::arg("model"), nb::arg("calibration").none(), nb::arg("options"), nb::arg("progress").none());
  m.def(
      "quantize_trained",
      [](const Model& model, nb::handle constants, const std::map<std::string, std::vector<float>>& steps,
         const std::map<std::string, std::pair<float, int>>& scales, nb::handle evaluation, nb::handle options, const std::string& title) {
        compress::QuantizeOptions chosen = options_from(options);
        compress::TrainedNumbers numbers;
        for (const auto& [key, value] : nb::cast<nb::dict>(constants))
          numbers.constants.emplace(argument<std::string>(key, "constants", "names"), tensor_from(value, DType::undefined, Sharing::copy));
        numbers.steps = steps;
        for (const auto& [name, scale] : scales) numbers.scales[name] = {scale.first, scale.second};
        compress::Samples samples;
        if (!evaluation.is_none()) samples = samples_from(model, evaluation, "evaluation");
        chosen.evaluate = samples.count;
        std::string page;
        const compress::Quantized result = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          compress::Quantized made = compress::quantize_trained(model, numbers, samples, chosen);
          page = compress::report_page(made.report, title);
          return made;
        }();
        return tuple_of(result, page);
      },
      nb::arg("model"), nb::arg("constants"), nb::arg("steps"), nb::arg("scales"), nb::arg("evaluation").none(), nb::arg("options"),
      nb::arg("title"));
}

}  // namespace

void define_compress(nb::module_& m) {
  m.def(
      "quantize",
      [](const Model& model, nb::handle calibration, nb::handle evaluation, nb::handle options, nb::handle title, nb::object progress,
         nb::handle recipe, nb::handle path) {
        const auto file = argument<std::string>(path, "path", "a text");
        cli::Recipe request;
        request.options.portable = file.ends_with(".onnx");
        if (!recipe.is_none()) request = cli::read_recipe(argument<std::string>(recipe, "recipe", "a path"), std::move(request));
        for (const auto& [key, value] : argument<std::map<std::string, std::string>>(options, "options", "texts by name"))
          request.set(key, value);
        request.steps.check(request.options, recipe.is_none() ? std::string() : argument<std::string>(recipe, "recipe", "a path") + ": ");
        if (!request.operators.empty())
          throw InvalidArgument("operators: applies to the command; in Python, libraries are loaded before the model");
        if (request.data_free && !calibration.is_none()) {
          if (nb::cast<nb::dict>(options).contains("data_free")) throw InvalidArgument("data_free makes samples up; leave out calibration");
          request.data_free = false;
        }
        const auto heading = argument<std::string>(title, "title", "a text");
        const std::vector<int64_t> shape = request.data_free ? std::vector<int64_t>() : cli::picture_shape(model, request.shapes);
        const auto samples_at = [&](nb::handle given, const char* name, const std::string& otherwise, size_t most) -> compress::Samples {
          if (nb::isinstance<nb::str>(given)) return cli::read_samples(model, nb::cast<std::string>(given), request.pictures, most, shape);
          if (given.is_none())
            return otherwise.empty() ? compress::Samples() : cli::read_samples(model, otherwise, request.pictures, most, shape);
          request.pictures.check_not_given("applies to pictures, and arrays are given");
          if (!shape.empty()) throw InvalidArgument("shape applies to pictures and made-up samples; arrays have shapes of their own");
          compress::Samples samples = samples_from(model, given, name);
          if (most) samples.count = std::min(samples.count, most);
          return samples;
        };
        compress::Samples samples = samples_at(calibration, "calibration", request.calibration, request.samples);
        const bool is_given = !calibration.is_none() || !request.calibration.empty();
        request.data_free |= !is_given && request.options.weights_only.empty();
        if (request.data_free) samples = cli::made_up_samples(model, request);
        const compress::Samples others = samples_at(evaluation, "evaluation", request.evaluation, 0);
        request.options.progress = progress_of(progress);
        std::string page;
        const cli::QuantizeResult made = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          cli::QuantizeResult result = cli::quantize_by(request, model, samples, others, file);
          page = compress::report_page(result.quantized.report, heading);
          return result;
        }();
        return tuple_of(made.quantized, page) + nb::make_tuple(rows_of(made.candidates, made.chosen), made.missed, made.notes, request.html,
                                                               made.form.weights, request.compress);
      },
      nb::arg("model"), nb::arg("calibration").none(), nb::arg("evaluation").none(), nb::arg("options"), nb::arg("title"),
      nb::arg("progress").none(), nb::arg("recipe").none(), nb::arg("path"));
  m.def(
      "note_on_bits", [](nb::handle options, const std::string& path) { return cli::note_on_bits(options_from(options), path); },
      nb::arg("options"), nb::arg("path"));
  m.def(
      "check_quantization",
      [](nb::handle path) {
        const auto file = argument<std::string>(path, "path", "a path");
        const cli::Recipe recipe = cli::read_recipe(file);
        recipe.steps.check(recipe.options, file + ": ");
      },
      nb::arg("path"));
  define_training(m);
}

}  // namespace minnow::python
