// SPDX-License-Identifier: Apache-2.0
#include "importers/tensorflow/saved_model.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/nearest.h"
#include "base/os.h"

namespace minnow::tensorflow {
namespace {

using onnx::Fields;

constexpr std::string_view kDefault = "serving_default", kInitialization = "__saved_model_init_op", kTag = "serve";

struct MetaGraph {
  std::vector<std::string_view> tags;
  std::string_view graph;
  std::map<std::string_view, std::string_view> signatures;
};

MetaGraph read_meta_graph(std::string_view message) {
  MetaGraph meta;
  for (Fields fields(message); fields.next();) {
    if (fields.number() == 1)
      for (Fields info(fields.bytes()); info.next();)
        if (info.number() == 4) meta.tags.push_back(info.bytes());
    if (fields.number() == 2) meta.graph = fields.bytes();
    if (fields.number() == 5) meta.signatures.insert(read_entry(fields.bytes()));
  }
  return meta;
}

NamedTensors read_tensors(std::string_view signature, uint32_t field) {
  NamedTensors tensors;
  for (Fields fields(signature); fields.next();) {
    if (fields.number() != field) continue;
    const auto [key, info] = read_entry(fields.bytes());
    std::string_view name;
    for (Fields parts(info); parts.next();)
      if (parts.number() == 1) name = parts.bytes();
    tensors.emplace_back(key, name);
  }
  std::sort(tensors.begin(), tensors.end());
  return tensors;
}

/// Finds the names of variables in the checkpoint: RestoreV2 reads names, and each of its results goes to an assignment. A variable that is
/// not restored may be the original of a restored copy: tf.saved_model.save copies Keras' variables, but the signature still reads the
/// originals.
class Restored {
 public:
  explicit Restored(const GraphDef& graph) : graph_(graph) {}

  std::map<std::string_view, std::string> find() {
    collect(graph_.nodes, [&](std::string_view target, std::string name) { names_.emplace(target, std::move(name)); });
    for (const NodeDef& call : graph_.nodes) {
      if (call.op != "StatefulPartitionedCall" && call.op != "PartitionedCall") continue;
      const auto function = graph_.functions.find(called_function(call));
      if (function == graph_.functions.end()) continue;
      const std::vector<std::string_view>& arguments = function->second.inputs;
      collect(function->second.nodes, [&](std::string_view target, std::string name) {
        const auto place = static_cast<size_t>(std::find(arguments.begin(), arguments.end(), target) - arguments.begin());
        if (place < arguments.size() && place < call.inputs.size())
          names_.emplace(parse_reference(call.inputs[place]).node, std::move(name));
      });
    }
    add_copied();
    return std::move(names_);
  }

 private:
  void add_copied() {
    std::unordered_map<std::string_view, std::string_view> read;  // ReadVariableOp -> the variable
    for (const NodeDef& node : graph_.nodes)
      if (node.op == "ReadVariableOp" && !node.inputs.empty()) read.emplace(node.name, parse_reference(node.inputs[0]).node);
    for (const NodeDef& node : graph_.nodes) {
      if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
      const auto copy = names_.find(parse_reference(node.inputs[0]).node);
      const auto from = read.find(parse_reference(node.inputs[1]).node);
      if (copy != names_.end() && from != read.end()) names_.emplace(from->second, copy->second);
    }
  }
  static std::vector<std::string_view> strings_of(const NodeDef& constant) {
    std::vector<std::string_view> strings;
    if (const auto found = constant.attributes.find("value"); found != constant.attributes.end())
      for (Fields fields(found->second); fields.next();)
        if (fields.number() == 8)
          for (Fields tensor(fields.bytes()); tensor.next();)
            if (tensor.number() == 8) strings.push_back(tensor.bytes());
    return strings;
  }

  template <class Add>
  void collect(const std::vector<NodeDef>& nodes, Add add) {
    if (std::none_of(nodes.begin(), nodes.end(), [](const NodeDef& node) { return node.op == "RestoreV2"; })) return;
    const NodeIndex index(nodes);
    std::unordered_map<const NodeDef*, std::pair<std::vector<std::string_view>, std::vector<std::string_view>>> names;  // names, slices
    for (const NodeDef& node : nodes) {
      if ((node.op != "AssignVariableOp" && node.op != "Assign") || node.inputs.size() < 2) continue;
      const std::string_view from = index.without_identities(node.inputs[1]);
      const NodeDef* maker = index.find(from);
      if (!maker || maker->op != "RestoreV2" || maker->inputs.size() < 2) continue;
      auto& [list, slices] = names[maker];
      if (list.empty()) {
        if (const NodeDef* constant = index.find(maker->inputs[1])) list = strings_of(*constant);
        if (const NodeDef* constant = maker->inputs.size() > 2 ? index.find(maker->inputs[2]) : nullptr) slices = strings_of(*constant);
      }
      const size_t place = parse_reference(from).place;
      if (place >= list.size()) continue;
      const bool whole = place >= slices.size() || slices[place].empty();
      add(parse_reference(node.inputs[0]).node, whole ? std::string(list[place]) : slice_name(list[place], slices[place]));
    }
  }

  const GraphDef& graph_;
  std::map<std::string_view, std::string> names_;
};

}  // namespace

Source read_saved_model(std::string_view bytes, const std::string& signature, const std::string& checkpoint, const std::string& source) {
  std::vector<MetaGraph> graphs;
  for (Fields fields(bytes); fields.next();)
    if (fields.number() == 2) graphs.push_back(read_meta_graph(fields.bytes()));
  if (graphs.empty()) throw InvalidModel("{}: the SavedModel holds no graph", source);
  const auto serving = std::find_if(graphs.begin(), graphs.end(), [](const MetaGraph& each) {
    return std::find(each.tags.begin(), each.tags.end(), kTag) != each.tags.end();
  });
  MetaGraph& meta = serving == graphs.end() ? graphs.front() : *serving;
  meta.signatures.erase(kInitialization);
  std::vector<std::string> known;
  for (const auto& each : meta.signatures) known.emplace_back(each.first);
  if (known.empty()) throw InvalidModel("{}: the SavedModel has no signature, which would say what is computed from what", source);
  std::string_view wanted = signature;
  if (wanted.empty()) wanted = meta.signatures.contains(kDefault) || known.size() > 1 ? kDefault : std::string_view(known[0]);
  const auto found = meta.signatures.find(wanted);
  if (found == meta.signatures.end())
    throw InvalidArgument("{}: the SavedModel has no signature \"{}\"{}", source, wanted, nearest(wanted, known));
  Source result;
  result.graph = read_graph(meta.graph);
  result.has_signature = true;
  result.inputs = read_tensors(found->second, 1);
  result.outputs = read_tensors(found->second, 2);
  if (result.outputs.empty()) throw InvalidModel("{}: signature \"{}\" has no outputs", source, wanted);
  result.variables = Restored(result.graph).find();
  if (!checkpoint.empty() && os::file_exists(checkpoint + ".index")) result.checkpoint.emplace(checkpoint);
  return result;
}

bool looks_like_saved_model(std::string_view head) {
  // The version of the schema, 1, and a long message, whose first field is a message too. (An ONNX model of the first version of that
  // format begins in the same way, with a name.)
  if (head.size() < 8 || head.substr(0, 3) != "\x08\x01\x12") return false;
  size_t at = 3;
  while (at < head.size() && at < 12 && (head[at] & 0x80)) ++at;
  return at > 3 && at + 1 < head.size() && (head[at + 1] == '\x0a' || head[at + 1] == '\x12');
}

}  // namespace minnow::tensorflow
