// SPDX-License-Identifier: Apache-2.0
#include "conformance/case.h"

#include <minnow/data.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/os.h"
#include "importers/onnx/data.h"
#include "importers/onnx/wire.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

namespace fs = std::filesystem;

Datum read_datum(const fs::path& path, const ValueType& type) {
  const auto file = os::MappedFile::open(path.string());
  const std::string_view bytes(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const onnx::DataReader reader({file->bytes(), file}, nullptr);
  const std::string where = path.filename().string();
  try {
    switch (type.kind) {
      case ValueType::Kind::sequence:
        return reader.sequence(bytes, where);
      case ValueType::Kind::optional:
        return reader.optional(bytes, where);
      default:
        return Datum(reader.tensor(bytes, where));
    }
  } catch (const Malformed& error) {
    throw InvalidModel("{}: {}", where, error.what);
  }
}

std::vector<DataSet> read_sets(const Case& one, const Graph& graph) {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(one.data))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::vector<DataSet> sets;
  for (const fs::path& folder : folders) {
    DataSet& set = sets.emplace_back();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const fs::path path = folder / ("input_" + std::to_string(i) + ".pb");
      if (!fs::exists(path)) throw InvalidArgument("{} has no {}", folder.filename().string(), path.filename().string());
      set.inputs.push_back(read_datum(path, graph.inputs()[i]->type));
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const fs::path path = folder / ("output_" + std::to_string(i) + ".pb");
      if (fs::exists(path)) set.outputs.push_back(read_datum(path, graph.outputs()[i]->type));
    }
  }
  return sets;
}

/// The corpus by format: the suite's name, the model's file, and how many cases there are where the manifest is not there to count them.
struct CorpusSuite {
  std::string_view suite, format, model;
  size_t cases;
};
constexpr CorpusSuite kCorpus[] = {
    {"corpus", "onnx", "model.onnx", 22},
    {"corpus-tflite", "tflite", "model.tflite", 26},
    {"corpus-caffe", "caffe", "model.caffemodel", 10},
    {"corpus-tensorflow", "tensorflow", "frozen.pb", 14},
    {"corpus-mnn", "mnn", "model.mnn", 12},
    {"corpus-torchscript", "torchscript", "model.pt", 14},
};

std::vector<Case> find_corpus(const CorpusSuite& wanted, size_t& missing) {
  std::vector<Case> cases;
  std::ifstream file(corpus_dir() / "manifest.json");
  if (!file) {
    missing = wanted.cases;
    return cases;
  }
  const std::string format(wanted.format);
  const nlohmann::json manifest = nlohmann::json::parse(file);
  for (const auto& row : manifest.at("cases")) {
    if (row.at("format") != format) continue;
    Case one;
    one.suite = wanted.suite;
    one.name = row.at("name");
    one.data = corpus_dir() / format / one.name / "ref.npz";
    one.model = corpus_dir() / format / one.name / wanted.model;
    if (!fs::exists(one.model)) one.model = models_dir() / format / one.name / wanted.model;
    if (format == "torchscript" && !fs::exists(one.model)) one.model.replace_extension(".jit");
    if (format == "tensorflow" && !fs::exists(one.model)) one.model.replace_filename("saved_model.pb");
    if (format == "caffe") {
      const fs::path folder = one.model.parent_path();
      one.second_file = fs::exists(folder / "deploy.prototxt") ? folder / "deploy.prototxt" : folder / "model.prototxt";
    }
    // Where activations are quantized while running, an engine that keeps more digits differs by parts of a step.
    one.tolerance = row.at("ops").contains("com.microsoft.DynamicQuantizeLSTM") ? 1e-3 : 1e-4;
    one.exact = row.value("exact", false);
    const auto spread = row.find("engine_spread");
    if (spread == row.end() || spread->is_null()) one.tolerance *= 2;  // one answer of one mode of the reference engine
    one.spread = spread == row.end() || spread->is_null() ? 0.0 : spread->get<double>();
    for (const auto& input : row.at("inputs")) {
      one.input_names.push_back(input.at("name"));
      if (input.contains("hint")) one.hints[input.at("name")] = input.at("hint").get<std::vector<int64_t>>();
    }
    for (const auto& output : row.at("outputs")) one.output_names.push_back(output.at("name"));
    if (fs::exists(one.model) && fs::exists(one.data))
      cases.push_back(std::move(one));
    else
      ++missing;
  }
  return cases;
}

std::map<std::string, Tensor> read_arrays(const fs::path& path) {
  const auto found = data::read_npz(path.string());
  return {found.begin(), found.end()};
}

/// The records of corner_cases.npz: name, model, inputs and outputs, each a count or a length in four bytes and then its bytes.
std::vector<Case> read_corner_cases() {
  constexpr size_t kError = 0xffffffff;  // for the number of outputs
  const fs::path path = source_dir() / "tests" / "conformance" / "corner_cases.npz";
  const auto records = std::make_shared<const Tensor>(read_arrays(path).at("cases"));
  std::string_view left(static_cast<const char*>(records->data()), records->bytes());
  const auto number = [&] {
    uint32_t value = 0;
    if (left.size() < sizeof value) throw InvalidArgument("{}: is cut off", path.string());
    std::memcpy(&value, left.data(), sizeof value);
    left.remove_prefix(sizeof value);
    return static_cast<size_t>(value);
  };
  const auto blob = [&] {
    const size_t size = number();
    if (size > left.size()) throw InvalidArgument("{}: is cut off", path.string());
    const std::string_view bytes = left.substr(0, size);
    left.remove_prefix(size);
    return bytes;
  };
  std::vector<Case> cases;
  while (!left.empty()) {
    Case& one = cases.emplace_back();
    one.suite = "corner";
    one.name = blob();
    one.records = records;
    one.bytes = std::as_bytes(std::span<const char>(blob()));
    for (size_t count = number(); count--;) one.inputs.push_back(blob());
    const size_t outputs = number();
    one.fails = outputs == kError;
    for (size_t i = 0; !one.fails && i < outputs; ++i) one.outputs.push_back(blob());
  }
  return cases;
}

}  // namespace

fs::path onnx_cases_dir() {
  const char* other = std::getenv("MINNOW_ONNX_CASES");
  return other && *other ? fs::path(other) : models_dir() / "onnx_conformance";
}

std::vector<Case> find_cases(const std::string& suite, size_t& missing) {
  std::vector<Case> cases;
  const auto corpus = std::find_if(std::begin(kCorpus), std::end(kCorpus), [&](const CorpusSuite& row) { return row.suite == suite; });
  if (corpus != std::end(kCorpus)) {
    cases = find_corpus(*corpus, missing);
  } else if (suite == "corner") {
    cases = read_corner_cases();
  } else {
    fs::path folder = onnx_cases_dir() / suite;
    if (!fs::is_directory(folder)) folder = models_dir() / "onnx_generated" / suite;
    if (fs::is_directory(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (fs::exists(entry.path() / "model.onnx")) {
          Case& one = cases.emplace_back();
          one.suite = suite, one.name = entry.path().filename().string(), one.model = entry.path() / "model.onnx", one.data = entry.path();
        }
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

std::vector<DataSet> read_data(const Case& one, const Graph& graph) {
  if (!one.bytes.empty()) {
    const onnx::DataReader reader({{static_cast<const std::byte*>(one.records->data()), one.records->bytes()}, one.records}, nullptr);
    DataSet set;
    for (const std::string_view bytes : one.inputs) set.inputs.push_back(Datum(reader.tensor(bytes, "an input")));
    for (const std::string_view bytes : one.outputs) set.outputs.push_back(Datum(reader.tensor(bytes, "an output")));
    return {std::move(set)};
  }
  if (one.data.extension() != ".npz") return read_sets(one, graph);
  const std::map<std::string, Tensor> arrays = read_arrays(one.data);
  const auto array = [&](const char* stem, const std::vector<std::string>& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw InvalidArgument("the manifest has no \"{}\"", name);
    return Datum(arrays.at(stem + std::to_string(at - names.begin())));
  };
  // Tensors without a name go by their place.
  const auto names = [](std::vector<std::string> list, const char* stem) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i].empty()) list[i] = stem + std::to_string(i);
    return list;
  };
  const std::vector<std::string> input_names = names(one.input_names, "input"), output_names = names(one.output_names, "output");
  DataSet set;
  // If the reference engine renamed some outputs, the remaining names correspond in their order.
  const auto add = [&](const char* stem, const std::vector<std::string>& known, const std::vector<std::string>& wanted,
                       std::vector<Datum>& to) {
    std::vector<std::string> left = known;
    for (const std::string& name : wanted) std::erase(left, name);
    for (std::string name : wanted) {
      if (std::find(known.begin(), known.end(), name) == known.end() && !left.empty()) {
        name = left.front();
        left.erase(left.begin());
      }
      to.push_back(array(stem, known, name));
    }
  };
  std::vector<std::string> wanted_inputs, wanted_outputs;
  for (const auto& input : graph.inputs()) wanted_inputs.push_back(input->name());
  for (const Value* output : graph.outputs()) wanted_outputs.push_back(output->name());
  add("in_", input_names, wanted_inputs, set.inputs);
  add("out_", output_names, wanted_outputs, set.outputs);
  if (graph.inputs().empty()) return {std::move(set)};
  const auto& first = graph.inputs()[0]->type.dims;
  if (graph.states().empty() || !first || set.inputs[0].tensor.shape().rank() != first->size() + 1) return {std::move(set)};
  // A model with states: the first dimension of every array counts the runs, one after the other.
  const auto slice = [](const Tensor& x, int64_t i) {
    Shape shape = x.shape();
    if (shape.empty()) return Datum(x);  // the same in each run
    shape.erase(0);
    return Datum(
        Tensor(x.dtype(), shape, x.view().data<std::byte>() + static_cast<size_t>(i * shape.elements()) * size_of(x.dtype()), x.owner()));
  };
  std::vector<DataSet> steps;
  for (int64_t i = 0; i < set.inputs[0].tensor.shape()[0]; ++i) {
    DataSet& step = steps.emplace_back();
    for (const Datum& input : set.inputs) step.inputs.push_back(slice(input.tensor, i));
    for (const Datum& output : set.outputs) step.outputs.push_back(slice(output.tensor, i));
  }
  return steps;
}

}  // namespace minnow::test
