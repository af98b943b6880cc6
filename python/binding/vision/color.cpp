// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_color(nb::module_& m) {
  define(m, "cvt_color", vision::convert_color, {"src", "code", "dstCn", "dst"});
  define(m, "cvt_color_two_plane", vision::convert_color_two_planes, {"src1", "src2", "code", "dst"});
}

}  // namespace minnow::python
