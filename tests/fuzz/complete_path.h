// SPDX-License-Identifier: Apache-2.0
// From the bytes of a model file to its outputs: read, optimize, write, read again, plan, run, compare.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/mutate.h"

namespace minnow::fuzz {

/// A format and how its files are changed.
struct Target {
  std::string_view format;
  std::string (*mutate)(std::string bytes, Random& random);
};

/// All formats.
std::span<const Target> targets();
/// Throws std::runtime_error if there is none.
const Target& find_target(std::string_view format);

/// How far a file came.
enum class Reached : uint8_t { refused, imported, planned, ran, compared };
struct Outcome {
  Reached reached = Reached::refused;
  std::string error;  // why it came no further
};

/// Takes a file from bytes to outputs:
///   imports it, optimizes a copy, writes the copy as .minnow and reads it again, which must give the same graph;
///   runs the imported graph on the reference backend and the optimized one on the cpu backend, on random inputs of at most 65,536
///   elements, within limits of time and memory; compares the outputs, unless the model draws random numbers, or changes of 1e-5 in its
///   inputs and weights change the outputs as much.
/// Errors of the public kinds are expected from any step; but if the imported graph runs, the optimized one must run too.
/// Throws std::logic_error that names the broken promise; any other exception is a fault as well.
/// The bytes also choose sizes that the file leaves open.
/// Caffe: the bytes are the network's text, a zero byte and the weights.
Outcome run_complete_path(const Target& target, std::string_view bytes);

}  // namespace minnow::fuzz
