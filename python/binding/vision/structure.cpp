// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "arguments.h"

namespace minnow::python {

using vision::Criteria;
using vision::RotatedRect;

/// Five numbers: center, width, height, angle.
template <>
struct From<RotatedRect> {
  RotatedRect value;
  From(nb::handle object, const char* name) {
    const std::vector<double> n = numbers_of(object, name, 5, 5);
    const auto f = [&](size_t i) { return static_cast<float>(n[i]); };
    value = {{f(0), f(1)}, f(2), f(3), f(4)};
  }
  const RotatedRect& get() const { return value; }
};

/// (type, count, epsilon).
template <>
struct From<Criteria> {
  Criteria value;
  From(nb::handle object, const char* name) {
    const std::vector<double> n = numbers_of(object, name, 3, 3);
    const auto integer = [](double x) { return static_cast<int>(std::min(std::max(x, -2147483648.0), 2147483647.0)); };
    value = {integer(n[0]), integer(n[1]), n[2]};
  }
  const Criteria& get() const { return value; }
};

namespace {

using Box = std::tuple<vision::Point2d, vision::Point2d, double>;

Box box_of(const RotatedRect& box) { return {{box.center.x, box.center.y}, {box.width, box.height}, box.angle}; }

template <class T>
Tensor tensor_of(DType dtype, const Shape& shape, const T* data) {
  Tensor tensor(dtype, shape);
  if (tensor.elements()) std::memcpy(tensor.writable().data(), data, static_cast<size_t>(tensor.elements()) * sizeof(T));
  return tensor;
}

std::pair<std::vector<Tensor>, Tensor> find_contours(const vision::ImageView& image, vision::Retrieval mode,
                                                     vision::ChainApproximation method, vision::Point offset) {
  const vision::Contours found = vision::find_contours(image, mode, method, offset);
  const int64_t count = static_cast<int64_t>(found.starts.size()) - 1;
  std::vector<Tensor> contours;
  contours.reserve(static_cast<size_t>(count));
  for (size_t i = 0; i + 1 < found.starts.size(); ++i) {
    const int64_t points = found.starts[i + 1] - found.starts[i];
    contours.push_back(tensor_of(DType::i32, {points, 1, 2}, reinterpret_cast<const int32_t*>(found.points.data() + found.starts[i])));
  }
  return {std::move(contours), count ? tensor_of(DType::i32, {1, count, 4}, found.hierarchy.data()) : Tensor()};
}

Box min_area_rect(const TensorView& points) { return box_of(vision::min_area_rect(points)); }
Box fit_ellipse(const TensorView& points) { return box_of(vision::fit_ellipse(points)); }
Box fit_ellipse_direct(const TensorView& points) { return box_of(vision::fit_ellipse_direct(points)); }
Box fit_ellipse_mean_square(const TensorView& points) { return box_of(vision::fit_ellipse_mean_square(points)); }
std::pair<vision::Point2d, double> min_enclosing_circle(const TensorView& points) {
  const vision::Circle circle = vision::min_enclosing_circle(points);
  return {{circle.center.x, circle.center.y}, circle.radius};
}
std::pair<int, Tensor> rotated_rectangle_intersection(const RotatedRect& a, const RotatedRect& b) {
  Tensor region;
  const int result = vision::rotated_rectangle_intersection(a, b, region);
  return {result, std::move(region)};
}

std::vector<double> moments(const TensorView& array, bool binary) {
  const vision::Moments m = vision::moments(array, binary);
  return {m.begin(), m.end()};
}
Tensor hu_moments(const std::vector<double>& numbers) {
  if (numbers.size() != 24) throw InvalidArgument("HuMoments takes the moments that moments() gives");
  vision::Moments m;
  std::copy(numbers.begin(), numbers.end(), m.begin());
  const std::array<double, 7> hu = vision::hu_moments(m);
  return tensor_of(DType::f64, {7, 1}, hu.data());
}

std::tuple<int, Tensor, Tensor, Tensor> connected_components(const vision::ImageView& image, int connectivity, DType dtype, bool blocks,
                                                             bool with_stats) {
  vision::Components found = vision::connected_components(
      image, connectivity, dtype, blocks ? vision::ComponentOrder::blocks : vision::ComponentOrder::pixels, with_stats);
  return {found.count, std::move(found.labels), std::move(found.stats), std::move(found.centroids)};
}

std::pair<Tensor, Tensor> good_features(const vision::ImageView& image, int most, double quality, double distance,
                                        const vision::ImageView& mask, int block, int size, bool harris, double k) {
  vision::Corners corners = vision::good_features_to_track(image, most, quality, distance, mask, block, size, harris, k);
  return {std::move(corners.points), std::move(corners.quality)};
}
std::tuple<double, Tensor, Tensor> kmeans(const TensorView& data, int clusters, const std::optional<TensorView>& labels,
                                          const Criteria& criteria, int attempts, int flags) {
  if ((flags & 1) && !labels) throw InvalidArgument("kmeans: KMEANS_USE_INITIAL_LABELS takes labels");
  vision::KMeans found = vision::kmeans(data, clusters, labels ? *labels : data, criteria, attempts, flags);
  return {found.compactness, std::move(found.labels), std::move(found.centers)};
}

std::pair<vision::Point2d, double> phase_correlate(const vision::ImageView& a, const vision::ImageView& b,
                                                   const vision::ImageView& window) {
  const vision::Shift shift = vision::phase_correlate(a, b, window);
  return {shift.offset, shift.response};
}
std::pair<double, Tensor> solve(const vision::ImageView& left, const vision::ImageView& right, int flags) {
  vision::Solution solution = vision::solve(left, right, flags);
  return {solution.result, std::move(solution.matrix)};
}
std::pair<double, Tensor> invert(const vision::ImageView& matrix, int method) {
  vision::Solution solution = vision::invert(matrix, method);
  return {solution.result, std::move(solution.matrix)};
}
std::tuple<Tensor, Tensor, Tensor> sv_decomp(const vision::ImageView& matrix, int flags) {
  vision::Decomposition d = vision::sv_decomp(matrix, flags);
  return {std::move(d.w), std::move(d.u), std::move(d.vt)};
}
std::tuple<Tensor, Tensor, Tensor> pca(const vision::ImageView& data, const vision::ImageView& mean, int most) {
  vision::PrincipalComponents found = vision::pca(data, mean, most);
  return {std::move(found.mean), std::move(found.vectors), std::move(found.values)};
}
Tensor solve_cubic(const std::vector<double>& coefficients, DType dtype) {
  const std::vector<double> roots = vision::solve_cubic(coefficients);
  if (roots.empty()) return Tensor();
  const Tensor all = tensor_of(DType::f64, {static_cast<int64_t>(roots.size()), 1}, roots.data());
  if (dtype == DType::f64) return all;
  const std::vector<float> single(roots.begin(), roots.end());
  return tensor_of(DType::f32, {static_cast<int64_t>(roots.size()), 1}, single.data());
}
Tensor solve_poly(const std::vector<double>& coefficients, int steps, DType dtype) {
  const std::vector<double> roots = vision::solve_poly(coefficients, steps);
  const Shape shape{static_cast<int64_t>(roots.size() / 2), 1, 2};
  if (dtype == DType::f64) return tensor_of(DType::f64, shape, roots.data());
  const std::vector<float> single(roots.begin(), roots.end());
  return tensor_of(DType::f32, shape, single.data());
}

std::tuple<Tensor, Tensor, Tensor> flow(const vision::ImageView& before, const vision::ImageView& after, const TensorView& points,
                                        const std::optional<TensorView>& guess, vision::Size window, int levels, const Criteria& criteria,
                                        int flags, double least) {
  if ((flags & 4) && !guess) throw InvalidArgument("calcOpticalFlowPyrLK: OPTFLOW_USE_INITIAL_FLOW takes nextPts");
  vision::Flow flow =
      vision::calc_optical_flow_pyr_lk(before, after, points, guess ? *guess : points, window, levels, criteria, flags, least);
  return {std::move(flow.points), std::move(flow.status), std::move(flow.errors)};
}

}  // namespace

void define_structure(nb::module_& m) {
  define(m, "setRNGSeed", vision::set_random_seed, {"seed"});
  define(m, "findContours", find_contours, {"image", "mode", "method", "offset"});
  define(m, "approxPolyDP", vision::approx_poly_dp, {"curve", "epsilon", "closed"});
  define(m, "arcLength", vision::arc_length, {"curve", "closed"});
  define(m, "contourArea", vision::contour_area, {"contour", "oriented"});
  define(m, "convexHull", vision::convex_hull, {"points", "clockwise", "returnPoints"});
  define(m, "convexityDefects", vision::convexity_defects, {"contour", "convexhull"});
  define(m, "isContourConvex", vision::is_contour_convex, {"contour"});
  define(m, "boundingRect", vision::bounding_rect, {"array"});
  define(m, "pointPolygonTest", vision::point_polygon_test, {"contour", "pt", "measureDist"});
  define(m, "minAreaRect", min_area_rect, {"points"});
  define(m, "boxPoints", vision::box_points, {"box"});
  define(m, "minEnclosingCircle", min_enclosing_circle, {"points"});
  define(m, "fitEllipse", fit_ellipse, {"points"});
  define(m, "fitEllipseDirect", fit_ellipse_direct, {"points"});
  define(m, "fitEllipseAMS", fit_ellipse_mean_square, {"points"});
  define(m, "minEnclosingTriangle", vision::min_enclosing_triangle, {"points"});
  define(m, "fitLine", vision::fit_line, {"points", "distType", "param", "reps", "aeps"});
  define(m, "rotatedRectangleIntersection", rotated_rectangle_intersection, {"rect1", "rect2"});
  define(m, "moments", moments, {"array", "binaryImage"});
  define(m, "HuMoments", hu_moments, {"m"});
  define(m, "connectedComponents", connected_components, {"image", "connectivity", "ltype", "blocks", "with_stats"});
  define(m, "HoughLines", vision::hough_lines,
         {"image", "rho", "theta", "threshold", "min_theta", "max_theta", "use_edgeval", "with_votes"});
  define(m, "HoughLinesP", vision::hough_lines_p, {"image", "rho", "theta", "threshold", "minLineLength", "maxLineGap"});
  define(m, "matchTemplate", vision::match_template, {"image", "templ", "method", "mask", "result"});
  define(m, "cornerHarris", vision::corner_harris, {"src", "blockSize", "ksize", "k", "borderType", "dst"});
  define(m, "cornerMinEigenVal", vision::corner_min_eigen_val, {"src", "blockSize", "ksize", "borderType", "dst"});
  define(m, "cornerEigenValsAndVecs", vision::corner_eigen_vals_and_vecs, {"src", "blockSize", "ksize", "borderType", "dst"});
  define(m, "goodFeaturesToTrack", good_features,
         {"image", "maxCorners", "qualityLevel", "minDistance", "mask", "blockSize", "gradientSize", "useHarrisDetector", "k"});
  define(m, "cornerSubPix", vision::corner_sub_pix, {"image", "corners", "winSize", "zeroZone", "criteria"});
  define(m, "kmeans", kmeans, {"data", "K", "bestLabels", "criteria", "attempts", "flags"});
  define(m, "dft", vision::dft, {"src", "flags", "nonzeroRows", "dst"});
  define(m, "dct", vision::dct, {"src", "flags", "dst"});
  define(m, "getOptimalDFTSize", vision::optimal_dft_size, {"vecsize"});
  define(m, "mulSpectrums", vision::mul_spectrums, {"a", "b", "flags", "conjB", "c"});
  define(m, "createHanningWindow", vision::hanning_window, {"winSize", "type", "dst"});
  define(m, "phaseCorrelate", phase_correlate, {"src1", "src2", "window"});
  define(m, "solve", solve, {"src1", "src2", "flags"});
  define(m, "invert", invert, {"src", "flags"});
  define(m, "determinant", vision::determinant, {"mtx"});
  define(m, "eigen", vision::eigen, {"src"});
  define(m, "SVDecomp", sv_decomp, {"src", "flags"});
  define(m, "gemm", vision::gemm, {"src1", "src2", "alpha", "src3", "beta", "flags", "dst"});
  define(m, "solveCubic", solve_cubic, {"coeffs", "dtype"});
  define(m, "solvePoly", solve_poly, {"coeffs", "maxIters", "dtype"});
  define(m, "PCACompute", pca, {"data", "mean", "maxComponents"});
  define(m, "HoughCircles", vision::hough_circles, {"image", "dp", "minDist", "param1", "param2", "minRadius", "maxRadius", "with_votes"});
  define(m, "calcOpticalFlowPyrLK", flow,
         {"prevImg", "nextImg", "prevPts", "nextPts", "winSize", "maxLevel", "criteria", "flags", "minEigThreshold"});
  define(m, "matchShapes", vision::match_shapes, {"contour1", "contour2", "method"});
}

}  // namespace minnow::python
