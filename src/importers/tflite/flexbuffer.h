// SPDX-License-Identifier: Apache-2.0
// FlexBuffers, as custom operators keep their options: a map of names to numbers, texts and lists of numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace minnow::tflite {

using FlexValue = std::variant<int64_t, double, std::string, std::vector<double>>;
using FlexMap = std::map<std::string, FlexValue>;

/// The map at the root of the buffer; values of other kinds (maps in maps, null) are left out. Throws Malformed.
std::map<std::string, FlexValue> read_flex_map(std::span<const std::byte> buffer);

}  // namespace minnow::tflite
