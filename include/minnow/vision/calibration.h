// SPDX-License-Identifier: Apache-2.0
// Cameras, homographies and other geometry of points.
#pragma once
#include <minnow/vision/image.h>

#include <vector>

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

// ---- Where an object is, from its points and their pixels

/// OpenCV's numbers. All give the pose with the least reprojection error near a start that they find: the homography of a plane, the direct
/// linear transform, or three points (J. Grunert, 1841). p3p and ap3p take four points and give the best pose through the first three.
enum class PoseMethod { iterative = 0, epnp = 1, p3p = 2, dls = 3, upnp = 4, ap3p = 5, ippe = 6, ippe_square = 7, sqpnp = 8 };
struct Pose {
  bool found = false;
  Tensor rotation, translation;  // f64[3, 1]: the axis times the angle, the object's origin before the camera
};
/// points: [n, 3] or [n, 1, 3]; pixels: [n, 2] or [n, 1, 2]; matrix: [3, 3]; distortion: nothing, or 4, 5, 8, 12 or 14 numbers; guess:
/// nothing, or rotation and translation, where PoseMethod::iterative starts.
MINNOW_API Pose solve_pnp(const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                          const std::vector<double>& distortion, const std::vector<double>& guess, PoseMethod method);
struct RobustPose {
  Pose pose;
  Tensor inliers;  // i32[m, 1]: positions of the points that the pose fits
};
MINNOW_API RobustPose solve_pnp_ransac(const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                                       const std::vector<double>& distortion, const std::vector<double>& guess, PoseMethod method,
                                       const RobustOptions& options);
MINNOW_API Pose solve_pnp_refine(const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                                 const std::vector<double>& distortion, const std::vector<double>& guess);

// ---- Lenses. A matrix is [3, 3], f32 or f64; a distortion has 0, 4, 5, 8, 12 or 14 numbers.

/// The rotation matrix [3, 3] of a vector [3] (its axis times its angle) with derivatives [3, 9], or the vector [3, 1] of a matrix with [9,
/// 3].
MINNOW_API std::pair<Tensor, Tensor> rodrigues(const TensorView& rotation);
/// The pixels [n, 1, 2] of points [n, 3], f32 or f64, and derivatives f64[2 n, 10 + numbers of distortion] by rotation, translation, fx,
/// fy, cx, cy and the distortion. `aspect`: fx / fy where it is fixed, else 0.
MINNOW_API std::pair<Tensor, Tensor> project_points(const TensorView& points, const std::vector<double>& rotation,
                                                    const std::vector<double>& translation, const TensorView& matrix,
                                                    const std::vector<double>& distortion, double aspect = 0);
/// Directions (or with `new_matrix`, of 9 or 12 numbers, pixels) [n, 1, 2] of pixels, f32 or f64. criteria 1: `most` steps, 2: until the
/// error is below `epsilon` pixels, 3: both.
MINNOW_API Tensor undistort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion,
                                   const std::vector<double>& rotation = {}, const std::vector<double>& new_matrix = {}, int criteria = 1,
                                   int most = 5, double epsilon = 0.01);
/// Maps for remap() in one of the forms of convert_maps().
MINNOW_API std::pair<Tensor, Tensor> undistort_rectify_map(const TensorView& matrix, const std::vector<double>& distortion,
                                                           const std::vector<double>& rotation, const std::vector<double>& new_matrix,
                                                           Size size, DType dtype, int channels);
MINNOW_API Tensor undistort(const ImageView& image, const TensorView& matrix, const std::vector<double>& distortion,
                            const std::vector<double>& new_matrix = {}, Output output = {});
MINNOW_API Tensor default_new_camera_matrix(const TensorView& matrix, Size size, bool centered);
/// A camera that shows valid pixels alone (alpha 0), all source pixels (1) or between, and the rectangle of valid pixels.
MINNOW_API std::pair<Tensor, Rect> optimal_new_camera_matrix(const TensorView& matrix, const std::vector<double>& distortion, Size size,
                                                             double alpha, Size new_size = {}, bool centered = false);

// ---- Lenses of a wide angle (J. Kannala and S. Brandt, 2006), whose distortion has 4 numbers. Points are f32 or f64 [n, 1, 2], rotations
// 3 or 9 numbers or nothing.

MINNOW_API Tensor fisheye_distort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion,
                                         double skew = 0);
/// (-1000000, -1000000) for pixels beyond what the lens sees.
MINNOW_API Tensor fisheye_undistort_points(const TensorView& points, const TensorView& matrix, const std::vector<double>& distortion,
                                           const std::vector<double>& rotation = {}, const std::vector<double>& new_matrix = {},
                                           int criteria = 3, int most = 10, double epsilon = 1e-8);
MINNOW_API std::pair<Tensor, Tensor> fisheye_rectify_map(const TensorView& matrix, const std::vector<double>& distortion,
                                                         const std::vector<double>& rotation, const std::vector<double>& new_matrix,
                                                         Size size, DType dtype, int channels);
MINNOW_API Tensor fisheye_undistort(const ImageView& image, const TensorView& matrix, const std::vector<double>& distortion,
                                    const std::vector<double>& new_matrix, Size size = {}, Output output = {});
/// A camera that shows valid pixels alone (balance 0), or all source pixels (1).
MINNOW_API Tensor fisheye_new_camera_matrix(const TensorView& matrix, const std::vector<double>& distortion, Size size,
                                            const std::vector<double>& rotation, double balance = 0, Size new_size = {}, double scale = 1);

}  // namespace minnow::vision
