// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "backends/gpu/launches.h"
#include "graph/window.h"

namespace minnow::gpu {

/// The window in three dimensions, the first ones trivial.
struct Window3 {
  int64_t input[3], output[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
  explicit Window3(const WindowGeometry& window) {
    for (size_t i = 0; i < 3; ++i) {
      const bool given = i + window.rank() >= 3;
      const size_t axis = given ? i + window.rank() - 3 : 0;
      input[i] = given ? window.input[axis] : 1, output[i] = given ? window.output[axis] : 1, kernel[i] = given ? window.kernel[axis] : 1;
      stride[i] = given ? window.stride[axis] : 1, dilation[i] = given ? window.dilation[axis] : 1,
      pad[i] = given ? window.pad_begin[axis] : 0;
      pad_end[i] = given ? window.pad_end[axis] : 0;
    }
  }
  // As macros: sizes of the taps, and steps.
  std::string definitions() const {
    return format(
        "#define KD {}\n#define KH {}\n#define KW {}\n#define SD {}\n#define SH {}\n#define SW {}\n#define DD {}\n#define DH {}\n#define "
        "DW {}\n"
        "#define PD {}\n#define PH {}\n#define PW {}\n",
        kernel[0], kernel[1], kernel[2], stride[0], stride[1], stride[2], dilation[0], dilation[1], dilation[2], pad[0], pad[1], pad[2]);
  }
  static constexpr std::string_view kParameters = "const int ID, const int IH, const int IW, const int OD, const int OH, const int OW";
  void append(std::vector<Given>& given) const {
    for (const int64_t size : input) given.emplace_back(size);
    for (const int64_t size : output) given.emplace_back(size);
  }
};

}  // namespace minnow::gpu
