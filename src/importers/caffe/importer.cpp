// SPDX-License-Identifier: Apache-2.0
// From layers and blobs to a graph.
#include "importers/caffe/importer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/os.h"
#include "importers/caffe/caffe_layer.h"
#include "importers/driver.h"
#include "importers/source.h"
#include "ops/infer.h"
#include "passes/rewrite.h"

namespace minnow::caffe {
namespace {

bool is_data(const std::string& type) {
  static constexpr std::string_view kTypes[] = {"Input",    "Data",      "ImageData",  "MemoryData",
                                                "HDF5Data", "DummyData", "WindowData", "AnnotatedData"};
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

class Importer : private ImportDriver {
 public:
  /// `opens_batch`: the first dimension of every input is open, as that of Caffe's own blobs is.
  Importer(const Net& net, std::map<std::string, std::vector<Blob>>& blobs, const OperatorSet& operators, std::string source,
           bool opens_batch)
      : ImportDriver(std::move(source), operators, Refusals("layer", "layer")), net_(net), blobs_(blobs), opens_batch_(opens_batch) {}

  std::unique_ptr<Graph> run();
  /// The shapes that the file gives to inputs.
  const std::map<std::string, Shape>& shapes() const noexcept { return shapes_; }

 private:
  void add_input(TypedBuilder& builder, const std::string& name, const Ints& shape);
  void add_data(TypedBuilder& builder, const Layer& layer);
  void import_layer(TypedBuilder& builder, const Layer& layer);

  const Net& net_;
  std::map<std::string, std::vector<Blob>>& blobs_;
  bool opens_batch_;
  std::map<std::string, Shape> shapes_;
  std::map<int64_t, std::string> batches_;  // the symbols of first dimensions by the sizes in the file
  bool keeps_size_ = false;                 // the network accepts only images of one size
  std::unordered_map<std::string, Expr> values_;
  std::vector<std::string> order_;           // of tops, as they were made last
  std::unordered_set<std::string> read_;     // tops that a later layer reads
  std::unordered_set<std::string> ignored_;  // labels, and values that training computes from them
};

void Importer::add_input(TypedBuilder& builder, const std::string& name, const Ints& shape) {
  if (values_.contains(name)) throw InvalidModel("{}: input \"{}\" is given twice", source_, name);
  ValueType type = ValueType::tensor(DType::f32);
  if (!shape.empty()) {
    shapes_[name] = Shape(shape);
    type.dims.emplace();
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0) throw InvalidModel("{}: input \"{}\" has shape {}", source_, name, shape);
      // Sizes in the file are a first choice; users run the net at others if it is not tied to one.
      const std::string number = values_.empty() ? std::string() : std::to_string(values_.size());
      Dim dim{shape[i], {}};
      if (!keeps_size_ && i >= 2 && shape.size() == 4) dim = {-1, (i == 2 ? "height" : "width") + number};
      if (opens_batch_ && i == 0 && shape.size() > 1) dim = {-1, batches_.emplace(shape[0], "batch" + number).first->second};
      type.dims->push_back(std::move(dim));
    }
  }
  names_.take(name);
  values_[name] = builder.wrap(&builder.graph().add_input(name, std::move(type)));
}

void Importer::add_data(TypedBuilder& builder, const Layer& layer) {
  // Images come first; labels after them are for training.
  const std::vector<const Message*> shapes =
      layer.message.message(layer.type == "Input" ? "input_param" : "dummy_data_param").messages("shape");
  for (size_t i = 0; i < layer.tops.size(); ++i) {
    if (layer.type != "Input" && i > 0) {
      ignored_.insert(layer.tops[i]);
      continue;
    }
    Ints shape = shapes.empty() ? Ints() : shapes[std::min(i, shapes.size() - 1)]->integers("dim");
    if (layer.type == "MemoryData") {
      const Message& data = layer.message.message("memory_data_param");
      shape = {data.integer("batch_size", 1), data.integer("channels", 1), data.integer("height", 1), data.integer("width", 1)};
    }
    if (shape.empty()) {
      const int64_t crop = layer.message.message("transform_param").integer("crop_size", 0);
      if (crop > 0) shape = {1, 3, crop, crop};
    }
    if (shape.empty()) throw Unsupported("{}: layer \"{}\" ({}): does not tell the shape of its data", source_, layer.name, layer.type);
    add_input(builder, layer.tops[i], shape);
  }
}

void Importer::import_layer(TypedBuilder& p, const Layer& layer) {
  const Rule* rule = find_rule(layer.type);
  const std::string where = format("{}: layer \"{}\" ({})", source_, layer.name.substr(0, 200), layer.type.substr(0, 100));
  const bool uses_ignored =
      std::any_of(layer.bottoms.begin(), layer.bottoms.end(), [&](const std::string& name) { return ignored_.contains(name); });
  if ((rule && !rule->build) || (uses_ignored && !(rule && layer.type.ends_with("Loss")))) {
    for (const std::string& top : layer.tops) ignored_.insert(top);
    return;
  }
  const auto found = blobs_.find(layer.name);
  CaffeLayer node(p, layer, found == blobs_.end() ? nullptr : &found->second);
  node.place = where;
  for (const std::string& name : layer.bottoms) {
    if (ignored_.contains(name)) continue;
    const auto value = values_.find(name);
    if (value == values_.end()) throw InvalidModel("{}: \"{}\" is used, but no layer before it makes it", where, name.substr(0, 200));
    node.bottoms.push_back(value->second);
    read_.insert(name);
  }
  p.set_stem(layer.name);
  std::optional<Exprs> made;
  if (!rule) {
    refusals_.add_missing(layer.type, layer.name);
  } else {
    made = build(node, [&] {
      try {
        return rule->build(node, p);
      } catch (const TextError& error) {
        node.fail("{}", error.what);
      }
    });
    if (made && made->size() < layer.tops.size()) node.fail("has no top {}", made->size());
  }
  if (!made) made = stand_ins(p, "caffe." + layer.type, layer.tops.size());
  for (size_t i = 0; i < layer.tops.size(); ++i) {
    const std::string& top = layer.tops[i];
    // In place means a new value of the same name; the last one keeps it.
    values_[top] = (*made)[i];
    read_.erase(top);
    std::erase(order_, top);
    order_.push_back(top);
  }
}

std::unique_ptr<Graph> Importer::run() {
  graph_->name = net_.name;
  for (const Layer& layer : net_.layers)
    if (const Rule* rule = find_rule(layer.type); rule && rule->needs_size) keeps_size_ = true;
  TypedBuilder builder(*graph_, operators_, sizes_);
  for (const NetInput& input : net_.inputs) add_input(builder, input.name, input.shape);
  if (net_.layers.empty()) throw InvalidModel("{}: has no layers", source_);
  for (const Layer& layer : net_.layers) {
    if (is_data(layer.type))
      add_data(builder, layer);
    else
      import_layer(builder, layer);
  }
  throw_refusals();
  // Values that no later layer reads are outputs.
  for (const std::string& top : order_) {
    if (read_.contains(top)) continue;
    Value& output = *builder.own(values_.at(top)).value();
    output.rename(names_.take(top) ? top : graph_->fresh_name(top));
    graph_->add_output(output);
  }
  return finish("caffe", "Caffe");
}

/// The graph with an open first dimension of its inputs; null if the network is tied to the file's.
std::unique_ptr<Graph> import_open(const Net& net, std::map<std::string, std::vector<Blob>>& blobs, const OperatorSet& operators,
                                   const std::string& source) {
  try {
    Importer importer(net, blobs, operators, source, true);
    auto graph = importer.run();
    std::map<std::string, Shape> other = importer.shapes();
    for (auto& [name, shape] : other)
      if (shape.rank() > 1) shape[0] = shape[0] > 1000 ? 7 : shape[0] + 6;
    infer_static_types(operators, *graph->clone(), other);
    return graph;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::out_of_memory) throw;
    return nullptr;
  }
}

}  // namespace

std::unique_ptr<Graph> import_model(std::string_view prototxt, std::string_view caffemodel, const ImportOptions& options,
                                    const std::string& prototxt_source, const std::string& caffemodel_source) {
  std::map<std::string, std::vector<Blob>> blobs;
  read_as("caffemodel", caffemodel_source, [&]() -> std::unique_ptr<Graph> {
    try {
      blobs = read_blobs(caffemodel);
    } catch (const TextError& error) {
      throw InvalidModel("{}: is not a valid caffemodel: {}", caffemodel_source, error.what);
    }
    return nullptr;
  });
  return read_as("prototxt", prototxt_source, [&] {
    try {
      const Net net = read_net(prototxt);
      const OperatorSet& operators = options.operators ? *options.operators : OperatorSet::builtin();
      if (auto graph = import_open(net, blobs, operators, prototxt_source)) return graph;
      return Importer(net, blobs, operators, prototxt_source, false).run();
    } catch (const TextError& error) {
      throw InvalidModel("{}: {}", prototxt_source, error.what);
    }
  });
}

}  // namespace minnow::caffe

namespace minnow {

std::unique_ptr<Graph> import_caffe(const std::vector<std::string>& paths, const ImportOptions& options) {
  if (paths.size() != 2)
    throw InvalidArgument("a Caffe model is two files, the network (.prototxt) and its weights (.caffemodel); {} were given: {}",
                          paths.size(), paths);
  const auto first = os::MappedFile::open(paths[0]), second = os::MappedFile::open(paths[1]);
  const bool in_order = caffe::looks_like_prototxt(text_of(first->bytes()).substr(0, 65536));
  if (!in_order && !caffe::looks_like_prototxt(text_of(second->bytes()).substr(0, 65536)))
    throw InvalidModel("neither {} nor {} is the text of a Caffe network", paths[0], paths[1]);
  const std::string names[] = {name_of_file(paths[0]), name_of_file(paths[1])};
  const size_t net = in_order ? 0 : 1;
  return caffe::import_model(text_of((in_order ? first : second)->bytes()), text_of((in_order ? second : first)->bytes()), options,
                             source_of(options, names[net]), names[1 - net]);
}

bool looks_like_caffe(std::span<const std::byte> bytes) {
  return caffe::looks_like_prototxt(text_of(bytes)) || caffe::looks_like_caffemodel(text_of(bytes));
}

}  // namespace minnow
