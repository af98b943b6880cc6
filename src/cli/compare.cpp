// SPDX-License-Identifier: Apache-2.0
// Compares two models on the same inputs, or a model with tensors from elsewhere: what differs, and where differences begin.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/os.h"
#include "cli/commands.h"
#include "data/npy.h"
#include "graph/graph.h"
#include "passes/difference.h"
#include "runtime/backends.h"
#include "runtime/model.h"

namespace minnow::cli {
namespace {

struct CompareArguments {
  std::string model, other;
  std::vector<std::string> inputs, shapes;
  double tolerance = 1e-4;
  bool optimize = false, all = false, json = false;
  OperatorOptions operators;
  RunOptions run;
  OtherOptions other_run;
};

/// How far two tensors of the same name are apart.
struct Row {
  std::string tensor, node, op, note;  // note: why they could not be compared, or how they were
  double worst = 0, largest = 1;       // max |a - b|; max(1, max |b|)
  bool compared = true;
  double relative() const { return worst / largest; }
};

Shape channels_moved(const Shape& shape, bool to_last) {
  Shape moved = shape;
  for (size_t i = 1; i < shape.rank(); ++i)
    moved[i] = to_last ? shape[i + 1 < shape.rank() ? i + 1 : 1] : shape[i > 1 ? i - 1 : shape.rank() - 1];
  return moved;
}

/// `x`, an image with channels last where `to_last`, else first, the other way round; in f64.
Tensor with_channels_moved(const Tensor& x, bool to_last) {
  const Shape& shape = x.shape();
  const int64_t batch = shape[0], channels = to_last ? shape[1] : shape.back();
  const int64_t places = to_last ? shape.product(2, shape.rank()) : shape.product(1, shape.rank() - 1);
  const std::vector<double> from = widened(x);
  Tensor moved(DType::f64, channels_moved(shape, to_last));
  double* to = moved.writable().data<double>();
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < places; ++p) {
        const int64_t first = (n * channels + c) * places + p, last = (n * places + p) * channels + c;
        to[to_last ? last : first] = from[static_cast<size_t>(to_last ? first : last)];
      }
  return moved;
}

void compare(const Tensor& a, const Tensor& b, Row& row) {
  Tensor x = a;
  if (!(a.shape() == b.shape())) {
    const bool to_last = a.shape().rank() > 2 && channels_moved(a.shape(), true) == b.shape();
    const bool to_first = a.shape().rank() > 2 && channels_moved(a.shape(), false) == b.shape();
    if (!to_last && !to_first) {
      row.compared = false;
      row.note = format("shape {} beside {}", a.shape(), b.shape());
      return;
    }
    x = with_channels_moved(a, to_last);
    row.note = to_last ? "channels moved to the end" : "channels moved to the front";
  }
  if (a.dtype() != b.dtype()) row.note += format("{}{} beside {}", row.note.empty() ? "" : ", ", a.dtype(), b.dtype());
  const Difference apart = difference(b, x);
  row.worst = apart.worst;
  row.largest = apart.largest;
}

/// Loads the model without optimization unless requested, because optimized models keep few names. A model of two files: "a,b".
Model load(const std::string& argument, const CompareArguments& arguments) {
  ConvertOptions options;
  options.operators = arguments.operators.load();
  options.optimize = arguments.optimize ? Optimize::standard : Optimize::none;
  options.warn = [](std::string_view message) { say(format("warning: {}", message)); };
  for (const std::string& text : arguments.inputs)
    if (InputArgument input = parse_input(text); !input.name.empty()) options.keep_inputs.push_back(std::move(input.name));
  std::vector<std::string> paths;
  for (size_t at = 0; at <= argument.size();) {
    const size_t end = os::file_exists(argument) ? argument.size() : std::min(argument.find(',', at), argument.size());
    paths.push_back(argument.substr(at, end - at));
    at = end + 1;
  }
  Progress progress("reading " + argument);
  return convert(paths, options);
}

/// A value that a node of the model makes.
struct Place {
  std::string name;
  const Node* node;
};

/// `made_up`: with values that an importer or a pass has named ("conv#7"), whose names mean something between forms of one file alone.
std::vector<Place> places_of(const Model& model, bool made_up) {
  std::vector<Place> places;
  std::unordered_set<std::string_view> seen;
  for (const Node& node : model.graph().nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (const Value* value = node.output(i); value && value->type.kind == ValueType::Kind::tensor &&
                                               (made_up || value->name().find('#') == std::string::npos) &&
                                               seen.insert(value->name()).second)
        places.push_back({value->name(), &node});
  return places;
}

/// Tensors of a model by name, for a session of its own that gives all of them.
std::unordered_map<std::string, Tensor> run(const Model& model, const std::vector<std::string>& names, std::span<const Tensor> inputs,
                                            const SessionOptions& options) {
  std::unique_ptr<Graph> graph = model.graph().clone();
  std::unordered_map<std::string_view, Value*> by_name;
  for (const Node& node : graph->nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (node.output(i)) by_name.emplace(node.output(i)->name(), node.output(i));
  std::vector<Value*> outputs;
  for (const std::string& name : names) outputs.push_back(by_name.at(name));
  graph->replace_outputs(outputs);
  Session session(Model::from_graph(std::move(graph), model.impl()->custom_operators), options);
  const std::vector<Datum> made = session.run_any(std::vector<Datum>(inputs.begin(), inputs.end()));
  std::unordered_map<std::string, Tensor> tensors;
  for (size_t i = 0; i < names.size(); ++i)
    if (made[i].kind == Datum::Kind::tensor) tensors.emplace(names[i], made[i].tensor);
  return tensors;
}

/// The inputs of `other`, which has them by the same names or else in the same order.
std::vector<Tensor> same_inputs(const Model& model, const Model& other, std::span<const Tensor> inputs) {
  if (model.inputs().size() != other.inputs().size())
    throw InvalidArgument("the models take {} and {} inputs", model.inputs().size(), other.inputs().size());
  std::vector<Tensor> same(inputs.begin(), inputs.end());
  for (size_t i = 0; i < same.size(); ++i)
    for (size_t k = 0; k < inputs.size(); ++k)
      if (model.inputs()[k].name == other.inputs()[i].name) same[i] = inputs[k];
  return same;
}

using Pairs = std::vector<std::pair<Place, std::string>>;

struct Comparison {
  std::vector<Row> rows;  // in the order of the model's nodes
  size_t beyond = 0;      // rows that differ by more than the tolerance, or in shape
  const Row* first = nullptr;
};

/// `pairs`: values of the model, and their names on the other side.
Comparison compare_tensors(const Pairs& pairs, const std::unordered_map<std::string, Tensor>& tensors,
                           const std::unordered_map<std::string, Tensor>& others, double tolerance) {
  Comparison result;
  for (const auto& [place, other] : pairs) {
    const auto a = tensors.find(place.name), b = others.find(other);
    if (a == tensors.end() || b == others.end()) continue;
    Row& row = result.rows.emplace_back(Row{place.name, place.node->name(), place.node->op(), {}});
    compare(a->second, b->second, row);
    if (other != place.name) row.note += (row.note.empty() ? "" : ", ") + format("there \"{}\"", other);
  }
  for (const Row& row : result.rows)
    if (!row.compared || !(row.relative() <= tolerance)) {
      ++result.beyond;
      if (!result.first) result.first = &row;
    }
  return result;
}

/// If tensors have no names in a format, its importer names the results of layer "conv" "conv#1", "conv#2" ...; the last one is the layer's
/// result.
template <class FileOf>
void add_layers(const Model& model, const FileOf& file_of, Pairs& pairs) {
  std::unordered_set<std::string> named;
  for (const auto& pair : pairs) named.insert(pair.second);
  std::vector<Place> places = places_of(model, true);
  std::unordered_map<const Node*, size_t> order;
  for (size_t i = 0; i < places.size(); ++i) order.emplace(places[i].node, i);
  for (size_t i = places.size(); i-- > 0;) {
    const std::string layer = places[i].name.substr(0, places[i].name.rfind('#'));
    if (layer.size() < places[i].name.size() && !layer.empty() && os::file_exists(file_of(layer)) && named.insert(layer).second)
      pairs.emplace_back(places[i], layer);
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const auto& a, const auto& b) { return order.at(a.first.node) < order.at(b.first.node); });
}

std::string short_form(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Json json_of(const Row& row) {
  Json json = {{"tensor", row.tensor}, {"node", row.node}, {"operator", row.op}};
  if (row.compared) json["difference"] = row.worst, json["relative"] = row.relative();
  if (!row.note.empty()) json["note"] = row.note;
  return json;
}

Json json_of(const RunOptions& options) {
  Json json = {{"threads", options.threads},
               {"backend", options.backend},
               {"precision", options.precision},
               {"memory", options.memory},
               {"memory-limit", options.memory_limit_mb}};
  for (const auto& [name, text] : {std::pair("power", &options.power),
                                   {"tuning", &options.tuning},
                                   {"weight-cache", &options.weight_cache},
                                   {"kernel-cache", &options.kernel_cache}})
    if (!text->empty()) json[name] = *text;
  return json;
}

void print(const Row& row) {
  std::cout << (row.compared ? "  " + short_form(row.worst) + " of " + short_form(row.largest) : std::string("  not comparable")) << "  \""
            << row.tensor << "\" (" << row.op << ")" << (row.note.empty() ? "" : ": " + row.note) << '\n';
}

/// The exit status.
int compare_command(const CompareArguments& arguments) {
  const Model model = load(arguments.model, arguments);
  const bool folder = std::filesystem::is_directory(arguments.other) && !os::file_exists(arguments.other + "/saved_model.pb");
  std::vector<std::string> inputs = arguments.inputs;
  const auto file_of = [&](const std::string& name) { return arguments.other + "/" + data::npy_name(name) + ".npy"; };
  if (folder)
    for (const ValueDescription& input : model.inputs()) {
      const bool given =
          std::any_of(inputs.begin(), inputs.end(), [&](const std::string& text) { return parse_input(text).name == input.name; });
      if (!given && os::file_exists(file_of(input.name))) inputs.push_back(input.name + "=" + file_of(input.name));
    }
  const std::vector<Tensor> tensors_in = make_inputs(model, inputs, arguments.shapes, !folder);
  const std::optional<Model> other = folder ? std::nullopt : std::optional(load(arguments.other, arguments));
  const std::vector<Tensor> other_inputs = other ? same_inputs(model, *other, tensors_in) : std::vector<Tensor>();

  const bool one_file =
      other && !model.graph().metadata.source_hash.empty() && model.graph().metadata.source_hash == other->graph().metadata.source_hash;
  const std::vector<Place> places = places_of(model, one_file);
  // Values of the same name; outputs in the same order where their names are not the same.
  Pairs pairs;
  std::unordered_set<std::string> there;
  if (other)
    for (const Place& place : places_of(*other, one_file)) there.insert(place.name);
  for (const Place& place : places)
    if (folder ? os::file_exists(file_of(place.name)) : there.contains(place.name)) pairs.emplace_back(place, place.name);
  if (folder) add_layers(model, file_of, pairs);
  if (other && model.outputs().size() == other->outputs().size())
    for (size_t i = 0; i < model.outputs().size(); ++i) {
      const std::string &name = model.outputs()[i].name, &called = other->outputs()[i].name;
      const auto place = std::find_if(places.begin(), places.end(), [&](const Place& each) { return each.name == name; });
      if (name != called && !there.contains(name) && there.contains(called) && place != places.end()) pairs.emplace_back(*place, called);
    }
  if (pairs.empty()) throw InvalidArgument("{} has no tensor whose name is one of {}", arguments.other, arguments.model);

  std::vector<std::string> names, other_names;
  for (const auto& [place, called] : pairs) names.push_back(place.name), other_names.push_back(called);
  std::unordered_map<std::string, Tensor> tensors, others;
  {
    Progress progress("running " + arguments.model);
    tensors = run(model, names, tensors_in, arguments.run.session(model));
  }
  if (other) {
    Progress progress("running " + arguments.other);
    others = run(*other, other_names, other_inputs, arguments.other_run.over(arguments.run).session(*other));
  } else {
    for (const std::string& name : other_names) others.emplace(name, data::read_npy(file_of(name)));
  }
  const Comparison result = compare_tensors(pairs, tensors, others, arguments.tolerance);

  if (arguments.json) {
    Json rows = Json::array();
    for (const Row& row : result.rows) rows.push_back(json_of(row));
    print_json({{"compared", result.rows.size()},
                {"beyond_tolerance", result.beyond},
                {"tolerance", arguments.tolerance},
                {"options", json_of(arguments.run)},
                {"other_options", other ? json_of(arguments.other_run.over(arguments.run)) : Json()},
                {"first", result.first ? json_of(*result.first) : Json()},
                {"tensors", rows}});
    return result.beyond ? kDiffers : 0;
  }
  if (arguments.all)
    for (const Row& row : result.rows) print(row);
  std::cout << result.rows.size() << " tensors compared, " << result.beyond << " differ by more than " << arguments.tolerance
            << " of max(1, largest)\n";
  const auto worst = std::max_element(result.rows.begin(), result.rows.end(),
                                      [](const Row& a, const Row& b) { return a.compared && b.compared && a.relative() < b.relative(); });
  if (result.first) {
    std::cout << "the first node that deviates is \"" << result.first->node << "\" (" << result.first->op << "):\n";
    print(*result.first);
  }
  if (worst != result.rows.end()) {
    std::cout << "the largest difference:\n";
    print(*worst);
  }
  return result.beyond ? kDiffers : 0;
}

}  // namespace

void add_compare(CLI::App& app) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Compares the tensors of two models, or of a model and a folder, and names the first node that deviates");
  command->add_option("MODEL", arguments->model, "a model of any format (of two files: a,b)")->required()->type_name("");
  command->add_option("OTHER", arguments->other, "another, or a folder of .npy files named after tensors, as `minnow run` names them")
      ->required()
      ->type_name("");
  add_repeated(*command, "-i,--input", arguments->inputs,
               "name=FILE, or FILE for the next input (.npy, .npz or a picture); what is not given comes from the folder, or is random")
      ->type_name("FILE");
  add_repeated(*command, "-s,--shape", arguments->shapes, "dimensions of a random input: name=1x3x224x224")->type_name("SHAPE");
  command->add_option("--tolerance", arguments->tolerance, "of max(1, the largest magnitude of the other tensor)")
      ->check(number_from(0, HUGE_VAL))
      ->type_name("X")
      ->capture_default_str();
  command->add_flag("--optimize", arguments->optimize, "optimize models of foreign formats first; fewer tensors keep their names");
  command->add_flag("--all", arguments->all, "print every tensor");
  arguments->operators.add_to(*command);
  arguments->run.add_to(*command);
  arguments->other_run.add_to(*command);
  add_json(*command, arguments->json);
  command->footer(
      "Images whose channels lie first on one side and last on the other are turned. Exit status, as diff has it:\n"
      "0 where nothing differs by more than the tolerance, 1 where something does, 2 for an error.\n\n"
      "  minnow compare model.onnx model.minnow\n"
      "  minnow compare model.onnx model.onnx --backend cpu --other-backend reference --all\n"
      "  minnow compare model.minnow model.minnow --other-precision low --tolerance 0.01\n"
      "  minnow compare model.tflite tensors/ --input image=x.npy --json");
  command->callback([arguments] {
    if (const int status = compare_command(*arguments)) throw CLI::RuntimeError(status);
  });
}

}  // namespace minnow::cli
