// SPDX-License-Identifier: Apache-2.0
// TensorFlow's GraphDef: nodes with their attributes, and functions. Everything borrows the file's bytes.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "importers/onnx/wire.h"

namespace minnow::tensorflow {

/// TensorFlow's element type as Minnow's; undefined for strings, resources and variants. Quantized types are their integers.
DType dtype_of(int64_t type) noexcept;

/// A TensorProto. Throws Malformed, and Unsupported for types without a dtype.
Tensor read_tensor(std::string_view message);
/// A TensorShapeProto: nothing if the rank is unknown, -1 for unknown sizes.
std::optional<Ints> read_shape(std::string_view message);

/// An entry of a map field: key and value.
std::pair<std::string_view, std::string_view> read_entry(std::string_view message);

struct NodeDef {
  std::string_view name, op;
  std::vector<std::string_view> inputs;                     // with control inputs ("^name")
  std::map<std::string_view, std::string_view> attributes;  // AttrValue messages
  bool was_read = false;                                    // by another node, before control_flow.h rewrote it
  bool leaves_loop = false;                                 // it was an Exit (control_flow.h)
};

struct FunctionDef {
  std::string_view name;
  std::vector<std::string_view> inputs, outputs;  // argument names
  std::vector<NodeDef> nodes;
  std::map<std::string_view, std::string_view> results;  // output argument -> its source
};

struct GraphDef {
  std::vector<NodeDef> nodes;
  std::map<std::string_view, FunctionDef> functions;
  std::deque<std::string> texts;  // names that no file holds
};

/// "node", "node:2", and within functions "node:output:2".
struct Reference {
  std::string_view node, argument;
  size_t place = 0;
};
Reference parse_reference(std::string_view text);

/// The nodes of a list by their names. The list outlives it.
class NodeIndex {
 public:
  explicit NodeIndex(const std::vector<NodeDef>& nodes);
  /// Null if the reference is to none of these nodes.
  const NodeDef* find(std::string_view reference) const;
  /// The reference without the Identity nodes before it, eight at most.
  std::string_view without_identities(std::string_view reference) const;
  /// The constant that the reference gives, perhaps through Identity nodes; null if there is none.
  const NodeDef* constant(std::string_view reference) const;

 private:
  std::unordered_map<std::string_view, const NodeDef*> index_;
};

/// The function that a PartitionedCall calls; empty if it names none.
std::string_view called_function(const NodeDef& call);

/// Throws Malformed.
GraphDef read_graph(std::string_view bytes);
bool looks_like_graph(std::string_view head);

}  // namespace minnow::tensorflow
