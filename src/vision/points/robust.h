// SPDX-License-Identifier: Apache-2.0
// Estimates from points of which some are wrong, and the least squares that refine them.
#pragma once
#include <minnow/vision/calibration.h>

#include "base/function_ref.h"
#include "vision/points/points.h"

namespace minnow::vision {

/// A model of few parameters and how it is found.
class Model {
 public:
  explicit Model(size_t least) : least_(least) {}
  virtual ~Model() = default;
  size_t least() const noexcept { return least_; }  // pairs of points that determine a model
  virtual size_t count() const noexcept = 0;        // of all pairs
  /// Models of these pairs, one after the other.
  virtual std::vector<std::vector<double>> fit(const std::vector<int>& pairs) const = 0;
  virtual bool usable(const std::vector<int>&) const { return true; }
  /// The square of the distance for each pair.
  virtual void errors(const std::vector<double>& model, std::vector<float>& errors) const = 0;

 private:
  size_t least_;
};

/// The best model and its inliers; no model where none was found.
std::vector<double> robust_fit(const Model& model, const RobustOptions& options, std::vector<uint8_t>& inliers);

/// Levenberg and Marquardt's steps (D. Marquardt, 1963) from x to a minimum of the sum of squares. `evaluate`: residuals of parameters and,
/// where it is not null, their derivatives, one row for each residual.
void minimize(std::vector<double>& x, size_t residuals, int steps,
              FunctionRef<void(const double* x, double* residuals, double* derivatives)> evaluate);

}  // namespace minnow::vision
