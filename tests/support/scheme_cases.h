// SPDX-License-Identifier: Apache-2.0
// Cases of SchemeTest that fill files of their own: operators that go over windows, and products.
#pragma once
#include <initializer_list>
#include <utility>

#include "support/schemes.h"

namespace minnow::cpu {

// convolution_cases.cpp
std::vector<SchemeCase> conv_cases();
std::vector<SchemeCase> deform_conv_cases();
std::vector<SchemeCase> conv_transpose_cases();
std::vector<SchemeCase> pool_cases();

// product_cases.cpp
std::vector<SchemeCase> matmul_cases();
std::vector<SchemeCase> recurrent_cases();
std::vector<SchemeCase> attention_cases();

// gradient_cases.cpp
std::vector<SchemeCase> gradient_cases();

// sparse_cases.cpp
std::vector<SchemeCase> sparse_cases();

// quantized_cases.cpp
std::vector<SchemeCase> quantized_cases();

/// Attributes of a Conv.
inline Attributes conv(Ints kernel, Ints strides, Ints pads, int64_t group = 1, Ints dilations = {1, 1}) {
  return {{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"group", group}, {"dilations", dilations}};
}
/// `attributes` and more.
inline Attributes with(Attributes attributes, std::initializer_list<std::pair<std::string, AttributeValue>> more) {
  for (const auto& [name, value] : more) attributes.set(name, value);
  return attributes;
}

}  // namespace minnow::cpu
