// SPDX-License-Identifier: Apache-2.0
// Operators from shared libraries, through the C tables of <minnow/minnow_c.h>.
#pragma once
#include <minnow/minnow_c.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace minnow {

/// The built-in operators and those of the libraries, which stay loaded as long as the set lives.
/// Throws IoError for a library that cannot be loaded, InvalidArgument for one that exports no operators of this ABI version.
/// `more`: operators of this process, which live as long as it does.
std::shared_ptr<const OperatorSet> load_custom_operators(const std::vector<std::string>& libraries,
                                                         std::span<const minnow_custom_op* const> more = {});

}  // namespace minnow
