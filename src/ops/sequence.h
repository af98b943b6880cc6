// SPDX-License-Identifier: Apache-2.0
// Shared by operators on sequences and optionals and by those that run subgraphs.
#pragma once
#include "ops/operator.h"

namespace minnow {

inline constexpr InputSpec sequence_input(Name name) { return {name, kAny, Arity::required, kSequences}; }

inline void set_sequence(ValueInfo& info, DType dtype) {
  info.kind = ValueInfo::Kind::sequence;
  info.dtype = dtype;
}
inline void set_unknown_tensor(ValueInfo& info, DType dtype) {
  info.kind = ValueInfo::Kind::tensor;
  info.dtype = dtype;
  info.extent = ValueInfo::Extent::unknown;
}

/// The same value in memory of its own, as far as it borrows another's.
Datum owned(Datum value);

/// Kind and dtype of a value of that type; a tensor's shape is left unknown.
ValueInfo info_of(const ValueType& type);

}  // namespace minnow
