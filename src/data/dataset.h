// SPDX-License-Identifier: Apache-2.0
// Parts that data sets share.
#pragma once
#include <minnow/data.h>

namespace minnow::data {

/// Throws InvalidArgument unless 0 <= index < size.
void check_index(int64_t index, int64_t size);
/// A row of a tensor, in the same memory.
Tensor row_of(const Tensor& tensor, int64_t row);
/// Throws InvalidModel naming the first label of i64 [n] that is not from 0 to classes - 1.
void check_labels(const std::string& path, const Tensor& labels, size_t classes);
/// The bytes of a file, unpacked if they are gzip's (RFC 1952).
std::vector<std::byte> unpacked_file(const std::string& path);
/// The first of these files that is there: root/FOLDER/NAME. Throws an IoError that names root and the first name.
std::string file_in(const std::string& root, std::span<const std::string_view> folders, std::span<const std::string> names);

}  // namespace minnow::data
