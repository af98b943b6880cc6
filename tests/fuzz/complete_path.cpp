// SPDX-License-Identifier: Apache-2.0
#include "fuzz/complete_path.h"

#include <minnow/convert.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "base/numeric.h"
#include "graph/model_file.h"
#include "graph/model_header.h"
#include "importers/caffe/importer.h"
#include "importers/finish.h"
#include "importers/formats.h"
#include "ops/infer.h"
#include "passes/compare.h"
#include "passes/difference.h"
#include "passes/rewrite.h"
#include "passes/trail.h"

namespace minnow::fuzz {
namespace {

constexpr double kMostElements = 1 << 16;  // of an input
constexpr int64_t kMostOutput = 1 << 22;   // elements
constexpr size_t kMemoryLimit = size_t{96} << 20;
constexpr double kTimeLimit = 2;  // seconds of a run

std::vector<std::string_view> operator_names(std::string_view format) {
  std::vector<std::string_view> names;
  for (const Format& each : import_formats())
    if (each.name == format && each.operators)
      for (const ForeignOperator& op : each.operators()) names.push_back(op.name);
  return names;
}

std::string mutate_onnx(std::string bytes, Random& random) {
  static const auto names = operator_names("onnx");
  return mutate_protobuf(std::move(bytes), random, names);
}
std::string mutate_tensorflow(std::string bytes, Random& random) {
  static const auto names = operator_names("tensorflow");
  return mutate_protobuf(std::move(bytes), random, names);
}
std::string mutate_caffe(std::string bytes, Random& random) {
  static const auto names = operator_names("caffe");
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  std::string text = bytes.substr(0, end), weights = end < bytes.size() ? bytes.substr(end + 1) : std::string();
  if (weights.empty() || !random.one_in(3))
    text = mutate_text(std::move(text), random, names);
  else
    weights = mutate_protobuf(std::move(weights), random, names);
  return text + '\0' + weights;
}
std::string mutate_torchscript(std::string bytes, Random& random) {
  // "aten::relu" is "torch.relu" in a program.
  static const std::vector<std::string> written = [] {
    std::vector<std::string> made;
    for (const std::string_view name : operator_names("torchscript"))
      if (name.starts_with("aten::")) made.push_back("torch." + std::string(name.substr(6)));
    return made;
  }();
  static const std::vector<std::string_view> names(written.begin(), written.end());
  return mutate_archive(std::move(bytes), random, names);
}
std::string mutate_flat(std::string bytes, Random& random) { return mutate_flatbuffer(std::move(bytes), random); }
std::string mutate_minnow(std::string bytes, Random& random) {
  return mutate_flatbuffer(std::move(bytes), random, random.one_in(16) ? 0 : sizeof(file::Header));
}

constexpr Target kTargets[] = {
    {"onnx", mutate_onnx},     {"tensorflow", mutate_tensorflow},
    {"caffe", mutate_caffe},   {"torchscript", mutate_torchscript},
    {"tflite", mutate_flat},   {"mnn", mutate_flat},
    {"minnow", mutate_minnow},
};

template <class... Args>
[[noreturn]] void broken(std::string_view pattern, const Args&... args) {
  throw std::logic_error(format(pattern, args...));
}

/// An error of ours that no file may cause.
void check_kind(const Error& error) {
  if (error.kind() == ErrorKind::internal) broken("internal error: {}", error.what());
}
/// Limits are met at other places by a graph that was rewritten.
bool is_limit(const Error& error) {
  return error.kind() == ErrorKind::out_of_memory || error.kind() == ErrorKind::cancelled || error.kind() == ErrorKind::unsupported;
}

// Inputs whose rank a file leaves open get one of these.
const std::vector<int64_t> kShapes[] = {{4}, {2, 6}, {3, 5, 6}, {1, 2, 8, 8}, {1, 3, 9, 9}};

Model import(const Target& target, std::string_view bytes, uint64_t seed) {
  ConvertOptions options;
  options.optimize = Optimize::none;
  options.format = target.format;
  options.warn = [](std::string_view) {};
  if (target.format != "caffe") {
    const auto convert = [&] { return convert_memory(std::as_bytes(std::span(bytes.data(), bytes.size())), options); };
    Model model = convert();
    for (const auto& input : model.graph().inputs())
      if (input->type.kind == ValueType::Kind::tensor && !input->type.dims)
        options.shapes[input->name()] = kShapes[seed++ % std::size(kShapes)];
    return options.shapes.empty() ? model : convert();
  }
  ImportOptions import;  // two files
  import.warn = options.warn;
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  std::unique_ptr<Graph> graph =
      caffe::import_model(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size())), import, "net.prototxt", "net.caffemodel");
  make_names_printable(*graph);
  return convert_model(Model::from_graph(std::move(graph)), options);
}

std::string text_of(const Graph& graph) {
  const std::unique_ptr<Graph> copy = graph.clone();
  copy->source.clear();
  return to_text(*copy);
}

/// The model as it comes back from a .minnow file.
Model written_and_read(const Model& model) {
  std::vector<std::byte> bytes;
  write_model_to(model.graph(), [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  const Model again = Model::from_memory(bytes);
  const std::string before = text_of(model.graph()), after = text_of(again.graph());
  if (before != after) {
    const size_t at = static_cast<size_t>(std::mismatch(before.begin(), before.end(), after.begin(), after.end()).first - before.begin());
    const size_t from = at > 60 ? at - 60 : 0;
    broken("the graph changed when it was written and read again: \"{}\" became \"{}\"", before.substr(from, 160), after.substr(from, 160));
  }
  return again;
}

bool can_be_run(const Graph& graph, const CompareOptions& options) {
  for (const auto& input : graph.inputs()) {
    if (input->type.kind != ValueType::Kind::tensor) continue;
    if (size_of(input->type.dtype) == 0) return false;
    double elements = 1;
    if (input->type.dims)
      for (const Dim& dim : *input->type.dims) elements *= static_cast<double>(dim.known() ? dim.size : options.other_dims);
    if (elements > kMostElements) return false;
  }
  return true;
}

std::vector<Datum> run(const Model& model, const char* backend, std::span<const Datum> inputs, const char* precision = "normal") {
  SessionOptions options;
  options.precision = precision;
  options.threads = 1;
  options.backends = {backend};
  options.memory_limit = kMemoryLimit;
  options.time_limit = kTimeLimit;
  return Session(model, options).run_any(inputs);
}

/// Some dtype of a value is narrower than f32, so that rounding errors are large.
bool has_narrow_floats(Graph& graph) {
  bool found = false;
  for_each_graph(graph, [&](Graph& each) {
    const auto look = [&](const Value* value) {
      const DType dtype = value ? value->type.element_dtype() : DType::undefined;
      found = found || (is_float(dtype) && size_of(dtype) < 4);
    };
    for (const auto& input : each.inputs()) look(input.get());
    for (const auto& constant : each.constants()) look(constant.get());
    for (Node& node : each.nodes()) {
      for (size_t i = 0; i < node.output_count(); ++i) look(node.output(i));
      found = found || node.op() == "Cast";
    }
  });
  return found;
}

bool has_subgraphs(const Graph& graph) {
  for (const Node& node : graph.nodes())
    for (const auto& [name, attribute] : node.attributes)
      if (std::holds_alternative<Subgraph>(attribute)) return true;
  return false;
}

bool draws_numbers(Graph& graph) {
  bool found = false;
  for_each_graph(graph, [&](Graph& each) {
    for (Node& node : each.nodes()) found = found || is_drawn(OperatorSet::builtin(), node);
  });
  return found;
}

/// Comparisons take several times the memory of the outputs.
bool is_comparable(const Datum& datum) {
  if (datum.kind == Datum::Kind::tensor && datum.tensor.elements() > kMostOutput) return false;
  return std::all_of(datum.items.begin(), datum.items.end(), is_comparable);
}

bool all_finite(const Datum& datum) {
  if (datum.kind == Datum::Kind::tensor && is_float(datum.tensor.dtype()))
    for (const double value : widened(datum.tensor))
      if (!std::isfinite(value)) return false;
  return std::all_of(datum.items.begin(), datum.items.end(), all_finite);
}

/// Numbers near the ends of f32 overflow or vanish at one place in one order of computing and at another in the next.
bool has_extreme_numbers(Graph& graph) {
  const auto is_extreme = [](double x) { return !(std::fabs(x) <= 1e15) || (x != 0 && std::fabs(x) < 1e-15); };
  bool found = false;
  for_each_graph(graph, [&](Graph& each) {
    for (const auto& constant : each.constants())
      if (is_float(constant->constant()->dtype()))
        for (const double x : widened(*constant->constant())) found = found || is_extreme(x);
    for (const Node& node : each.nodes())
      for (const auto& [name, value] : node.attributes) {
        if (const float* x = std::get_if<float>(&value))
          found = found || is_extreme(static_cast<double>(*x)) || std::fabs(*x) > 1e9f;  // exponents
        if (const auto* list = std::get_if<std::vector<float>>(&value))
          for (const float x : *list) found = found || is_extreme(static_cast<double>(x));
      }
  });
  return found;
}

/// The largest difference in multiples of the tolerance; infinite if kinds, dtypes or shapes differ.
double distance(const Datum& a, const Datum& b, double tolerance) {
  // After zero steps, only the declared shapes of a loop's outputs are known.
  if (a.kind == Datum::Kind::tensor && b.kind == a.kind && a.tensor.dtype() == b.tensor.dtype() && a.tensor.elements() == 0 &&
      b.tensor.elements() == 0)
    return 0;
  if (!same_form(a, b)) return INFINITY;
  double most = 0;
  if (a.kind == Datum::Kind::tensor && a.tensor.dtype() != DType::string) {
    const Difference found = difference(a.tensor, b.tensor);
    most = found.worst / (tolerance * found.largest);
  }
  for (size_t i = 0; i < a.items.size(); ++i) most = std::max(most, distance(a.items[i], b.items[i], tolerance));
  return most;
}

std::string form_of(const Datum& datum) {
  return datum.kind == Datum::Kind::tensor ? format("{}{}", datum.tensor.dtype(), datum.tensor.shape())
                                           : format("{} items", datum.items.size());
}

Tensor shaken(const Tensor& tensor, Random& random) {
  if (!is_float(tensor.dtype()) || size_of(tensor.dtype()) < 4) return tensor;
  std::vector<double> values = widened(tensor);
  for (double& value : values) value *= 1 + (static_cast<double>(random.below(2001)) - 1000) * 1e-8;
  Tensor made(tensor.dtype(), tensor.shape());
  narrow(tensor.dtype(), values.data(), values.size(), made.writable().data());
  return made;
}

/// Multiplies intermediate values of the main graph with known shapes by numbers of about 1.
void shake_intermediates(Graph& graph, std::span<const Datum> inputs, Random& random) {
  std::map<std::string, Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].kind == Datum::Kind::tensor) shapes[graph.inputs()[i]->name()] = inputs[i].tensor.shape();
  infer_static_types(OperatorSet::builtin(), graph, shapes);
  std::vector<Value*> values;
  for (Node& node : graph.nodes())
    for (size_t i = 0; i < node.output_count(); ++i)
      if (Value* value = node.output(i); value && value->type.kind == ValueType::Kind::tensor && value->type.dtype == DType::f32 &&
                                         value->type.is_static() && value->type.shape().elements() <= kMostElements)
        values.push_back(value);
  for (Value* value : values) {
    Tensor ones(DType::f32, value->type.shape());
    std::fill_n(ones.writable().data<float>(), ones.elements(), 1.0f);
    Value& factors = graph.add_constant(shaken(ones, random));
    Node& product = graph.add_node("Mul", {&factors, &factors}, 1, {}, {}, value->producer()->next());
    value->replace_all_uses_with(*product.output(0));
    product.set_input(0, value);
  }
}

/// True if changes of 1e-5 in inputs, weights and intermediate values change the outputs by more than a twentieth of what is allowed.
bool is_ill_conditioned(const Model& model, std::span<const Datum> inputs, std::span<const Datum> outputs, double tolerance) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    std::unique_ptr<Graph> graph = model.graph().clone();
    for_each_graph(*graph, [&](Graph& each) {
      for (const auto& constant : each.constants()) constant->set_constant(shaken(*constant->constant(), random));
    });
    std::vector<Datum> others(inputs.begin(), inputs.end());
    for (Datum& input : others)
      if (input.kind == Datum::Kind::tensor) input.tensor = shaken(input.tensor, random);
    try {
      shake_intermediates(*graph, inputs, random);
      const std::vector<Datum> changed = run(Model::from_graph(std::move(graph)), "reference", others);
      for (size_t i = 0; i < outputs.size(); ++i)
        if (distance(outputs[i], changed[i], tolerance) > 0.05) return true;
    } catch (const Error&) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target& find_target(std::string_view format) {
  for (const Target& target : kTargets)
    if (target.format == format) return target;
  throw std::runtime_error("no fuzz target \"" + std::string(format) + "\"");
}

Outcome run_complete_path(const Target& target, std::string_view bytes) {
  // Files of one size would all get the same sizes if the seed came from that.
  const uint64_t seed = std::hash<std::string_view>()(bytes);
  Outcome outcome;
  Reached& reached = outcome.reached;
  try {
    recognize_format(std::as_bytes(std::span(bytes.data(), bytes.size())));
    const Model imported = import(target, bytes, seed / 16);
    reached = Reached::imported;
    CompareOptions sizes;
    sizes.seed = seed;
    sizes.other_dims = std::array{1, 2, 6, 16}[seed % 4];
    sizes.channels = std::array{0, 1, 2, 3}[seed / 4 % 4];
    const bool runnable = can_be_run(imported.graph(), sizes);
    const std::vector<Datum> inputs = runnable ? random_inputs(imported.graph(), sizes) : std::vector<Datum>();

    // The error of optimizing is raised after the imported graph was run: where that runs, there must be none.
    std::optional<Error> refusal;
    std::vector<Datum> outputs;
    const auto optimized = [&]() -> std::optional<Model> {
      try {
        return written_and_read(convert_model(imported));
      } catch (const Error& error) {
        check_kind(error);
        refusal = error;
        return {};
      }
    }();
    if (!runnable) return outcome;
    reached = Reached::planned;
    std::vector<Datum> expected = run(imported, "reference", inputs);
    reached = Reached::ran;
    if (!std::all_of(expected.begin(), expected.end(), is_comparable)) return outcome;
    if (!refusal) {
      try {
        outputs = run(*optimized, "cpu", inputs);
      } catch (const Error& error) {
        check_kind(error);
        refusal = error;
      }
    }
    if (refusal) {
      // A branch that no run takes may be wrong, and an optimized graph is checked as a whole.
      if (!is_limit(*refusal) && !has_subgraphs(imported.graph()))
        broken("the imported graph runs, the optimized one does not: {}", refusal->what());
      return outcome;
    }
    const std::unique_ptr<Graph> graph = imported.graph().clone();
    if (outputs.size() != expected.size()) broken("{} outputs became {}", expected.size(), outputs.size());
    if (draws_numbers(*graph) || has_extreme_numbers(*graph) || !std::all_of(expected.begin(), expected.end(), all_finite)) return outcome;
    const double tolerance = has_narrow_floats(*graph) ? 0.05 : 1e-3;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (const double found = distance(expected[i], outputs[i], tolerance);
          // Errors of Winograd's method are a part of the largest number among all that are summed.
          found > 1 && distance(expected[i], run(*optimized, "cpu", inputs, "high")[i], tolerance) > 1 &&
          !is_ill_conditioned(imported, inputs, expected, tolerance))
        broken(
            "output {} differs between the imported graph on the reference backend ({}) and the optimized one on the cpu backend ({}), by "
            "{} "
            "times what is allowed",
            i, form_of(expected[i]), form_of(outputs[i]), found);
    reached = Reached::compared;
  } catch (const Error& error) {
    check_kind(error);
    outcome.error = error.what();
  }
  return outcome;
}

}  // namespace minnow::fuzz
