// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/compress.h>

#include "binding.h"

namespace minnow::python {

/// A path; arrays by the names of inputs, whose first axis counts samples; or a list of samples, each a list of arrays. Throws TypeFault,
/// InvalidArgument, IoError.
compress::Samples samples_from(const Model& model, nb::handle given, const char* name);

}  // namespace minnow::python
