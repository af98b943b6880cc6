// SPDX-License-Identifier: Apache-2.0
// The way from files to an optimized model, in order: import, rename, fix shapes, optimize, verify.
#include <minnow/convert.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/placeholder.h"
#include "base/sha256.h"
#include "base/text.h"
#include "graph/model_file.h"
#include "importers/finish.h"
#include "importers/formats.h"
#include "importers/read_callback.h"
#include "importers/source.h"
#include "ops/infer.h"
#include "ops/stored_weights.h"
#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "passes/verify.h"

namespace minnow {
namespace {

constexpr size_t kHeadBytes = 64 * 1024;
// Memory of a conversion. 8-bit weights that become f32 and are computed with in f64 take 4 and two times 8 bytes for one of the file,
// one tensor at a time.
constexpr size_t kLeastMemory = size_t{256} << 20, kBytesPerFileByte = 16;

std::shared_ptr<MemoryAccount> account_of(const ConvertOptions& options) {
  return options.memory_limit ? std::make_shared<MemoryAccount>(options.memory_limit)
                              : std::make_shared<MemoryAccount>(kLeastMemory, kBytesPerFileByte);
}

/// Converts on a separate memory account. `source`: the model's name in errors.
Model converted(const std::string& source, const ConvertOptions& options, FunctionRef<Model()> convert) try {
  const std::shared_ptr<MemoryAccount> account = account_of(options);
  const ChargeTo conversion(account);
  try {
    return convert();
  } catch (const OutOfMemory& error) {
    if (std::string_view(error.what()).starts_with(source)) throw;
    throw out_of_memory("{}: {}", source, error.what());
  }
} catch (...) {
  throw_as_error();
}

std::string format_names() {
  std::string names;
  for (const Format& format : import_formats()) names += (names.empty() ? "" : ", ") + std::string(format.name);
  return names;
}

/// The format named by the options, else the format recognized from the first bytes; null if there is none.
const Format* format_of(std::span<const std::byte> bytes, const ConvertOptions& options) {
  if (options.format.empty()) return recognize_format(bytes.first(std::min(bytes.size(), kHeadBytes)));
  for (const Format& format : import_formats())
    if (format.name == options.format) return &format;
  throw InvalidArgument("there is no format \"{}\"; there are {}", options.format, format_names());
}

void refuse_placeholder(const std::string& name, std::span<const std::byte> bytes) {
  if (const std::string reason = placeholder(bytes); !reason.empty()) throw InvalidModel("{}: {}", name, reason);
}

ImportOptions import_options(const ConvertOptions& options, const Format& format) {
  if (!options.signature.empty() && !format.has_signatures)
    throw InvalidArgument("models of the format {} have no signatures of which \"{}\" could be read", format.name, options.signature);
  ImportOptions made;
  made.operators = options.operators.get();
  const std::function<void(std::string_view)> warn = options.warn ? options.warn : log_message;
  made.warn = [warn](std::string_view sentence) { warn(printable(sentence)); };
  made.keep_inputs = options.keep_inputs;
  made.shapes = options.shapes;
  made.shapes_in_order = options.shapes_in_order;
  made.signature = options.signature;
  return made;
}

/// Runs the work on one model, which consists of these files. Errors that name none of them get the first file's name in front, because
/// importers and passes often do not know it.
template <class F>
auto naming(const std::vector<std::string>& paths, F work) {
  const std::string source = name_of_file(paths[0]);
  const auto says_it = [&](const Error& error) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
      return std::string_view(error.what()).find(name_of_file(path)) != std::string_view::npos;
    });
  };
  try {
    return work();
  } catch (const InvalidModel& error) {
    if (says_it(error)) throw;
    throw InvalidModel("{}: {}", source, error.what());
  } catch (const InvalidArgument& error) {
    if (says_it(error)) throw;
    throw InvalidArgument("{}: {}", source, error.what());
  } catch (const Unsupported& error) {
    if (says_it(error)) throw;
    throw Unsupported("{}: {}", source, error.what());
  }
}

struct Imported {
  std::unique_ptr<Graph> graph;
  bool was_converted = false;  // the file was written by a conversion
};

Imported finish_metadata(std::unique_ptr<Graph> graph, const Format& format, Sha256& hash) {
  const bool is_minnow = format.name == "minnow";  // keeps what the file says; a saved expression says nothing
  if (is_minnow && !graph->metadata.source_format.empty()) return {std::move(graph), true};
  graph->metadata.source_format = format.name;
  if (!is_minnow) make_names_printable(*graph);
  if (!is_minnow) graph->metadata.source_hash = hash.hex_digest();
  return {std::move(graph)};
}

Imported import_files(std::vector<std::string> paths, const ConvertOptions& options) {
  if (paths.empty()) throw InvalidArgument("no file was given");
  for (std::string& path : paths)  // TensorFlow's SavedModels are folders
    if (const std::string inside = path + "/saved_model.pb"; os::file_exists(inside)) path = inside;
  const Format* format = nullptr;
  Sha256 hash;
  for (const std::string& path : paths) {
    const ChargeTo nobody;  // the importer opens the files again
    const auto file = os::MappedFile::open(path);
    const auto bytes = file->bytes();
    refuse_placeholder(path, bytes);
    if (!format) format = format_of(bytes, options);
    if (!format || format->name != "minnow") hash.add(bytes);
  }
  if (!format) throw InvalidModel("{}: is in none of the known formats ({})", paths[0], format_names());
  const ImportOptions import = import_options(options, *format);
  // A model that runs without further changes keeps its stored weights; packing widens them.
  if (format->name == "minnow" && options.optimize == Optimize::once && paths.size() == 1)
    return finish_metadata(read_model(paths[0], packs_weight), *format, hash);
  return finish_metadata(naming(paths, [&] { return format->import_files(paths, import); }), *format, hash);
}

Imported import_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const ConvertOptions& options) {
  refuse_placeholder("the model", bytes);
  const Format* format = format_of(bytes, options);
  if (!format) throw InvalidModel("the bytes are in none of the known formats ({})", format_names());
  if (!format->import_memory) throw InvalidArgument("a model of the format {} is several files and cannot come from memory", format->name);
  count_file_bytes(bytes.size());
  Sha256 hash;
  if (format->name != "minnow") hash.add(bytes);
  const ImportOptions import = import_options(options, *format);
  return finish_metadata(naming({source_of(import)}, [&] { return format->import_memory(bytes, std::move(owner), import); }), *format,
                         hash);
}

Imported import_read(const ReadCallback& read, const ConvertOptions& options) {
  std::vector<std::byte> head(kHeadBytes);
  head.resize(std::min(read({}, 0, head.data(), head.size()), head.size()));
  refuse_placeholder("the model", head);
  const Format* format = format_of(head, options);
  if (!format) throw InvalidModel("the bytes are in none of the known formats ({})", format_names());
  if (!format->import_read) {
    const auto [memory, size] = read_all(read, {}, 0, std::numeric_limits<uint64_t>::max());
    return import_memory({static_cast<const std::byte*>(memory.get()), size}, memory, options);
  }
  Sha256 hash;  // of the model itself, which importers read from front to back
  uint64_t hashed = 0;
  const ReadCallback hashing = [&](const std::string& name, uint64_t offset, void* buffer, size_t bytes) {
    const size_t count = read(name, offset, buffer, bytes);
    count_file_bytes(std::min(count, bytes));
    if (name.empty() && offset == hashed && count <= bytes) {
      hash.add({static_cast<const std::byte*>(buffer), count});
      hashed += count;
    }
    return count;
  };
  const ImportOptions import = import_options(options, *format);
  return finish_metadata(naming({source_of(import)}, [&] { return format->import_read(hashing, import); }), *format, hash);
}

template <class F>
void for_each_type(Graph& graph, F&& change) {
  for_each_graph(graph, [&](Graph& each) {
    for (const auto& input : each.inputs()) change(input->type);
    for (const State& state : each.states()) change(state.current->type);
    for (Node& node : each.nodes())
      for (size_t i = 0; i < node.output_count(); ++i)
        if (node.output(i)) change(node.output(i)->type);
  });
}

std::vector<std::string> input_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& input : graph.inputs()) names.push_back(input->name());
  return names;
}

/// Fixes dimensions of inputs. Dimensions already fixed by the file may change if nothing read from the file depends on them: all of an
/// ONNX graph's, and the first (usually the batch) in other formats. If `was_converted`, none may change, because passes have used them.
void fix_shapes(Graph& graph, const ConvertOptions& options, const OperatorSet& operators, bool was_converted) {
  bool changes = false;
  std::unordered_set<std::string_view> named;
  std::map<std::string, int64_t> sizes;  // of symbols
  const auto fix = [&](Value& input, const std::vector<int64_t>& dims) {
    const std::string_view name = input.name();
    ValueType& type = input.type;
    if (!named.insert(name).second) throw InvalidArgument("{}: the shape of input \"{}\" is given twice", graph.source, name);
    if (type.kind != ValueType::Kind::tensor) throw InvalidArgument("{}: input \"{}\" is no tensor, it has no shape", graph.source, name);
    if (!type.dims) type.dims.emplace(dims.size());
    if (type.dims->size() != dims.size())
      throw InvalidArgument("{}: input \"{}\" has {} dimensions, the shape {} has {}", graph.source, name, type.dims->size(), dims,
                            dims.size());
    for (size_t i = 0; i < dims.size(); ++i) {
      Dim& dim = (*type.dims)[i];
      if (dims[i] < -1)
        throw InvalidArgument("{}: the shape {} of input \"{}\" has a negative dimension; -1 leaves one as it is", graph.source, dims,
                              name);
      if (dims[i] < 0) continue;
      if (dim.known() && dim.size != dims[i]) {
        if (was_converted || (i > 0 && graph.metadata.source_format != "onnx"))
          throw InvalidArgument("{}: dimension {} of input \"{}\" is {}, it cannot be fixed to {}{}", graph.source, i, name, dim.size,
                                dims[i], was_converted ? "; convert the original file with this shape" : "");
        changes = true;
      }
      if (!dim.symbol.empty()) {
        const auto [symbol, is_new] = sizes.emplace(dim.symbol, dims[i]);
        if (!is_new && symbol->second != dims[i])
          throw InvalidArgument("{}: dimension \"{}\" cannot be both {} and {}", graph.source, dim.symbol, symbol->second, dims[i]);
      } else {
        dim.size = dims[i];
      }
    }
  };
  for (const auto& shape : options.shapes) {  // no structured bindings: clang 14 cannot capture them
    const std::string& name = shape.first;
    const auto found = std::find_if(graph.inputs().begin(), graph.inputs().end(), [&](const auto& input) { return input->name() == name; });
    if (found == graph.inputs().end())
      throw InvalidArgument("{}: the model has no input \"{}\" whose shape could be fixed{}", graph.source, name,
                            nearest(name, input_names(graph)));
    fix(**found, shape.second);
  }
  for (size_t i = 0; i < options.shapes_in_order.size(); ++i) {
    if (options.shapes_in_order[i].empty()) continue;
    if (i >= graph.inputs().size())
      throw InvalidArgument("{}: the model takes {} input{}, there is none for the shape {}", graph.source, graph.inputs().size(),
                            graph.inputs().size() == 1 ? "" : "s", options.shapes_in_order[i]);
    fix(*graph.inputs()[i], options.shapes_in_order[i]);
  }
  if (changes)  // the file's types of other values assume its own shapes
    for_each_graph(graph, [](Graph& each) {
      for (Node& node : each.nodes())
        for (size_t i = 0; i < node.output_count(); ++i)
          if (node.output(i)) node.output(i)->type.dims.reset();
    });
  for_each_type(graph, [&](ValueType& type) {
    if (!type.dims) return;
    for (Dim& dim : *type.dims)
      if (const auto found = sizes.find(dim.symbol); !dim.known() && found != sizes.end()) dim = Dim{found->second, {}};
  });
  if (!changes) return;
  try {
    infer_types(operators, graph);
    infer_static_types(operators, graph);
    infer_symbolic_types(operators, graph);
  } catch (const Error& error) {
    throw InvalidArgument("{}: the dimensions that the file fixes cannot be changed so: {}", graph.source, error.what());
  }
}

void rename(Graph& graph, const ConvertOptions& options) {
  std::unordered_set<std::string_view> used;
  std::vector<std::string> before = input_names(graph);
  for (const Value* output : graph.outputs()) before.push_back(output->name());
  const auto apply = [&](Value& value) {
    const auto found = options.renames.find(value.name());
    if (found == options.renames.end()) return;
    used.insert(found->first);
    value.rename(found->second);
  };
  // All at once, so that two names may be exchanged; a value that is an output twice is renamed once.
  for (const auto& input : graph.inputs()) apply(*input);
  std::unordered_set<const Value*> done;
  for (Value* output : graph.outputs())
    if (!output->is_input() && done.insert(output).second) apply(*output);
  for (const auto& [from, to] : options.renames)
    if (!used.contains(from))
      throw InvalidArgument("{}: the model has no input or output \"{}\" that could be renamed{}", graph.source, from,
                            nearest(from, before));
  std::unordered_set<std::string_view> names;
  for (const auto& input : graph.inputs())
    if (!names.insert(input->name()).second) throw InvalidArgument("{}: two inputs would be named \"{}\"", graph.source, input->name());
  for (const Value* output : graph.outputs())
    if (!options.renames.empty() && !output->is_input() && names.contains(output->name()))
      throw InvalidArgument("{}: an input and an output would both be named \"{}\"", graph.source, output->name());
  names.clear();
  for (const Value* output : graph.outputs())
    if (!names.insert(output->name()).second && !options.renames.empty())
      throw InvalidArgument("{}: two outputs would be named \"{}\"", graph.source, output->name());
}

Model finish(Imported imported, const ConvertOptions& options) {
  std::unique_ptr<Graph> graph = std::move(imported.graph);
  const OperatorSet& operators = options.operators ? *options.operators : OperatorSet::builtin();
  fix_shapes(*graph, options, operators, imported.was_converted);
  rename(*graph, options);
  if (!options.labels.empty()) graph->metadata.labels = options.labels;
  for (const auto& [name, value] : options.properties) graph->metadata.properties[name] = value;
  const std::unique_ptr<Graph> before = options.verify ? graph->clone() : nullptr;
  OptimizeOptions optimize_options;
  optimize_options.level = options.optimize != Optimize::once ? options.optimize
                           : imported.was_converted           ? Optimize::none
                                                              : Optimize::standard;
  if (options.dump_passes)
    optimize_options.report = [&](const PassReport& report) {
      options.dump_passes(
          format("{}: {} change{}, {} nodes left", report.pass, report.changes, report.changes == 1 ? "" : "s", report.nodes));
      for (const std::string& detail : report.details) options.dump_passes("  " + detail);
    };
  const double optimized = before ? 0.7 : 1;  // of the work
  const auto progress = [&](double part) {
    if (options.progress) options.progress(part);
  };
  if (options.progress) optimize_options.progress = [&](double part) { options.progress(0.5 + (optimized - 0.5) * part); };
  progress(0.5);
  naming({graph->source}, [&] { optimize(*graph, operators, optimize_options); });
  progress(optimized);
  optimize_options.progress = {};
  if (before) {
    const auto account = std::make_shared<MemoryAccount>(0);  // no limit: the caller asked for these runs, and the model decides their size
    const ChargeTo runs(account);
    verify_optimization(operators, *before, *graph, optimize_options);
  }
  progress(1);
  return Model::from_graph(std::move(graph), options.operators);
}

}  // namespace

Model convert(const std::vector<std::string>& paths, const ConvertOptions& options) try {
  return converted(paths.empty() ? std::string() : name_of_file(paths[0]), options,
                   [&] { return finish(import_files(paths, options), options); });
} catch (...) {
  throw_as_error();
}

Model convert(const std::string& path, const ConvertOptions& options) try {
  return convert(std::vector<std::string>{path}, options);
} catch (...) {
  throw_as_error();
}

Model convert_memory(std::span<const std::byte> bytes, const ConvertOptions& options, std::shared_ptr<const void> owner) {
  return converted("model", options, [&] { return finish(import_memory(bytes, std::move(owner), options), options); });
}

Model convert_read(const ReadCallback& read, const ConvertOptions& options) {
  return converted("model", options, [&] { return finish(import_read(read, options), options); });
}

Model convert_model(const Model& model, const ConvertOptions& options) {
  const Graph& graph = model.graph();
  return converted(graph.source, options, [&] {
    count_file_bytes(model.weight_bytes());
    return finish({graph.clone(), !graph.metadata.source_format.empty()}, options);
  });
}

std::vector<std::string> formats() try {
  std::vector<std::string> names;
  for (const Format& format : import_formats()) names.emplace_back(format.name);
  return names;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
