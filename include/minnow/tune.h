// SPDX-License-Identifier: Apache-2.0
// Choosing schemes and threads by measurement, and remembering the choice in a file. Like all of Minnow, this depends on nothing but the
// standard library.
#pragma once
#include <minnow/minnow.h>

namespace minnow {

/// The measurements for one model, one set of input shapes and one set of options.
struct Tuning {
  int threads = 0;          // of the chosen run; the options' own where they name a number
  double active_wait = -1;  // the next three: where options.power is given, else as the options have them
  bool pin_threads = false;
  std::vector<int> cores;
  std::vector<SchemeTime> times;  // of every node and scheme that could serve it; none if choosing by them was no faster
  double seconds_by_estimate = 0, seconds_tuned = 0;  // of a run, the least of runs taken in turn
  double cpu_seconds = 0;                             // of all threads in a chosen run, waiting included; 0: not measured
  std::vector<Shape> shapes;                          // of the inputs
};

/// Runs the model repeatedly, for about `seconds`: first each node with each scheme that accepts it, then the plans by estimates and by
/// measurements alternately, then fewer threads if options.threads is 0. With options.power it also tries other cores and times of active
/// waiting that the mode allows, and chooses by the mode's rule:
///   "performance"  the least time of a run
///   "balanced"     the least processor time of those that take at most 1.05 times the least time
///   "efficient"    the least processor time of those that take at most twice the least time
/// Calls `progress` from time to time with the finished part of the work, from 0 to 1; an exception from it ends the tuning. Other work on
/// the machine disturbs the measurements. Packed weights stay with the model, so load a model just for tuning.
MINNOW_API Tuning tune(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds,
                       const std::function<void(double part)>& progress = {});

/// Adds the result to a file and keeps its entries for other models, shapes, options and machines, but not those of other versions of
/// Minnow for this machine. Writes a new file beside the old one and renames it; of two concurrent processes one may lose its entry.
/// Replaces a damaged file, but not a file of another kind. Throws IoError, and the errors of check_tuning_file().
MINNOW_API void save_tuning(const std::string& file, const Model& model, const SessionOptions& options, const Tuning& tuning);

/// Throws InvalidArgument if `file` holds something that save_tuning() would not write: a model, say. For use before hours of tuning.
MINNOW_API void check_tuning_file(const std::string& file);

/// The options with the file's entries for this model, machine, version and these options, for all tuned shapes: `times`, `threads` if it
/// is 0 and, with options.power, also active_wait, pin_threads and cores. If the file has no entry, is damaged or cannot be read, returns
/// the options unchanged, with one message to the log hook.
MINNOW_API SessionOptions tuned(const Model& model, const SessionOptions& options, const std::string& file);

/// The options with the settings of a power mode in place of defaults. Only one hardware thread of each core counts. Cores are big
/// and little if their speeds, as reported by the system, differ by more than a tenth; the slowest cores are the little ones.
///   "performance"  as many threads as there are big cores; each stays on one of them, and waits actively for 200 us
///   "balanced"     as many threads as there are big cores; the system moves them among all cores; they wait actively for 50 us
///   "efficient"    as many threads as there are little cores, on these (half of the cores if all are alike); they sleep at once
/// Additional threads get the next fastest cores. Throws InvalidArgument for another word.
MINNOW_API SessionOptions with_power(const SessionOptions& options, std::string_view power);

}  // namespace minnow
