// SPDX-License-Identifier: Apache-2.0
// Rows of pixels in other colours: the loops of color.cpp, compiled for each instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace minnow::vision {

/// Steps over pixels of three colours. `to_*`: from blue, green and red; `from_*`: to them.
enum class ColorStep {
  reorder,
  to_gray,
  from_gray,
  to_luma,  // YCrCb and YUV
  from_luma,
  to_matrix,  // XYZ
  from_matrix,
  to_hsv,
  from_hsv,
  to_hls,
  from_hls,
  to_lab,
  from_lab,
  to_luv,
  from_luv,
  premultiply,
  unpremultiply,
  count
};

/// Fixed-point and floating weights of a step; each step says what they are.
struct ColorWeights {
  int i[9];
  float f[9];
};

struct LabTables;

/// How a row is converted. `blue`: the place of blue among the colours, 0 or 2.
struct ColorRow {
  int from, to;  // channels
  int blue;
  bool order = false;                     // luma: blue difference before red difference (YUV)
  bool linear = false;                    // Lab, Luv: colours without gamma
  float hue = 0;                          // HSV, HLS: the range of hue
  const ColorWeights* weights = nullptr;  // luma, matrix
  const LabTables* tables = nullptr;      // Lab, Luv
  const float* factors = nullptr;         // HSV of bytes: hsv_factors()
};

using ColorLoop = void (*)(const void* in, void* out, size_t pixels, const ColorRow& row);

/// Where a row of YUV pixels with one pair of chroma for two pixels comes from.
enum class ChromaLayout { interleaved, planes, yuyv, uyvy };
struct YuvRow {
  ChromaLayout layout;
  bool swapped;              // V before U
  const uint8_t *y, *u, *v;  // interleaved: u has both; yuyv and uyvy: y has all
  uint8_t* out;
  int to, blue;
};

/// A row of a Bayer mosaic from its second to its last but one pixel.
enum class BayerStep { mean, gray, edges };
struct BayerRow {
  const void *above, *here, *below;
  void* out;
  int to;            // channels; 1: gray
  int64_t first;     // the pixel that `out` is for
  bool green_first;  // that pixel is green
  bool blue;         // the row has blue besides green, not red
};

/// The same with variable gradients (VNG), for rows with two pixels more at each end.
struct GradientRow {
  const uint8_t* rows[5];  // from the second above to the second below, each from its second pixel before the first
  uint8_t* out;
  int to;            // channels
  bool green_first;  // the first pixel is green
  bool blue;         // the row has blue besides green, not red
};

struct ColorLoops {
  ColorLoop steps[3][static_cast<size_t>(ColorStep::count)];  // of u8, u16 and f32; null: the step is not there
};
const ColorLoops& color_loops();

struct YuvLoops {
  void (*from_yuv)(const YuvRow& row, size_t pixels);  // pixels: even
  /// y: of all pixels; u and v: of the pixels 0, 2, 4 ..., where they are not null.
  void (*to_yuv420)(const uint8_t* in, int channels, int blue, uint8_t* y, uint8_t* u, uint8_t* v, size_t pixels);
  void (*to_yuv422)(const uint8_t* in, int channels, int blue, uint8_t* out, int y, int u, int v, size_t pixels);
};
const YuvLoops& yuv_loops();

struct PackedLoops {
  void (*from_packed)(const uint16_t* in, uint8_t* out, int to, int blue, int green_bits, size_t pixels);  // to 1: gray
  void (*to_packed)(const uint8_t* in, int from, int blue, int green_bits, uint16_t* out, size_t pixels);  // from 1: gray
};
const PackedLoops& packed_loops();

struct BayerLoops {
  void (*bayer_u8)(const BayerRow& row, BayerStep step, size_t pixels);
  void (*bayer_u16)(const BayerRow& row, BayerStep step, size_t pixels);
  void (*gradients)(const GradientRow& row, size_t pixels);
};
const BayerLoops& bayer_loops();

/// Tables of OpenCV's Lab and Luv: gamma of 1024 steps as cubic splines, fixed-point roots, and a cube of 33 x 33 x 33 colours.
struct LabTables {
  static constexpr int kSteps = 1024;
  std::vector<float> gamma, inverse_gamma, root;  // 4 coefficients for each step
  int gamma_u8[256], inverse_gamma_u8[4096], root_u8[3072];
  int lab_matrix_u8[9], lab_inverse_u8[9], luv_inverse_u8[9];  // from red, green, blue; to them
  float lab_matrix[9], lab_inverse[9], luv_matrix[9], luv_inverse[9];
  int y_u8[256], fy_u8[256];
  std::vector<int> xz_u8;         // from -8145
  std::vector<int> u_u8, v_u8;    // [L][u], [L][v]
  std::vector<int16_t> lab, luv;  // the cube: for each colour 8 corners of 3 channels
  float un, vn;
};
const LabTables& lab_tables();

/// Factors, in OpenCV's steps of 1/4096, of a difference of bytes: 256 that give the hue (0 to 180, or with `full` 256) for each largest
/// difference, then 256 that give the saturation for each value. A difference times its factor is exact in floats.
const float* hsv_factors(bool full);

}  // namespace minnow::vision
