// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

namespace minnow::python {

void define_structure(nb::module_& m) { static_cast<void>(m); }

}  // namespace minnow::python
