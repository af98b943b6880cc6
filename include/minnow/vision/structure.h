// SPDX-License-Identifier: Apache-2.0
// Contours, shapes, lines, components, features and matching.
//
// Points are tensors of i32 or f32, [n, 2], [n, 1, 2] or [1, n, 2], contours too. Functions throw InvalidArgument for other tensors.
#pragma once
#include <minnow/vision/image.h>

#include <utility>
#include <vector>

namespace minnow::vision {

struct Point2f {
  float x = 0, y = 0;
};

/// A rectangle around `center`, turned clockwise (in a picture) by `angle` degrees.
struct RotatedRect {
  Point2f center;
  float width = 0, height = 0, angle = 0;
};

/// When an iteration ends: after `count` steps (type & 1), or with a change below `epsilon` (type & 2).
struct Criteria {
  int type = 3;
  int count = 30;
  double epsilon = 0.01;
};

/// Sets the seed of the thread's random numbers, which some estimates draw. They start as OpenCV's do.
MINNOW_API void set_random_seed(int seed);

// ---- Contours

enum class Retrieval { external = 0, list = 1, two_levels = 2, tree = 3, flood_fill = 4 };
enum class ChainApproximation { none = 1, simple = 2, tc89_l1 = 3, tc89_kcos = 4 };

struct Contours {
  std::vector<int32_t> starts;     // contour i has the points starts[i] .. starts[i + 1] - 1
  std::vector<Point> points;       // of all contours
  std::vector<int32_t> hierarchy;  // for each contour: next, previous, first child, parent; -1: none
};

/// Borders of the areas that are not 0 in a picture (u8) of one channel, in OpenCV's order; with two_levels or flood_fill of the areas of
/// equal labels in a picture of i32, ground between them included, as OpenCV finds them. Source: S. Suzuki and K. Abe, Topological
/// structural analysis of digitized binary images by border following (1985); approximations: C.-H. Teh and R. T. Chin, On the detection of
/// dominant points on digital curves (1989). Time: the pixels and the lengths of the borders. Throws InvalidArgument for another mode.
MINNOW_API Contours find_contours(const ImageView& image, Retrieval mode, ChainApproximation method, Point offset = {});

// ---- Polygons

/// Fewer points of a polyline, at most `epsilon` away; [m, 1, 2] of the same dtype. Source: D. Douglas and T. Peucker, Algorithms for the
/// reduction of the number of points required to represent a digitized line (1973).
MINNOW_API Tensor approx_poly_dp(const TensorView& curve, double epsilon, bool closed);
MINNOW_API double arc_length(const TensorView& curve, bool closed);
/// `oriented`: negative where the points run counterclockwise as a person sees the picture.
MINNOW_API double contour_area(const TensorView& contour, bool oriented = false);
/// The corners of the convex hull, [m, 1, 2], or their positions among the points, i32[m, 1]. `clockwise` in a system of coordinates whose
/// y points up. Source: J. Sklansky, Finding the convex hull of a simple polygon (1982), over sorted points. Time: n log n.
MINNOW_API Tensor convex_hull(const TensorView& points, bool clockwise = false, bool return_points = true);
/// i32[m, 1, 4]: positions of the first, the last and the farthest point of each dent, and 256 times its depth. `hull`: positions that
/// convex_hull() gave. An empty tensor where there are none to look for.
MINNOW_API Tensor convexity_defects(const TensorView& contour, const TensorView& hull);
MINNOW_API bool is_contour_convex(const TensorView& contour);
/// Takes points, or a picture (u8 or i8, [height, width]), whose pixels that are not 0 count.
MINNOW_API Rect bounding_rect(const TensorView& array);
/// 1, 0 or -1 where the point is inside, on an edge or outside; the distance to the next edge with that sign where `measure`.
MINNOW_API double point_polygon_test(const TensorView& contour, Point2d point, bool measure);

// ---- Shapes around points

/// The smallest rectangle. Source: G. Toussaint, Solving geometric problems with the rotating calipers (1983).
MINNOW_API RotatedRect min_area_rect(const TensorView& points);
/// f32[4, 2].
MINNOW_API Tensor box_points(const RotatedRect& box);
struct Circle {
  Point2f center;
  float radius = 0;
};
/// Source: E. Welzl, Smallest enclosing disks (1991).
MINNOW_API Circle min_enclosing_circle(const TensorView& points);
/// The area and the corners, f32[3, 1, 2], of the smallest triangle. Source: V. Klee and M. Laskowski, Finding the smallest triangles
/// containing a given convex polygon (1985). Time: n log n, and the square of the corners of the hull.
MINNOW_API std::pair<double, Tensor> min_enclosing_triangle(const TensorView& points);
/// Least squares of algebraic distances; five points or more. Source: A. Fitzgibbon and R. Fisher, A buyer's guide to conic fitting (1995).
MINNOW_API RotatedRect fit_ellipse(const TensorView& points);
/// Source: A. Fitzgibbon, M. Pilu and R. Fisher, Direct least square fitting of ellipses (1999).
MINNOW_API RotatedRect fit_ellipse_direct(const TensorView& points);
/// Source: G. Taubin, Estimation of planar curves, surfaces, and nonplanar space curves (1991); fit_ellipse_direct() where it is no
/// ellipse.
MINNOW_API RotatedRect fit_ellipse_mean_square(const TensorView& points);
enum class Distance { user = -1, l1 = 1, l2 = 2, c = 3, l12 = 4, fair = 5, welsch = 6, huber = 7 };
/// f32[4, 1]: a direction of length 1 and a point, or f32[6, 1] for points of three coordinates.
MINNOW_API Tensor fit_line(const TensorView& points, Distance distance, double parameter, double radius, double angle);
/// 0: apart; 1: partly; 2: one within the other. `region` becomes f32[m, 1, 2], or stays empty.
MINNOW_API int rotated_rectangle_intersection(const RotatedRect& a, const RotatedRect& b, Tensor& region);

// ---- Moments

/// m00 m10 m01 m20 m11 m02 m30 m21 m12 m03, mu20 mu11 mu02 mu30 mu21 mu12 mu03, nu20 nu11 nu02 nu30 nu21 nu12 nu03.
using Moments = std::array<double, 24>;
/// Takes a contour, for the area within it, or a picture of one channel (`binary`: elements that are not 0 count as ones).
MINNOW_API Moments moments(const TensorView& array, bool binary = false);
/// Source: M.-K. Hu, Visual pattern recognition by moment invariants (1962).
MINNOW_API std::array<double, 7> hu_moments(const Moments& moments);
enum class ShapeMatch { i1 = 1, i2 = 2, i3 = 3 };
MINNOW_API double match_shapes(const TensorView& a, const TensorView& b, ShapeMatch method);

// ---- Components

/// The order of labels: of the first pixels of the components, row by row, or of their first blocks of 2 x 2 pixels.
enum class ComponentOrder : uint8_t { pixels, blocks };
struct Components {
  int32_t count = 0;        // of labels; 0 is the background
  Tensor labels;            // [height, width]
  Tensor stats, centroids;  // i32[count, 5]: left, top, width, height, area; f64[count, 2]
};
/// Labels of the connected areas of the pixels that are not 0 (u8 or i8, one channel). dtype: i32 or u16. Time: the pixels; the runs of
/// pixels are joined as in A. Rosenfeld and J. Pfaltz, Sequential operations in digital picture processing (1966).
MINNOW_API Components connected_components(const ImageView& image, int connectivity, DType dtype, ComponentOrder order, bool with_stats);

// ---- Lines and circles

/// Lines (distance from the origin, angle), f32[n, 1, 2], that more than `threshold` pixels lie on (u8, one channel); with their number of
/// pixels f32[n, 1, 3]. Source: R. Duda and P. Hart, Use of the Hough transformation to detect lines and curves in pictures (1972).
MINNOW_API Tensor hough_lines(const ImageView& image, double rho, double theta, int threshold, double min_theta, double max_theta,
                              bool weighted, bool with_votes);
/// Line segments (x, y, x, y), i32[n, 1, 4]; an empty tensor where there are none. Source: J. Matas, C. Galambos and J. Kittler, Robust
/// detection of lines using the progressive probabilistic Hough transform (2000).
MINNOW_API Tensor hough_lines_p(const ImageView& image, double rho, double theta, int threshold, double min_length, double max_gap);

/// Circles (x, y, radius), f32[1, n, 3], of a u8 picture, or with their votes [1, n, 4]; an empty tensor where there are none. edge:
/// Canny's upper threshold; votes: for a center. Source: H. Yuen et al., Comparative study of Hough transform methods for circle finding
/// (1990).
MINNOW_API Tensor hough_circles(const ImageView& image, double dp, double distance, double edge, double votes, int least_radius,
                                int most_radius, bool with_votes);

// ---- Templates

enum class TemplateMatch { sqdiff = 0, sqdiff_normed = 1, ccorr = 2, ccorr_normed = 3, ccoeff = 4, ccoeff_normed = 5 };
/// How a template matches each part of a picture of its size: f32[height - th + 1, width - tw + 1]. u8 or f32, up to four channels. `mask`
/// (u8: 0 or not, or f32 weights) says which elements of the template count. Time: n log n for n pixels, by Fourier transforms of blocks.
MINNOW_API Tensor match_template(const ImageView& image, const ImageView& pattern, TemplateMatch method, const ImageView& mask = {},
                                 Output output = {});

// ---- Corners

/// det(S) - k trace(S)^2 of the derivatives' scatter S over blocks, f32. Pictures are u8 or f32 of one channel; size: of Sobel's kernel, or
/// -1 for Scharr's. Source: C. Harris and M. Stephens, A combined corner and edge detector (1988).
MINNOW_API Tensor corner_harris(const ImageView& image, int block, int size, double k, Border border = Border::reflect101,
                                Output output = {});
/// The smaller eigenvalue of S. Source: J. Shi and C. Tomasi, Good features to track (1994).
MINNOW_API Tensor corner_min_eigen_val(const ImageView& image, int block, int size = 3, Border border = Border::reflect101,
                                       Output output = {});
/// f32[height, width, 6]: both eigenvalues and their vectors.
MINNOW_API Tensor corner_eigen_vals_and_vecs(const ImageView& image, int block, int size, Border border = Border::reflect101,
                                             Output output = {});
struct Corners {
  Tensor points, quality;  // f32[n, 1, 2], f32[n, 1]; empty tensors where there are none
};
/// The best corners that are `distance` pixels apart; `most`: 0 for all.
MINNOW_API Corners good_features_to_track(const ImageView& image, int most, double quality, double distance, const ImageView& mask = {},
                                          int block = 3, int size = 3, bool harris = false, double k = 0.04);
/// Corners (f32 points) moved to where all gradients around point away from them; `half`: the window is 2 * half + 1 pixels. Source: W.
/// Foerstner and E. Guelch, A fast operator for detection and precise location of distinct points (1987).
MINNOW_API Tensor corner_sub_pix(const ImageView& image, const TensorView& corners, Size half, Size zero, const Criteria& criteria);

// ---- Clusters

struct KMeans {
  double compactness = 0;  // the sum of squared distances
  Tensor labels, centers;  // i32[n, 1], f32[clusters, size]
};
/// Samples f32[n, size]. flags: 1: `labels` are the start; 2: centers start apart (D. Arthur and S. Vassilvitskii, k-means++, 2007).
/// Source: S. Lloyd, Least squares quantization in PCM (1982).
MINNOW_API KMeans kmeans(const TensorView& data, int clusters, const TensorView& labels, Criteria criteria, int attempts, int flags);

// ---- Fourier transforms

/// The discrete Fourier transform of f32 or f64 pictures of one channel (real) or two (complex). flags are OpenCV's: 1 inverse, 2 divided
/// by the number of elements, 4 of each row alone, 16 complex result of real numbers (else packed as OpenCV packs it), 32 real result of
/// the inverse. `nonzero_rows`: rows from there on count as 0; 0: none. Sources: J. Cooley and J. Tukey (1965), L. Bluestein (1968).
MINNOW_API Tensor dft(const ImageView& image, int flags = 0, int nonzero_rows = 0, Output output = {});
/// The cosine transform (N. Ahmed, T. Natarajan and K. Rao, 1974). flags: 1 inverse, 4 of each row alone.
MINNOW_API Tensor dct(const ImageView& image, int flags = 0, Output output = {});
/// The least size that is not below and whose transforms are fast; -1 where there is none.
MINNOW_API int optimal_dft_size(int size);
/// Products of spectra, packed or complex; `conjugate`: of the second's conjugate.
MINNOW_API Tensor mul_spectrums(const ImageView& a, const ImageView& b, int flags, bool conjugate = false, Output output = {});
MINNOW_API Tensor hanning_window(Size size, DType dtype, Output output = {});
struct Shift {
  Point2d offset;
  double response = 0;  // 1 at most
};
/// How far b is from a (f32 or f64, one channel). Source: C. Kuglin and D. Hines, The phase correlation image alignment method (1975).
MINNOW_API Shift phase_correlate(const ImageView& a, const ImageView& b, const ImageView& window = {});

// ---- Matrices (f32 or f64, [rows, columns])

struct Solution {
  double result = 0;  // 0: there is none
  Tensor matrix;
};
/// flags are OpenCV's: 0 LU, 1 SVD, 2 eigenvalues, 3 Cholesky, 4 QR; 16: of the normal equations.
MINNOW_API Solution solve(const ImageView& left, const ImageView& right, int flags = 0);
/// The result of SVD and eigenvalues is the ratio of the least to the largest.
MINNOW_API Solution invert(const ImageView& matrix, int method = 0);
MINNOW_API double determinant(const ImageView& matrix);
/// Eigenvalues of a symmetric matrix, which fall, [n, 1], and their vectors as rows. Source: C. Jacobi (1846).
MINNOW_API std::pair<Tensor, Tensor> eigen(const ImageView& matrix);
struct Decomposition {
  Tensor w, u, vt;
};
/// flags: 2: singular values alone; 4: all columns of u. Source: M. Hestenes, Inversion of matrices by biorthogonalization (1958).
MINNOW_API Decomposition sv_decomp(const ImageView& matrix, int flags = 0);
/// alpha a b + beta c; flags: 1, 2, 4: a, b, c are transposed.
MINNOW_API Tensor gemm(const ImageView& a, const ImageView& b, double alpha, const ImageView& c, double beta, int flags = 0,
                       Output output = {});
/// Real roots of a x^3 + b x^2 + c x + d, or without a of x^3 + ...
MINNOW_API std::vector<double> solve_cubic(const std::vector<double>& coefficients);
/// Real and imaginary parts of all roots of c0 + c1 x + ... Source: E. Durand (1960), I. Kerner (1966).
MINNOW_API std::vector<double> solve_poly(const std::vector<double>& coefficients, int steps = 300);
struct PrincipalComponents {
  Tensor mean, vectors, values;  // [1, size], [n, size], [n, 1]
};
/// Samples are rows. `mean`: given, or none. `most`: 0 for all.
MINNOW_API PrincipalComponents pca(const ImageView& data, const ImageView& mean = {}, int most = 0);

// ---- Flow

struct Flow {
  Tensor points, status, errors;  // as the points; u8[n, 1]: 1 where a point was found; f32[n, 1]
};
/// Where points (f32) of a picture (u8) are in another. `guess`: read with flag 4. Flag 8: errors are the eigenvalues. Source: J.-Y.
/// Bouguet, Pyramidal implementation of the Lucas Kanade feature tracker (2000).
MINNOW_API Flow calc_optical_flow_pyr_lk(const ImageView& before, const ImageView& after, const TensorView& points, const TensorView& guess,
                                         Size window, int levels, const Criteria& criteria, int flags, double least_eigenvalue);

}  // namespace minnow::vision
