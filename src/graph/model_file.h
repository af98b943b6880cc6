// SPDX-License-Identifier: Apache-2.0
// The .minnow file: a head that describes the graph, and behind it the contents of its constants, which are used in place. The format is
// described in docs/model-format.md.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "base/os.h"
#include "graph/graph.h"

namespace minnow {

/// Constants of f32, and what a file stores in their place: tensors of 16 bits (see round_weights).
using StoredWeights = std::unordered_map<const Value*, Tensor>;

/// The dtype in which a file stores a constant that StoredWeights says nothing of: larger ones of i8 whose elements fit i4 or i2 are
/// packed, and vectors of f32, such as scales and biases, take 16 bits if all elements are numbers of f16 or of bf16.
DType stored_dtype(const Tensor& tensor) noexcept;

/// Writes the graph beside `path` and renames it. Constants of equal contents are stored once; with `compress`, as entropy codes where that
/// saves a twentieth or more.
/// Throws InvalidModel where the graph is not one (see verify), Unsupported for constants without a stored form, IoError.
void write_model(const Graph& graph, const std::string& path, const StoredWeights& weights = {}, bool compress = false);
/// The same into consecutive pieces.
void write_model_to(const Graph& graph, const os::ByteSink& sink, const StoredWeights& weights = {}, bool compress = false);

/// Whether a layer packs its input where that is a constant.
using PacksWeight = bool (*)(const Use& use);

/// Maps the file; the graph's constants keep the mapping alive and use it in place, except those of less than a byte an element, in the
/// file, which are unpacked, weights that are stored in 16 bits, which are widened, and entropy codes, which are decoded on all cores. With
/// `packs`, weights that are only packed, by layers of their own graph, are used in place, too, with a Cast to f32 behind them, for plans
/// to widen one at a time. Throws IoError; Unsupported for a newer version; InvalidModel "path: sentence" for everything that is wrong in
/// the file.
std::unique_ptr<Graph> read_model(const std::string& path, PacksWeight packs = nullptr);
/// The same from memory that `owner` keeps alive. Constants are copied where it is null, and where they do not lie aligned to 64 bytes.
/// `name` begins errors.
std::unique_ptr<Graph> read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name = "model in memory",
                                  PacksWeight packs = nullptr);

/// True where the bytes begin as a .minnow file does.
bool is_model_file(std::span<const std::byte> bytes) noexcept;

}  // namespace minnow
