// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {
namespace {

using Found = std::pair<Tensor, Tensor>;

template <vision::Estimate (*kEstimate)(const TensorView&, const TensorView&, const vision::RobustOptions&)>
Found estimated(const TensorView& from, const TensorView& to, vision::Robust method, double threshold, int most, double confidence,
                int refinements) {
  vision::Estimate estimate = kEstimate(from, to, {method, threshold, most, confidence, refinements});
  return {std::move(estimate.model), std::move(estimate.inliers)};
}

}  // namespace

void define_calibration(nb::module_& m) {
  define(m, "findHomography", estimated<vision::find_homography>,
         {"srcPoints", "dstPoints", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
  define(m, "estimateAffine2D", estimated<vision::estimate_affine_2d>,
         {"from", "to", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
  define(m, "estimateAffinePartial2D", estimated<vision::estimate_affine_partial_2d>,
         {"from", "to", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
}

}  // namespace minnow::python
