// SPDX-License-Identifier: Apache-2.0
// Follows the tensors of one graph's run through the run of another form of it, by their names.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/evaluate.h"
#include "passes/difference.h"

namespace minnow {

/// Half the distance of neighbouring numbers at 1 in 16-bit floats; 0 for other dtypes.
double rounding_error(DType dtype) noexcept;
/// True for operators that round real numbers, including Cast to integers.
bool is_rounding(const OperatorSet& operators, const Node& node) noexcept;
/// True for operators that draw their results at random.
bool is_drawn(const OperatorSet& operators, const Node& node) noexcept;

/// The real and the rounded tensors that a graph makes of its inputs.
class Trail {
 public:
  /// Rounded numbers may be off by `tolerance` of the largest of their tensor before they are rounded.
  Trail(const OperatorSet& operators, double tolerance) : operators_(operators), tolerance_(tolerance) {}

  /// For the first run. The trail must outlive it.
  Observer note();

  /// One run of another graph along the trail.
  struct Walk {
    std::unordered_map<std::string, size_t> met;  // tensors of a name and form that the trail has
    std::unordered_set<std::string> followed;     // names of roundings that were met, or whose copies were met
    struct Apart {
      std::string name;
      Difference worst;
      double mean_square = 0;  // the largest
    };
    std::vector<Apart> apart;                        // tensors beyond the tolerance, in the order in which they were made
    std::unordered_map<std::string, size_t> places;  // in `apart`
  };
  /// Replaces rounded tensors within the tolerance, and random ones, by the noted tensors, and records differences. With `only`, ignores
  /// tensors that this walk did not meet. The trail and the walks must outlive the observer.
  Observer follow(Walk& walk, const Walk* only = nullptr) const;

 private:
  struct Tensors {
    Tensor value, one_end, other_end;  // the tensor and, if it is rounded, the bounds of its elements
    std::string rounding;              // the name of the rounded tensor of which this is a copy
    bool drawn = false;                // at random: another run would draw something else
    bool allows(const Tensor& other) const;
  };
  const Tensors* find_rounded(const Node& node, std::span<const Datum> inputs) const;

  const OperatorSet& operators_;
  const double tolerance_;
  std::unordered_map<std::string, std::vector<Tensors>> tensors_;  // by name, in the order in which they are made
};

}  // namespace minnow
