// SPDX-License-Identifier: Apache-2.0
// Choosing schemes and threads by measurement, and remembering the choice in a file. Like all of Minnow, this depends on nothing but the
// standard library.
#pragma once
#include <minnow/minnow.h>

namespace minnow {

/// What measuring found for one model, one set of input shapes and one set of options.
struct Tuning {
  int threads = 0;                // of the fastest run; the options' own where they name a number
  std::vector<SchemeTime> times;  // of every node and scheme that could serve it; none where choosing by them was no faster
  double seconds_by_estimate = 0, seconds_tuned = 0;  // of a run, the least of runs taken in turn
  std::vector<Shape> shapes;                          // of the inputs
};

/// Runs the model again and again, for about `seconds`: each node by each scheme that could serve it, then the plans that follow from
/// estimates and from measurements in turn, then on fewer threads where options.threads is 0. Other work on the machine disturbs it. What
/// the schemes pack stays with the model: one that is tuned is best loaded for that alone.
MINNOW_API Tuning tune(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds);

/// Adds it to a file, whose other entries stay: for other models, shapes, options and machines, but not those of other versions of Minnow
/// for this machine. The file is written beside the old one and renamed; of two processes that do so at the same time one may lose its
/// entry. A file that is damaged or of another kind is replaced. Throws IoError.
MINNOW_API void save_tuning(const std::string& file, const Model& model, const SessionOptions& options, const Tuning& tuning);

/// The options with what the file says about this model, machine, version and these options, for all shapes that were tuned: their `times`,
/// and `threads` where that is 0. Where the file says nothing, is damaged, or cannot be read, the options as they are and one message to
/// the log hook.
MINNOW_API SessionOptions tuned(const Model& model, const SessionOptions& options, const std::string& file);

/// The options with threads for a way to use power:
///   "performance"  all cores where options.threads is 0, threads that stay on their cores and wait actively for 200 us between nodes
///   "balanced"     the options as they are; threads wait for 50 us, as at the start of the process
///   "efficient"    half of the cores where options.threads is 0; threads that have nothing to do sleep at once
/// How long threads wait is the whole process's, as they are. Throws InvalidArgument for another word.
MINNOW_API SessionOptions with_power(const SessionOptions& options, std::string_view power);

}  // namespace minnow
