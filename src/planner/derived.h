// SPDX-License-Identifier: Apache-2.0
// Constants that follow from others: weights that a file keeps in 16, 8 or 4 bits, widened, scaled, reshaped, transposed.
#pragma once
#include <unordered_map>

#include "planner/plan.h"

namespace minnow {

/// They are computed when a kernel is prepared from them, each time anew: beside its packed form, which the model keeps and all plans
/// share, none is kept.
class DerivedConstants {
 public:
  DerivedConstants(const OperatorSet& operators, const std::vector<PlanValue>& values) : operators_(operators), values_(values) {}

  /// True if the result of `node`, whose inputs are constants, may be computed later, when it is needed: the operation is fast, cannot fail
  /// because of the data, and its result has no more elements than its first input.
  static bool suits(const Operator& op, const Node& node, std::span<const ValueInfo* const> inputs, std::span<const ValueInfo> outputs);
  /// Value `v` is the first output of `node`, computed from constants or other derived values.
  void add(uint32_t v, const Node& node, std::vector<uint32_t> inputs);
  bool contains(uint32_t v) const { return rows_.contains(v); }
  /// Its contents. Safe to call from many threads. Throws OutOfMemory.
  Tensor compute(uint32_t v) const;

  /// A store that knows the contents of derived values by the constant of the model that they come from, and which of them were packed.
  class Store final : public WeightStore {
   public:
    Store(const DerivedConstants& derived, WeightStore& shared) : derived_(derived), shared_(shared) {}
    void add(uint32_t v, const Tensor& contents) { known_.push_back({v, contents, false}); }
    bool is_packed(uint32_t v) const;
    std::shared_ptr<const void> packed(const Tensor& weight, const Packing& packing, Pack pack) override;
    std::shared_ptr<const void> packed_on(Backend& backend, const Tensor& weight, const Packing& packing, Pack pack) override;

   private:
    struct Known {
      uint32_t v;
      Tensor contents;
      bool packed;
    };
    const DerivedConstants& derived_;
    WeightStore& shared_;
    using Share = FunctionRef<std::shared_ptr<const void>(const Tensor& weight, const Packing&, Pack)>;
    std::shared_ptr<const void> pack_known(const Tensor& weight, const Packing& packing, Pack pack, Share share);
    std::vector<Known> known_;
  };

 private:
  struct Row {
    const Node* node;
    std::vector<uint32_t> inputs;
    Tensor source;     // the constant that it comes from
    std::string form;  // the operation on the source, with all other inputs
  };
  const OperatorSet& operators_;
  const std::vector<PlanValue>& values_;
  std::unordered_map<uint32_t, Row> rows_;
};

}  // namespace minnow
