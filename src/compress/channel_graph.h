// SPDX-License-Identifier: Apache-2.0
// Which channels of a graph hang together: a channel of a residual sum is removed from everything that is added, one of a depthwise
// convolution from what is read and made. Fang et al. 2023, "DepGraph: towards any structural pruning", arXiv:2301.12900.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace minnow::compress {

/// Channels are atoms; those that are removed together are united. An atom that cannot be removed is fixed.
class ChannelGraph {
 public:
  using Atoms = std::vector<uint32_t>;
  /// The filters of a layer: of output channel j, atoms[j] = that of its channel; weights are the node's input 1.
  struct Maker {
    Node* node;
    size_t axis;  // of the weights' outputs
    Atoms atoms;
  };
  struct Refusal {
    const Node* node;
    std::string reason;
  };

  /// Follows the channels of all layers. Values of the graph have types with their ranks.
  explicit ChannelGraph(Graph& graph);

  size_t atoms() const noexcept { return parent_.size(); }
  /// The atom that stands for all that are united with this one.
  uint32_t root(uint32_t atom) const noexcept;
  bool is_fixed(uint32_t atom) const noexcept { return fixed_[root(atom)]; }
  const std::vector<Maker>& makers() const noexcept { return makers_; }
  /// Nodes that channels could not be followed through.
  const std::vector<Refusal>& refusals() const noexcept { return refusals_; }
  /// Multiply-adds of one run on one sample. `removed`: by root.
  double operations(const std::vector<bool>& removed) const;

  /// Whether every value keeps a channel: parts of a split could lose all of theirs.
  bool keeps_some(const std::vector<bool>& removed) const;
  /// Removes channels from the graph; call it once.
  void remove(const std::vector<bool>& removed);
  /// Sets the weights that read removed channels to zero instead: the outputs are those of the graph without the channels.
  void mask(const std::vector<bool>& removed);

 private:
  struct Track {
    size_t axis;
    Atoms atoms;
  };
  struct Work {
    Atoms out, in;     // empty: the counts
    double outs, ins;  // channels
    double per;        // multiply-adds of one input and output channel
    double groups;
    bool depthwise;
  };
  struct Reader {
    Node* node;
    size_t axis;  // of the weights' inputs
    Atoms atoms;
    size_t groups;
  };
  using Edit = std::function<void(const std::vector<bool>& removed)>;

  Atoms fresh(size_t count);
  void unite(uint32_t a, uint32_t b);
  void unite(const Atoms& a, const Atoms& b);
  void fix(const Atoms& atoms);
  const Track* track_of(const Value* value) const;
  void set_track(const Value* value, size_t axis, Atoms atoms);
  void refuse(const Node& node, const std::string& reason);  // fixes the channels of all its inputs

  void follow(Node& node);
  void follow_conv(Node& node);
  void follow_transposed(Node& node);
  void follow_product(Node& node);
  void follow_per_channel(Node& node, size_t first, size_t last);
  void follow_elementwise(Node& node);
  void follow_concat(Node& node);
  void follow_split(Node& node);
  void follow_slice(Node& node);
  void follow_reshape(Node& node);
  void follow_reduction(Node& node);

  std::vector<size_t> kept(const Atoms& atoms, const std::vector<bool>& removed) const;
  void select(Node& node, size_t input, size_t axis, const std::vector<size_t>& indices);
  void edit_select(Node& node, size_t input, size_t axis, const Atoms& atoms);

  Graph& graph_;
  mutable std::vector<uint32_t> parent_;
  std::vector<bool> fixed_;
  std::unordered_map<const Value*, Track> tracks_;
  std::vector<Maker> makers_;
  std::vector<Reader> readers_;
  std::vector<Work> works_;
  std::vector<Edit> edits_;
  std::vector<Refusal> refusals_;
};

}  // namespace minnow::compress
