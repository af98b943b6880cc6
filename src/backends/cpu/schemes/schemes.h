// SPDX-License-Identifier: Apache-2.0
// The backend's one table: the rows of all files in this folder. To add a scheme, add a row to a file, or a new file with a line in
// schemes.cpp.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/build.h"
#include "base/selected.h"

namespace minnow::cpu {

/// Whether the build keeps a row.
constexpr bool is_kept(const Scheme& row) { return !(kSmall && row.large_only) && (row.op == kReorder || is_selected(row.op)); }

/// The rows of a file that the build keeps.
template <const auto& kRows>
std::span<const Scheme> selected() {
  constexpr size_t kCount = static_cast<size_t>(std::count_if(std::begin(kRows), std::end(kRows), is_kept));
  static constexpr auto kKept = [] {
    std::array<Scheme, kCount> kept{};
    std::copy_if(std::begin(kRows), std::end(kRows), kept.begin(), is_kept);
    return kept;
  }();
  return kKept;
}

/// All of them.
std::vector<Scheme> scheme_table();

}  // namespace minnow::cpu
