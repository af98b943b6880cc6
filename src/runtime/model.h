// SPDX-License-Identifier: Apache-2.0
// The implementation of minnow::Model.
#pragma once
#include <minnow/minnow.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "backends/backend.h"
#include "ops/operator.h"
#include "runtime/weight_cache.h"

namespace minnow {

/// Packed weights by the memory of the plain weight and by how they are packed.
class PackedWeights final : public WeightStore {
 public:
  /// From now on reads packed weights from a file if it has them, and adds the others to it. Reads the weights of `graph`, the model's
  /// graph, on `threads` threads. Calling it again with the same file changes nothing; another file throws InvalidArgument.
  void keep_in(const std::string& file, const Graph& graph, int threads);
  /// Writes the file if weights were packed since the last time. A failure is one message to the log hook.
  void save();
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override;
  std::shared_ptr<const void> packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack) override;
  size_t bytes() const;
  /// Sets the bytes of all plain weights: an estimate of the size of their packed forms.
  void expect(size_t bytes) { expected_ = bytes; }
  /// When all weights of a plan are packed: gives back the mapped pages of weights that are packed (reading a weight also maps pages of its
  /// neighbours), and what packing has freed, which may be as large as the largest weight.
  void release_plain() noexcept;

 private:
  struct Key {
    const void* data;
    DType dtype;
    Shape shape;
    Packing packing;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept { return std::hash<const void*>()(key.data) * 31 + key.packing.hash(); }
  };
  struct Item {
    Tensor weight;  // kept, so that no other weight can come to lie at its address
    std::mutex packing;
    std::shared_ptr<const void> memory;  // null until it is packed
    std::atomic<size_t> bytes{0};
  };
  std::shared_ptr<void> allocate(size_t bytes);
  std::shared_ptr<Item> item_of(const Tensor& weight, const Packing& packing);
  mutable std::mutex mutex_;  // not held while packing: many weights are packed at the same time, each once
  std::unique_ptr<WeightCache> owned_cache_;
  std::atomic<WeightCache*> cache_{nullptr};  // null: there is no file
  std::unordered_map<Key, std::shared_ptr<Item>, Hash> items_;
  size_t expected_ = 0, allocated_ = 0;
  std::shared_ptr<void> block_;  // of huge pages, shared by weights that are smaller than one
  size_t block_bytes_ = 0, block_used_ = 0;
  bool has_new_ = false;  // weights were packed since release_plain()
};

struct Model::Impl {
  std::unique_ptr<Graph> graph;
  std::shared_ptr<const OperatorSet> custom_operators;  // null: the built-in ones
  const OperatorSet* operators = nullptr;
  std::vector<ValueDescription> inputs, outputs, states;
  size_t weight_bytes = 0;
  PackedWeights packed;
};

ValueDescription describe(const std::string& name, const ValueType& type);

}  // namespace minnow
