// SPDX-License-Identifier: Apache-2.0
// Which of the models that a search tried is taken.
#pragma once
#include <minnow/compress.h>

namespace minnow::compress {

struct Choice {
  size_t index = 0;
  bool reached = false;
};
/// `candidates`: the smallest first; sets their `best`.
Choice choose(std::vector<Candidate>& candidates, const SearchOptions& aims);

/// Bytes and fidelity of a candidate. `plain`: in the form that sizes count.
void judge(Candidate& candidate, const Model& before, const Model& after, const Model& plain, const Samples& evaluation,
           const SearchOptions& aims);

/// The search with weights_only: bits for each layer.
SearchResult search_bits(const Model& model, const Samples& samples, const Samples& evaluation, const QuantizeOptions& options,
                         const SearchOptions& aims);

}  // namespace minnow::compress
