// SPDX-License-Identifier: Apache-2.0
// What stands behind minnow::Model.
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
  /// Takes what is packed from a file where it has it, from now on, and adds to the file what it has not. `graph` is the model's, whose
  /// weights are read on that many threads. Once a model: the same file again changes nothing. Throws InvalidArgument for another one.
  void keep_in(const std::string& file, const Graph& graph, int threads);
  /// Writes the file where something was packed since. What goes wrong is one message to the log hook.
  void save();
  std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing,
                                     FunctionRef<void(const TensorView&, void*)> pack) override;
  size_t bytes() const;
  /// The bytes of all plain weights: about what their packed forms will take together.
  void expect(size_t bytes) { expected_ = bytes; }
  /// Gives back the mapped pages behind weights that are packed. Reading one weight maps pages of its neighbours too, so that this is done
  /// once more when all are.
  void release_plain() const noexcept;

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
  mutable std::mutex mutex_;  // not held while packing: many weights are packed at the same time, each once
  std::unique_ptr<WeightCache> owned_cache_;
  std::atomic<WeightCache*> cache_{nullptr};  // null: there is no file
  std::unordered_map<Key, std::shared_ptr<Item>, Hash> items_;
  size_t expected_ = 0, allocated_ = 0;
  std::shared_ptr<void> block_;  // of huge pages, shared by weights that are smaller than one
  size_t block_bytes_ = 0, block_used_ = 0;
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
