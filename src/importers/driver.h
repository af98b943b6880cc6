// SPDX-License-Identifier: Apache-2.0
// The common part of all importers: a driver collects all refusals of a file, replaces refused nodes by stand-ins, names values, limits
// nesting and finishes the graph. An importer derives from it and adds the parts specific to its format.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "importers/builder/typed_builder.h"
#include "importers/foreign_node.h"
#include "importers/importer.h"
#include "importers/malformed.h"
#include "importers/nesting.h"
#include "importers/refusals.h"
#include "importers/unique_names.h"

namespace minnow {

/// Calls import() for the file `source`, which should be a `what` ("TFLite model"); the error for malformed bytes says so.
std::unique_ptr<Graph> read_as(std::string_view what, const std::string& source, FunctionRef<std::unique_ptr<Graph>()> import);

/// Puts a value in place of another until it is destroyed.
template <class T>
class Temporarily {
 public:
  Temporarily(T& place, T value) : place_(place), before_(place) { place = value; }
  ~Temporarily() { place_ = before_; }
  Temporarily(const Temporarily&) = delete;
  Temporarily& operator=(const Temporarily&) = delete;

 private:
  T& place_;
  const T before_;
};

class ImportDriver {
 protected:
  ImportDriver(std::string source, const OperatorSet& operators, Refusals refusals = Refusals());
  ~ImportDriver() = default;

  /// The outputs that a rule builds. Empty if it refuses the node or fails on a stand-in; then the import continues with stand-ins to find
  /// all other refusals, and reports them at the end. Throws InvalidModel with the node's place.
  std::optional<Exprs> build(const ForeignNode& node, FunctionRef<Exprs()> rule);
  /// Values of an unknown operator in place of a refused node's outputs.
  Exprs stand_ins(TypedBuilder& builder, std::string_view op, size_t count);
  /// Each output of `made` that a node behind `before` makes takes its name in the file, once; types are inferred.
  void name_outputs(TypedBuilder& builder, const Node* before, const Exprs& made, FunctionRef<std::string(size_t)> name);
  std::string unique(std::string name) { return names_.make(std::move(name)); }
  /// The prefix for names in a subgraph of the node `name`; only its end if it is very long.
  static std::string inner_prefix(const std::string& outer, std::string_view name);
  /// Throws Unsupported with all refusals, if there are any.
  void throw_refusals() const { refusals_.throw_if_any(source_); }
  /// The graph: types inferred, verified. Throws InvalidModel if it has no outputs.
  std::unique_ptr<Graph> finish(std::string_view format, std::string producer);

  const std::string source_;
  const OperatorSet& operators_;
  std::unique_ptr<Graph> graph_;
  SizeTable sizes_;
  Nesting nesting_;
  UniqueNames names_;
  Refusals refusals_;
};

}  // namespace minnow
