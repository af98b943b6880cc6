// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (format 1.0 to 3.0, numpy.lib.format).
#pragma once
#include <minnow/tensor.h>

#include <string>
#include <vector>

namespace minnow::data {

/// Reads the array of a .npy file and converts Fortran order and big-endian elements. A void type of two bytes ("|V2", NumPy's form of
/// bfloat16) is read as bf16, one of one byte as u8. Throws IoError, and InvalidArgument beginning with `what` (the path).
Tensor read_npy(const std::string& path);
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& what);

/// The bytes of a .npy file of format 1.0, and the same written beside and renamed. Types that NumPy lacks: i4, i2 as int8; u4, u2 as
/// uint8; bf16 as "|V2", 8-bit floating types and f4e2m1 as "|V1".
std::vector<std::byte> npy_bytes(const TensorView& tensor);
void write_npy(const std::string& path, const TensorView& tensor);

/// The file, without ".npy", of a tensor of this name: every character but letters, digits, '.', '_' and '-' becomes '_'. A name that is
/// longer than a file's may be loses its end to a number made from all of it.
std::string npy_name(std::string_view tensor);

}  // namespace minnow::data
