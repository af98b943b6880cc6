// SPDX-License-Identifier: Apache-2.0
// Products of two activations of bytes: the right factor is packed into panels while a model runs.
#pragma once
#include <vector>

#include "backends/cpu/cpu_device.h"
#include "backends/cpu/kernels/integer_weights.h"

namespace minnow::cpu {

/// The form of panels of a matrix of `depth` terms and `outputs` columns.
class BytePanels {
 public:
  static constexpr size_t kPair = 2;  // vectors of a panel

  /// `is_signed`: the dtype of the matrix.
  BytePanels(const Kernels& kernels, size_t depth, size_t outputs, bool is_signed);

  IntegerForm form() const noexcept { return form_; }
  size_t pairs() const noexcept { return pairs_; }
  /// Columns of a panel, and of all.
  size_t columns() const noexcept { return kPair * lanes_; }
  size_t padded() const noexcept { return pairs_ * columns(); }
  size_t panel_bytes() const noexcept { return panel_bytes_; }
  size_t bytes() const noexcept { return pairs_ * panel_bytes_; }
  /// Bytes of a row of the left factor as it is arranged, with room for whole vectors behind it.
  size_t row_bytes() const noexcept { return row_; }
  /// Bytes from one row to the next, and, in the form matrices, from one group of `count` rows to the next.
  size_t row_stride() const noexcept { return form_ == IntegerForm::matrices ? group_bytes(form_) : row_; }
  /// Panels hold numbers less a zero point. The part of it that they cannot take, as numbers would exceed a byte; 0 in words.
  int32_t rest_of(int32_t zero) const noexcept { return form_ == IntegerForm::words ? 0 : zero - shift_; }

  /// The panel of a pair of vectors. The number of term k and output o is from[k * term_step + o * output_step].
  void pack(const uint8_t* from, size_t term_step, size_t output_step, int32_t zero, size_t pair, uint8_t* panel) const noexcept;
  /// sums[o] = the sum of the numbers of a panel over the terms, for its columns; 0 in words, where no caller needs them.
  void sum_terms(const uint8_t* panel, int32_t* sums) const noexcept;
  /// Rows of the left factor, `stride` bytes apart, as tiles read them.
  void arrange(const ByteSource& x, size_t stride, size_t count, uint8_t* rows) const noexcept;
  /// A tile with all that tiles which multiply `count` arranged rows share.
  IntegerTile tile(size_t count) const noexcept;
  /// A panel times `count` arranged rows. The caller has set how sums become results, and the panel. Results go to y, rows `y_row` bytes
  /// apart.
  void multiply(IntegerTile& tile, const IntegerTiles& tiles, const uint8_t* rows, size_t count, uint8_t* y, size_t y_row) const noexcept;

 private:
  const Kernels& kernels_;
  size_t depth_, outputs_, lanes_;
  bool is_signed_;
  IntegerForm form_;
  int32_t shift_;  // of the bytes in panels
  size_t groups_, pairs_, panel_bytes_, row_;
  std::vector<size_t> terms_;
};

}  // namespace minnow::cpu
