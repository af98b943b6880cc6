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

using Placed = std::tuple<bool, Tensor, Tensor>;

Placed solve_pnp(const TensorView& points, const TensorView& pixels, const TensorView& matrix, const std::vector<double>& distortion,
                 const std::vector<double>& guess, vision::PoseMethod method) {
  vision::Pose pose = vision::solve_pnp(points, pixels, matrix, distortion, guess, method);
  return {pose.found, std::move(pose.rotation), std::move(pose.translation)};
}
std::tuple<bool, Tensor, Tensor, Tensor> solve_pnp_ransac(const TensorView& points, const TensorView& pixels, const TensorView& matrix,
                                                          const std::vector<double>& distortion, const std::vector<double>& guess,
                                                          vision::PoseMethod method, int most, double threshold, double confidence) {
  vision::RobustPose found =
      vision::solve_pnp_ransac(points, pixels, matrix, distortion, guess, method, {vision::Robust::ransac, threshold, most, confidence, 0});
  return {found.pose.found, std::move(found.pose.rotation), std::move(found.pose.translation), std::move(found.inliers)};
}
Found solve_pnp_refine(const TensorView& points, const TensorView& pixels, const TensorView& matrix, const std::vector<double>& distortion,
                       const std::vector<double>& guess) {
  vision::Pose pose = vision::solve_pnp_refine(points, pixels, matrix, distortion, guess);
  return {std::move(pose.rotation), std::move(pose.translation)};
}

}  // namespace

void define_calibration(nb::module_& m) {
  define(m, "solvePnP", solve_pnp, {"objectPoints", "imagePoints", "cameraMatrix", "distCoeffs", "guess", "flags"});
  define(m, "solvePnPRansac", solve_pnp_ransac,
         {"objectPoints", "imagePoints", "cameraMatrix", "distCoeffs", "guess", "flags", "iterationsCount", "reprojectionError",
          "confidence"});
  define(m, "solvePnPRefineLM", solve_pnp_refine, {"objectPoints", "imagePoints", "cameraMatrix", "distCoeffs", "guess"});
  define(m, "findHomography", estimated<vision::find_homography>,
         {"srcPoints", "dstPoints", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
  define(m, "estimateAffine2D", estimated<vision::estimate_affine_2d>,
         {"from", "to", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
  define(m, "estimateAffinePartial2D", estimated<vision::estimate_affine_partial_2d>,
         {"from", "to", "method", "ransacReprojThreshold", "maxIters", "confidence", "refineIters"});
  define(m, "Rodrigues", vision::rodrigues, {"src"});
  define(m, "projectPoints", vision::project_points, {"objectPoints", "rvec", "tvec", "cameraMatrix", "distCoeffs", "aspectRatio"});
  define(m, "undistortPoints", vision::undistort_points,
         {"src", "cameraMatrix", "distCoeffs", "R", "P", "criteria", "maxCount", "epsilon"});
  define(m, "initUndistortRectifyMap", vision::undistort_rectify_map,
         {"cameraMatrix", "distCoeffs", "R", "newCameraMatrix", "size", "dtype", "channels"});
  define(m, "undistort", vision::undistort, {"src", "cameraMatrix", "distCoeffs", "newCameraMatrix", "dst"});
  define(m, "getDefaultNewCameraMatrix", vision::default_new_camera_matrix, {"cameraMatrix", "imgsize", "centerPrincipalPoint"});
  define(m, "getOptimalNewCameraMatrix", vision::optimal_new_camera_matrix,
         {"cameraMatrix", "distCoeffs", "imageSize", "alpha", "newImgSize", "centerPrincipalPoint"});
  define(m, "fisheye_distortPoints", vision::fisheye_distort_points, {"undistorted", "K", "D", "alpha"});
  define(m, "fisheye_undistortPoints", vision::fisheye_undistort_points,
         {"distorted", "K", "D", "R", "P", "criteria", "maxCount", "epsilon"});
  define(m, "fisheye_initUndistortRectifyMap", vision::fisheye_rectify_map, {"K", "D", "R", "P", "size", "dtype", "channels"});
  define(m, "fisheye_undistortImage", vision::fisheye_undistort, {"distorted", "K", "D", "Knew", "new_size", "undistorted"});
  define(m, "fisheye_estimateNewCameraMatrix", vision::fisheye_new_camera_matrix,
         {"K", "D", "image_size", "R", "balance", "new_size", "fov_scale"});
}

}  // namespace minnow::python
