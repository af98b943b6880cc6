// SPDX-License-Identifier: Apache-2.0
// How the inputs of an elementwise operator correspond to its output: rows, strides, broadcasting.
#pragma once
#include <string>
#include <vector>

#include "backends/backend.h"

namespace minnow::cpu {

/// The elements of an input's row: an element for each place, one for all, or one vector that repeats.
enum class ElementwiseForm : uint8_t { full, scalar, lanes };

/// The output as rows: axes from the outermost to the row, merged where all inputs allow it.
struct ElementwiseGeometry {
  struct Source {
    size_t input = 0;
    ElementwiseForm form = ElementwiseForm::full;
    bool spread = false;               // must be copied into a buffer of floats, block by block
    bool bytes = false;                // truth values, u8 or i8
    Ints strides = {};                 // along the axes, in elements
    std::vector<float> channels = {};  // a constant per channel (of four bytes each), in whole vectors; empty: read from the input
  };
  std::vector<int64_t> axes;
  std::vector<Source> sources;  // of the inputs that are there
  int64_t rows = 1, row = 1;
  bool long_rows = true;  // a block is a piece of one row; else it is several whole rows

  /// The plain layout, with any broadcasting. Returns the reason if that is impossible.
  std::string plain(const NodeView& node);
  /// The packed layout of four-byte elements, and of bytes of the output's shape: inputs of the output's shape, single elements, values per
  /// channel.
  std::string packed(const NodeView& node, int64_t lanes);
  /// The offset of a row in an input.
  int64_t offset_of(const Source& source, int64_t row_index) const noexcept {
    int64_t offset = 0;
    for (size_t axis = axes.size() - 1; axis-- > 0; row_index /= axes[axis]) offset += row_index % axes[axis] * source.strides[axis];
    return offset;
  }

 private:
  void merge();
};

}  // namespace minnow::cpu
