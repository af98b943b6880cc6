// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace minnow {
namespace {

constexpr size_t kLongest = 64;  // of the names compared, since the comparison takes the product of their lengths

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Characters to insert, remove or change (Levenshtein 1966), case aside.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (lower(a[i]) != lower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  const std::string_view wanted = name.substr(0, kLongest);
  for (const std::string& other : names)
    if (!other.empty()) ranked.emplace_back(distance(wanted, std::string_view(other).substr(0, kLongest)), other);
  const size_t count = std::min<size_t>(3, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(count), ranked.end());
  std::string text = ranked.size() > count ? "; the nearest are " : count == 1 ? "; there is " : "; there are ";
  for (size_t i = 0; i < count; ++i) text.append(i == 0 ? "\"" : ", \"").append(ranked[i].second).append("\"");
  return count == 0 ? std::string() : text;
}

}  // namespace minnow
