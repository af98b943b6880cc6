// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/schemes/schemes.h"

#include <bit>

namespace minnow::gpu {
namespace {

constexpr double kLaunchSeconds = 3e-6;
constexpr double kMostElements = 2147483647;

double bytes_of(const ValueInfo& info) { return static_cast<double>(info.shape.elements()) * static_cast<double>(size_of(info.dtype)); }

}  // namespace

std::vector<Scheme> scheme_table() {
  std::vector<Scheme> table;
  for (const std::span<const Scheme> file : {attention_schemes(),
                                             axes_schemes(),
                                             conv_schemes(),
                                             elementwise_schemes(),
                                             indexing_schemes(),
                                             integer_schemes(),
                                             matmul_schemes(),
                                             movement_schemes(),
                                             nbits_schemes(),
                                             normalization_schemes(),
                                             packed_byte_schemes(),
                                             packed_schemes(),
                                             pool_schemes(),
                                             recurrent_schemes(),
                                             reduce_schemes(),
                                             sampling_schemes(),
                                             scan_schemes(),
                                             softmax_schemes(),
                                             tensor_attention_schemes(),
                                             tensor_conv_schemes(),
                                             tensor_matmul_schemes(),
                                             transfer_schemes(),
                                             transpose_schemes(),
                                             update_schemes(),
                                             winograd_schemes()})
    table.insert(table.end(), file.begin(), file.end());
  return table;
}

std::string_view dialect_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::i16:
      return "i16";
    case DType::u16:
      return "u16";
    case DType::i32:
      return "i32";
    case DType::u32:
      return "u32";
    case DType::i64:
      return "i64";
    case DType::u64:
      return "u64";
    case DType::boolean:
      return "bool";
    default:
      return {};
  }
}

bool is_real(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

std::string_view computed_as(DType dtype) {
  if (is_real(dtype)) return "float";
  if (dtype == DType::boolean) return "int";
  return dialect_name(dtype);
}

std::string refusal(const NodeView& node) {
  const auto check = [](const ValueInfo& info, std::string_view what, size_t i) -> std::string {
    if (dialect_name(info.dtype).empty()) return format("the dtype of {} {} is {}", what, i, info.dtype);
    if (static_cast<double>(info.shape.elements()) > kMostElements) return format("{} {} has more than 2^31 elements", what, i);
    return {};
  };
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i))
      if (std::string reason = check(node.input(i), "input", i); !reason.empty()) return reason;
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i)) {
      if (std::string reason = check(node.output(i), "output", i); !reason.empty()) return reason;
      if (node.output_shape(i).elements() == 0) return format("output {} is empty", i);
    }
  return {};
}

std::string refusal_of_reals(const NodeView& node) {
  if (std::string reason = refusal(node); !reason.empty()) return reason;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i) && !is_real(node.input_dtype(i))) return format("the dtype of input {} is {}", i, node.input_dtype(i));
  return {};
}

Estimate estimate_of(const NodeView& node, const Device& device, double operations, double efficiency, int launches) {
  double bytes = 0;
  for (size_t i = 0; i < node.input_count(); ++i)
    if (node.has_input(i)) bytes += bytes_of(node.input(i));
  for (size_t i = 0; i < node.output_count(); ++i)
    if (node.has_output(i)) bytes += bytes_of(node.output(i));
  return Estimate(kLaunchSeconds * launches + device.byte_time(bytes) + device.flop_time(operations, efficiency));
}

std::string literal(float value) { return format("AS_F32({}u)", std::bit_cast<uint32_t>(value)); }

}  // namespace minnow::gpu
