// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <minnow/tensor.h>

#include <string>

namespace minnow::test {

enum class Rule {
  conformance,  // |a - b| <= 1e-5 + 1e-3 |b|, wider for types of fewer digits; integers, bool and 8-bit types exactly
  corpus,       // max |a - b| <= 1e-4 max(1, max |b|)
  form          // dtypes and shapes alone
};

/// What is wrong with `actual`; empty where nothing is.
std::string difference(const Datum& actual, const Datum& expected, Rule rule);

}  // namespace minnow::test
