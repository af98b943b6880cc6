// SPDX-License-Identifier: Apache-2.0
// Values of settings, checked against their rows.
#pragma once
#include <optional>
#include <vector>

#include "train/rule.h"

namespace minnow::train {

/// "0.5", "true", "\"cosine\"", "[1, 2]": for sentences.
std::string shown(const Setting& value);

/// The value as a number. Throws InvalidArgument with `where` ("optimizer adam") for another type and for a value out of range.
double checked(const SettingRow& row, const Setting& value, std::string_view where);
/// The row's type with its default.
Setting fallback_of(const SettingRow& row);
/// Sets `values`, one for each row, from settings by name; an unknown name throws InvalidArgument with the nearest ones.
void read_settings(std::span<const SettingRow> rows, const Settings& settings, std::string_view where, std::span<double> values);

}  // namespace minnow::train
