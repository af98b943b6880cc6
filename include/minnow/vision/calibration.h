// SPDX-License-Identifier: Apache-2.0
// Cameras, homographies and other geometry of points.
#pragma once
#include <minnow/vision/image.h>

namespace minnow::vision {

// ---- Maps between two sets of points

/// How outliers are found: not at all, by random samples with the most points within a distance (M. Fischler and R. Bolles, Random sample
/// consensus, 1981), or with the least median of distances (P. Rousseeuw, Least median of squares regression, 1984).
enum class Robust { none = 0, lmeds = 4, ransac = 8 };
struct RobustOptions {
  Robust method = Robust::ransac;
  double threshold = 3;  // pixels
  int most_samples = 2000;
  double confidence = 0.995;
  int refinements = 10;
};
struct Estimate {
  Tensor model;    // f64; an empty tensor where none fits
  Tensor inliers;  // u8[n, 1]: 1 for the points that the model fits
};
/// The homography f64[3, 3] that takes points [n, 2] or [n, 1, 2] (i32, f32 or f64) to others; four points or more.
MINNOW_API Estimate find_homography(const TensorView& from, const TensorView& to, const RobustOptions& options);
/// An affine map f64[2, 3]; three points or more.
MINNOW_API Estimate estimate_affine_2d(const TensorView& from, const TensorView& to, const RobustOptions& options);
/// A turn, a scale and a shift, f64[2, 3]; two points or more.
MINNOW_API Estimate estimate_affine_partial_2d(const TensorView& from, const TensorView& to, const RobustOptions& options);

}  // namespace minnow::vision
