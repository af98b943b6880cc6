// SPDX-License-Identifier: Apache-2.0
// Products of matrices of 16 bits or of TF32 on NVIDIA's tensor cores, with f32 sums, and of bytes, with integer sums, for convolutions and
// matrix products. Rows of A are positions of a packed tensor (packed.h), columns of B are output channels.
#pragma once
#include "backends/gpu/schemes/packed.h"
#include "backends/gpu/schemes/window3.h"
#include "graph/activation.h"

namespace minnow::gpu {

struct TensorGemm {
  std::string_view type;                     // f16, bf16, tf32, or of bytes u8 or i8; then B is i8
  int64_t rows = 0, columns = 0, units = 0;  // of A, of B, and 16 bytes along the sums for each tap; columns and units of one group
  int64_t groups = 1, out_channels = 0, images = 1;
  // Rows are output places of windows over images.
  int64_t input_height = 1, input_width = 1, output_height = 1, output_width = 1;
  int64_t taps_y = 1, taps_x = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1, pad_y = 0, pad_x = 0;
  Given a = Given::input(0), bias = Given::input(0);
  std::optional<Given> residual;  // like the result
  std::string_view plain_result;  // the dtype of a result in the plain layout, [rows, columns] or of images; empty: packed
  bool a_is_matrix = false;       // A lies as [rows, units of a whole row], not packed; of 16 bits
  Activation activation;
  int64_t taps() const { return taps_y * taps_x; }
  int64_t all_units() const { return pairs ? (taps() + 1) / 2 : units * taps(); }
  // Where A has bytes:
  // Statements that make `result` of the int `sum` of a `channel`, and of the residual's byte `more`, by the table `ends`, which is the
  // bias.
  std::string finish;
  std::string_view residual_bytes = "u8";  // the residual's dtype; only a packed result has one
  std::optional<Given> fill = {};          // 8 bytes that stand for places outside of images
  int64_t in_chunks = 0;                   // of an image of A, of all groups
  bool pairs = false;                      // A has one chunk: a unit is that of two taps
  bool plain_images = false;               // the plain result is [image][column][place]
  bool of_bytes() const { return packed_size(type) == 1; }
  int64_t unit_lanes() const { return static_cast<int64_t>(16 / packed_size(type)); }
  /// Sums of so many channels for each tap: whole units, and whole chunks of the packed layout.
  void set_depth(int64_t channels) { units = of_bytes() ? (channels + 15) / 16 : (channels + kPack - 1) / kPack * (kPack / unit_lanes()); }
};

/// The sizes of a convolution with one or two spatial dimensions; all but the depth and what is read and written.
TensorGemm tensor_gemm_of(const ConvGeometry& conv);

/// A weight's elements as floats.
class Floats {
 public:
  explicit Floats(const TensorView& tensor);
  float operator[](int64_t i) const { return data_[i]; }

 private:
  std::vector<float> made_;
  const float* data_;
};

/// Writes elements of a packed type, rounded from f32.
class PackedWriter {
 public:
  PackedWriter(std::string_view type, void* to) : type_(type), to_(static_cast<std::byte*>(to)) {}
  void append(float x);

 private:
  std::string_view type_;
  std::byte* to_;
};
/// A packed type as a parameter of packed weights.
int64_t packed_key(std::string_view type);

/// How B is ordered: units of 16 bytes along the sums, each for all columns. `element(group, tap, channel, column)` tells B.
/// The packing depends on `blocked()` alone besides sizes.
bool is_blocked(const TensorGemm& gemm);
size_t packed_bytes(const TensorGemm& gemm);
void pack_columns(const TensorGemm& gemm, FunctionRef<float(int64_t group, int64_t tap, int64_t channel, int64_t column)> element,
                  int64_t channels, void* out);

/// Appends a launch that brings a plain matrix into chunks, as a packed tensor of `rows` places with `depth` channels, in scratch.
Given add_rows_in_chunks(Launches& kernel, PrepareContext& context, size_t input, std::string_view type, int64_t rows, int64_t depth);

/// Appends the launch; `b` is what pack_columns made. Reserves scratch where sums are split.
void add_tensor_gemm(Launches& kernel, PrepareContext& context, const TensorGemm& gemm, Given b);

/// Microseconds of that launch by a model of what was measured.
double tensor_microseconds(const TensorGemm& gemm, int capability);
/// Seconds, for estimates.
double tensor_seconds(double multiply_adds, const Device& device);

}  // namespace minnow::gpu
