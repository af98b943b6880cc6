// SPDX-License-Identifier: Apache-2.0
// The .minnow file: a head that describes the graph, and behind it the contents of its constants, which are used in place. The format is
// described in docs/model-format.md.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/os.h"
#include "graph/graph.h"
#include "graph/stored_weights.h"

namespace minnow {

/// Writes the graph beside `path` and renames it. Constants of equal contents are stored once.
/// `weights`: constants of f32 that are stored so (see round_weights).
/// Throws InvalidModel where the graph is not one (see verify), Unsupported for constants without a stored form, IoError.
void write_model(const Graph& graph, const std::string& path, const StoredWeights& weights = {});
/// The same into consecutive pieces.
void write_model_to(const Graph& graph, const os::ByteSink& sink, const StoredWeights& weights = {});

/// What becomes of weights that a file stores in 16 bits. `cast`: where layers pack them, they are used in place with a Cast to f32 behind
/// them, for plans to widen one at a time; others are widened.
enum class Stored : uint8_t { widened, cast };

/// Maps the file; the graph's constants keep the mapping alive and use it in place, except those of less than a byte an element, which are
/// unpacked, and those that are stored narrower than they are, as `stored` says. Throws IoError; Unsupported for a newer version;
/// InvalidModel "path: sentence" for everything that is wrong in the file.
std::unique_ptr<Graph> read_model(const std::string& path, Stored stored = Stored::widened);
/// The same from memory that `owner` keeps alive. Constants are copied where it is null, and where they do not lie aligned to 64 bytes.
/// `name` begins errors.
std::unique_ptr<Graph> read_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name = "model in memory",
                                  Stored stored = Stored::widened);

/// True where the bytes begin as a .minnow file does.
bool is_model_file(std::span<const std::byte> bytes) noexcept;

}  // namespace minnow
