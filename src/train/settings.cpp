// SPDX-License-Identifier: Apache-2.0
#include "train/settings.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace minnow::train {

std::string shown(const Setting& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return format("{}", *i);
  if (const double* x = std::get_if<double>(&value)) return format("{}", *x);
  if (const std::string* s = std::get_if<std::string>(&value)) return format("\"{}\"", *s);
  std::string text = "[";
  for (const double x : std::get<std::vector<double>>(value)) text += format(text.size() > 1 ? ", {}" : "{}", x);
  return text + "]";
}

double checked(const SettingRow& row, const Setting& value, std::string_view where) {
  using Kind = SettingRow::Kind;
  const char* wanted = row.kind == Kind::flag ? "true or false" : row.kind == Kind::integer ? "an integer" : "a number";
  const auto fail = [&](const std::string& range) -> double {
    throw InvalidArgument("{}: {} takes {}{}, not {}", where, row.name, wanted, range, shown(value));
  };
  double x = 0;
  if (const bool* b = std::get_if<bool>(&value)) {
    if (row.kind != Kind::flag) return fail("");
    x = *b ? 1 : 0;
  } else if (const int64_t* i = std::get_if<int64_t>(&value)) {
    if (row.kind == Kind::flag) return fail("");
    x = static_cast<double>(*i);
  } else if (const double* real = std::get_if<double>(&value)) {
    if (row.kind == Kind::flag || (row.kind == Kind::integer && *real != std::floor(*real))) return fail("");
    x = *real;
  } else {
    return fail("");
  }
  if (!(x >= row.low && x <= row.high))
    return fail(std::isinf(row.high) ? format(" of at least {}", row.low) : format(" from {} to {}", row.low, row.high));
  return x;
}

Setting fallback_of(const SettingRow& row) {
  if (row.kind == SettingRow::Kind::flag) return row.fallback != 0;
  if (row.kind == SettingRow::Kind::integer) return static_cast<int64_t>(row.fallback);
  return row.fallback;
}

void read_settings(std::span<const SettingRow> rows, const Settings& settings, std::string_view where, std::span<double> values) {
  for (const auto& [name, value] : settings) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&, &name = name](const SettingRow& r) { return r.name == name; });
    if (row == rows.end()) {
      std::vector<std::string> names;
      for (const SettingRow& r : rows) names.push_back(r.name);
      throw InvalidArgument("{}: there is no setting \"{}\"{}", where, name, nearest(name, names));
    }
    values[static_cast<size_t>(row - rows.begin())] = checked(*row, value, where);
  }
}

}  // namespace minnow::train
