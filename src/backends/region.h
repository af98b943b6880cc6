// SPDX-License-Identifier: Apache-2.0
// How a backend takes several connected nodes and compiles them as one, as drivers of neural processors want it.
#pragma once
#include <memory>
#include <string_view>

#include "backends/backend.h"
#include "graph/graph.h"

namespace minnow {

/// The operator of a step that computes a region. Its node has the region's inputs and outputs.
inline constexpr std::string_view kRegion = "minnow.Region";

/// Backend::regions(). The planner collects connected nodes that `accepts` takes, in regions that no path leaves and enters again, so that
/// each can run as one step. `region` below is such a part as a graph of its own: all inputs are tensors whose dtypes and shapes are known,
/// and constants have their contents. The region reads and writes plain tensors in the backend's memory; the planner places them.
class RegionCompiler {
 public:
  /// `name`: as schemes have it, "openvino.region"; a literal.
  explicit RegionCompiler(std::string_view name) : scheme_{kRegion, name, nullptr, nullptr} {}
  virtual ~RegionCompiler() = default;
  /// Whether this node may be part of a region: cheap, called once for each node. Nodes with subgraphs, or with shapes that depend on data,
  /// are not asked about.
  virtual bool accepts(const NodeView& node) const = 0;
  /// Predicted seconds, or why the region is declined: its nodes then stay as they are. The region is taken if it needs no more than the
  /// sum of its nodes' best estimates.
  virtual Estimate estimate(const Graph& region) const = 0;
  /// The kernel, whose inputs and outputs are the region's, in order. It may need as long as it likes. Throws Error.
  virtual std::unique_ptr<Kernel> compile(const Graph& region) = 0;
  const Scheme& scheme() const noexcept { return scheme_; }

 private:
  Scheme scheme_;
};

}  // namespace minnow
