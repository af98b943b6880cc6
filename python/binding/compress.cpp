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
#include "cli/recipe.h"
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
                               row.high, row.clipped, row.bytes_before, row.bytes_after, row.weight_bits, row.operations));
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
          layers.append(nb::make_tuple(each.name, each.weights, each.axis, each.scale, each.variance, each.epsilon, each.steps));
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
         nb::handle recipe, nb::handle aims, nb::handle searches, bool portable) {
        compress::QuantizeOptions chosen;
        chosen.portable = portable;
        cli::Recipe file;
        if (!recipe.is_none()) {
          file = cli::read_recipe(argument<std::string>(recipe, "recipe", "a path"));
          for (const auto& [key, value] : file.options) chosen.set(key, value, file.prefix);
        }
        for (const auto& [key, value] : argument<std::map<std::string, std::string>>(options, "options", "texts by name"))
          chosen.set(key, value);
        const auto heading = argument<std::string>(title, "title", "a text");
        cli::PictureOptions pictures;
        pictures.defaults = file.pictures;
        const compress::Samples samples = !calibration.is_none() ? samples_from(model, calibration, "calibration")
                                          : !file.calibration.empty()
                                              ? cli::read_samples(model, file.calibration, pictures, file.samples.value_or(0))
                                          : chosen.weights_only.empty() ? compress::synthetic_samples(model, 8, chosen.seed)
                                                                        : compress::Samples();
        compress::Samples others;
        if (!evaluation.is_none())
          others = samples_from(model, evaluation, "evaluation");
        else if (!file.evaluation.empty())
          others = cli::read_samples(model, file.evaluation, pictures, 0);
        using Aims = std::tuple<std::optional<double>, std::optional<double>, std::optional<std::string>>;
        const auto [most_drop, least_sqnr, most_bytes] = argument<Aims>(aims, "aims", "three aims");
        compress::SearchOptions wanted;
        wanted.max_drop = most_drop.value_or(file.max_drop.value_or(-1));
        wanted.min_sqnr = least_sqnr.value_or(wanted.min_sqnr);
        if (most_bytes || !file.max_size.empty()) wanted.most_bytes = cli::bytes_of_size(most_bytes.value_or(file.max_size), "max_size");
        const bool search = argument<bool>(searches, "search", "True or False") || wanted.max_drop >= 0 || wanted.most_bytes;
        if (search && wanted.max_drop < 0 && wanted.min_sqnr <= -1000 && !wanted.most_bytes) wanted.max_drop = 1;
        std::vector<compress::Candidate> tried;
        size_t best = 0;
        bool reached = true;
        file.steps.check(chosen, file.prefix);
        chosen.progress = progress_of(progress);
        std::string page;
        compress::Quantized result = [&] {
          const SignalWatch watch;
          const nb::gil_scoped_release release;
          const Model source = file.steps.empty() ? model : file.steps.apply(model, samples).plain;
          if (search) {
            compress::SearchResult found = compress::search(source, samples, others.count ? others : samples, chosen, wanted);
            tried = std::move(found.candidates), best = found.chosen, reached = found.reached;
            page = compress::report_page(found.quantized.report, heading);
            return std::move(found.quantized);
          }
          compress::Quantized made = compress::quantize(source, samples, chosen);
          if (others.count) {
            made.report.outputs = compress::compare(source, made.model, others);
            made.report.evaluated = others.count;
          }
          page = compress::report_page(made.report, heading);
          return made;
        }();
        return tuple_of(result, page) + nb::make_tuple(rows_of(tried, best), reached);
      },
      nb::arg("model"), nb::arg("calibration").none(), nb::arg("evaluation").none(), nb::arg("options"), nb::arg("title"),
      nb::arg("progress").none(), nb::arg("recipe").none(), nb::arg("aims"), nb::arg("search"), nb::arg("portable"));
  m.def(
      "check_quantization",
      [](nb::handle path) {
        const cli::Recipe recipe = cli::read_recipe(argument<std::string>(path, "path", "a path"));
        compress::QuantizeOptions options;
        for (const auto& [key, value] : recipe.options) options.set(key, value, recipe.prefix);
        recipe.steps.check(options, recipe.prefix);
      },
      nb::arg("path"));
  define_training(m);
}

}  // namespace minnow::python
