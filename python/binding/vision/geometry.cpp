// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_geometry(nb::module_& m) { define(m, "resize", vision::resize, {"src", "dsize", "interpolation", "fx", "fy", "dst"}); }

}  // namespace minnow::python
