// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/tensor.h>

#include <string>

namespace minnow::test {

struct Rule {
  enum class Kind : uint8_t {
    elements,  // |a - b| <= 1e-5 + 1e-3 |b|, wider for types of fewer digits; integers, bool and types of 8 bits and fewer exactly
    largest,   // max |a - b| <= max(tolerance * max(1, max |b|), absolute); integers: at most `steps` apart
    form       // dtypes and shapes alone
  } kind = Kind::elements;
  double tolerance = 0, absolute = 0;
  int64_t steps = 0;
  bool ties = false;  // integers say which of equal elements was taken: one in ten may differ
};

/// The difference between `actual` and `expected` in words; empty if they match.
std::string difference(const Datum& actual, const Datum& expected, const Rule& rule);

/// max |a - b| of two tensors; 0 unless both have the same dtype and shape.
double largest_difference(const Datum& actual, const Datum& expected);

}  // namespace minnow::test
