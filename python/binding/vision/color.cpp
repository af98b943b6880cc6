// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_color(nb::module_& m) { define(m, "cvt_color", vision::convert_color, {"src", "code"}); }

}  // namespace minnow::python
