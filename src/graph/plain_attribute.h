// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <type_traits>

#include "graph/graph.h"

namespace minnow {

/// Whether attributes of type T, one of AttributeValue's, are numbers or texts, which can be compared and digested as they are; tensors,
/// graphs and types of values are not.
template <class T>
inline constexpr bool kIsPlainAttribute = std::is_same_v<T, int64_t> || std::is_same_v<T, float> || std::is_same_v<T, std::string> ||
                                          std::is_same_v<T, Ints> || std::is_same_v<T, Floats> || std::is_same_v<T, Strings>;

inline bool is_plain(const AttributeValue& value) {
  return std::visit([](const auto& is) { return kIsPlainAttribute<std::decay_t<decltype(is)>>; }, value);
}

}  // namespace minnow
