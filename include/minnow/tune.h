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
  std::vector<SchemeTime> times;  // of every node and scheme that could serve it; none where choosing by them was no faster
  double seconds_by_estimate = 0, seconds_tuned = 0;  // of a run, the least of runs taken in turn
  double cpu_seconds = 0;                             // of all threads in a chosen run, waiting included; 0: not measured
  std::vector<Shape> shapes;                          // of the inputs
};

/// Runs the model again and again, for about `seconds`: each node by each scheme that could serve it, then the plans that follow from
/// estimates and from measurements in turn, then on fewer threads where options.threads is 0. With options.power it also tries other cores
/// and other times of active waiting, as that mode allows, and chooses as it would:
///   "performance"  the least time of a run
///   "balanced"     the least processor time of those that take at most 1.05 times the least time
///   "efficient"    the least processor time of those that take at most twice the least time
/// `progress` is told from time to time which part of the work is done, from 0 to 1; what it throws ends the tuning.
/// Other work on the machine disturbs it. Packed weights stay with the model: load a model for tuning alone.
MINNOW_API Tuning tune(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds,
                       const std::function<void(double part)>& progress = {});

/// Adds it to a file, whose other entries stay: for other models, shapes, options and machines, but not those of other versions of Minnow
/// for this machine. The file is written beside the old one and renamed; of two processes that do so at the same time one may lose its
/// entry. A file that is damaged is replaced; one of another kind is not. Throws IoError, and what check_tuning_file() throws.
MINNOW_API void save_tuning(const std::string& file, const Model& model, const SessionOptions& options, const Tuning& tuning);

/// Throws InvalidArgument where `file` holds something that save_tuning() would not write: a model, say. For use before hours of tuning.
MINNOW_API void check_tuning_file(const std::string& file);

/// The options with what the file says about this model, machine, version and these options, for all shapes that were tuned: their `times`,
/// `threads` where that is 0, and where options.power is given also active_wait, pin_threads and cores. Where the file says nothing, is
/// damaged, or cannot be read, the options as they are and one message to the log hook.
MINNOW_API SessionOptions tuned(const Model& model, const SessionOptions& options, const std::string& file);

/// The options with what a way to use power sets where they are at their defaults. One thread of a core counts, where the core has several;
/// big and little are cores whose speeds, as the system tells them, are more than a tenth apart, and little ones the slowest of them.
///   "performance"  as many threads as there are big cores; each stays on one of them, and waits actively for 200 us
///   "balanced"     as many threads as there are big cores; the system moves them among all; they wait for 50 us
///   "efficient"    as many threads as there are little cores, on those; where all cores are alike half of them. They sleep at once
/// Threads beyond those get the cores that come next in speed. Throws InvalidArgument for another word.
MINNOW_API SessionOptions with_power(const SessionOptions& options, std::string_view power);

}  // namespace minnow
