// SPDX-License-Identifier: Apache-2.0
// Parts of .safetensors files, for files that are too large to be in memory.
#pragma once
#include <minnow/tensor.h>

#include <map>
#include <span>
#include <string>

namespace minnow::nn {

struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape shape;
};
/// The beginning of a file; the bytes of the entries follow, one after the other. Throws as save_safetensors() does.
std::string safetensors_header(std::span<const SafetensorsEntry> entries, const std::map<std::string, std::string>& metadata);
/// load_safetensors() without copies: the tensors share the memory of the mapped file. Their bytes may lie at any address.
std::map<std::string, Tensor> map_safetensors(const std::string& path, std::map<std::string, std::string>* metadata);

}  // namespace minnow::nn
