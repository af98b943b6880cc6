// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace minnow {

/// What a kernel lets RunContext::thrown hold whose sums in 16 bits became infinite or NaN. Its outputs are as they are; where its inputs
/// were finite, the run is repeated without the scheme.
struct SumsOverflow {};

}  // namespace minnow
