// SPDX-License-Identifier: Apache-2.0
// The subcommands of `minnow`, one file each, and their shared functions.
#pragma once
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <minnow/tune.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"

namespace minnow::cli {

using Json = nlohmann::ordered_json;

void add_convert(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_profile(CLI::App& app);
void add_ops(CLI::App& app);
void add_devices(CLI::App& app);
void add_compare(CLI::App& app);
void add_tune(CLI::App& app);
void add_train(CLI::App& app);
void add_quantize(CLI::App& app);
void add_prune(CLI::App& app);
void add_completion(CLI::App& app);

// Exit statuses (docs/command.md). `compare` is the exception, as diff is: 1 where something differs, 2 for every error.
inline constexpr int kFailed = 1;   // the command failed
inline constexpr int kMisused = 2;  // the command line is wrong
inline constexpr int kDiffers = 1;  // compare

/// The command line is wrong.
struct UsageError : InvalidArgument {
  using InvalidArgument::InvalidArgument;
};

// Checks of values, whose errors read "--threads: 2000 is not a number from 0 to 1024".
CLI::Validator one_of(const std::vector<std::string>& words);
CLI::Validator number_from(double least, double most);
CLI::Validator whole_number_from(int64_t least, int64_t most);
/// Above 0 and finite.
CLI::Validator positive();

/// An option that may be given several times and takes one value each time, so that it may stand before the model.
CLI::Option* add_repeated(CLI::App& command, const std::string& names, std::vector<std::string>& values, const std::string& help);
CLI::Option* add_model(CLI::App& command, std::string& model);
CLI::Option* add_json(CLI::App& command, bool& json);
/// The names and values of "old=new" arguments. Throws UsageError, also for a name that is given twice.
std::map<std::string, std::string> parse_pairs(const std::string& option, const std::vector<std::string>& arguments);

/// Shared libraries with custom operators, for every command that reads a model.
struct OperatorOptions {
  std::vector<std::string> libraries;
  void add_to(CLI::App& command);
  /// Null if no library is given. Throws IoError, InvalidArgument.
  std::shared_ptr<const OperatorSet> load() const;
};

/// Options that every command running a model has; `tune` writes the file that --tuning names for the others.
struct RunOptions {
  int threads = 0;
  std::string backend = "cpu", precision = "normal", memory = "normal";
  std::string power, tuning, weight_cache, kernel_cache;
  bool pin_threads = false, fallback = false;
  double memory_limit_mb = 0;
  void add_to(CLI::App& command, bool with_tuning = true);
  /// The options without the results in the file of --tuning.
  SessionOptions session() const;
  SessionOptions session(const Model& model) const;
};

/// The same options once more, as --other-threads and so on, for a second model.
struct OtherOptions {
  std::vector<std::function<void(RunOptions&)>> changes;
  void add_to(CLI::App& command);
  /// `first`, overridden by the options given here.
  RunOptions over(RunOptions first) const;
};

struct TrainArguments {
  std::string recipe, output;
  int epochs = 0;  // 0: the recipe's
  bool restart = false, quiet = false;
};
/// The function that trains and gives the exit status; the Python package sets it.
using TrainCommand = std::function<int(const TrainArguments&)>;
TrainCommand& train_command();

/// Options of all commands that measure a model.
struct MeasureOptions {
  std::string model;
  std::vector<std::string> inputs, shapes;
  double seconds = 0;
  OperatorOptions operators;
  RunOptions run;
  bool json = false;
  void add_to(CLI::App& command, double default_seconds, bool with_tuning = true);
};

/// A model file of any format that can be read; foreign ones are converted on the way. `inputs` are the arguments of --input: an
/// initializer of an ONNX file that is an input too, and is given there by its name, stays an input.
Model load_model(const std::string& path, const OperatorOptions& operators, const std::vector<std::string>& inputs = {});

/// "name=1x3x224x224", or only the dimensions for position `index`. A dimension "?" (-1) does not change.
struct NamedShape {
  std::string name;  // empty: by position
  std::vector<int64_t> dims;
};
NamedShape parse_shape(const std::string& text);

/// The parts of an argument of --input. "name=x.npy", or "x.npy" with an empty name.
struct InputArgument {
  std::string name, file;
};
InputArgument parse_input(const std::string& text);

/// How a picture file becomes an input: resized, its colours in order, each pixel (pixel - mean) * scale.
struct PictureOptions {
  std::vector<const CLI::Option*> options;      // that add_to() added
  std::map<std::string, std::string> given;     // the same by name, without the dashes; those above come first
  std::string prefix = "--";                    // of errors about `given`
  std::map<std::string, std::string> defaults;  // for those that are not given
  void add_to(CLI::App& command);
  /// Whether an option has this name, without the dashes.
  static bool has(std::string_view name);
  /// Throws UsageError with the option's name and this reason if one of them is given.
  void check_not_given(const std::string& why) const;
  /// All of them without the dashes: keys of vision::PictureInput.
  std::map<std::string, std::string> keys() const;
};
bool is_picture(std::span<const std::byte> bytes);
/// The tensor for an input, by the preprocessing that the model carries for it, else by the options; `wanted`: the shape that is given for
/// it, empty if none is. Throws IoError, InvalidModel, InvalidArgument.
Tensor read_picture(const std::string& path, const Model& model, size_t input, std::span<const int64_t> wanted,
                    const PictureOptions& options);
/// The likeliest classes of a model that carries labels: label, index and probability of each; empty if no output has a number for each.
Json labels_of(const Model& model, const std::vector<Datum>& outputs);
/// The keys of a file, as text: TOML without tables, whose values are texts, numbers or arrays of these. `subject`: what the file
/// describes, for errors. Throws IoError, and InvalidArgument for anything else.
std::map<std::string, std::string> read_keys(const std::string& path, const char* subject);
/// Throws InvalidArgument, naming the file, if the model cannot carry this preprocessing.
void check_preprocessing(const std::map<std::string, std::string>& keys, const Model& model, const std::string& path);

/// Inputs for a model, from "name=FILE" or "FILE" arguments: .npy, .npz or a picture. With `fill_random` the others are random (floats
/// N(0,1), integers 0 or 1; symbolic dimensions are 1 unless `shapes` sets them), else they are an error. `open` gets the names of inputs
/// with a dimension that is 1 only because nothing sets it. `otherwise`: an alternative to --input, for errors.
std::vector<Tensor> make_inputs(const Model& model, const std::vector<std::string>& files, const std::vector<std::string>& shapes,
                                bool fill_random, std::vector<std::string>* open = nullptr, const PictureOptions& pictures = {},
                                const char* otherwise = "");
/// Where an array of a file goes, whose dtype NumPy may not have.
Tensor adapt(Tensor tensor, DType wanted);
/// Calls f() and mentions such inputs in its errors.
void run_with_open(const std::vector<std::string>& open, const std::function<void()>& f);

/// Runs a model again and again on the same inputs, which must outlive it. Outputs go to memory of its own, except sequences and optionals,
/// which every run makes anew.
class RepeatedRun {
 public:
  RepeatedRun(const Model& model, Session& session, std::span<const Tensor> inputs);
  void run();

 private:
  Session& session_;
  bool tensors_ = true;  // and nothing else comes out
  std::vector<Datum> data_;
  std::vector<TensorView> views_;
  std::vector<Tensor> outputs_;
  std::vector<MutableTensorView> targets_;
};

/// JSON alone on stdout; bytes of names that are no UTF-8 are replaced.
void print_json(const Json& json);
/// "1.23 MB"
std::string human_bytes(double bytes);
/// "12.3 ms"
std::string human_seconds(double seconds);

struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

/// Writes a line to stderr, above the progress line where one is shown. Any thread.
void say(std::string_view line);
/// "converting model.onnx [######..................] 25 %, 9 s left"; part 0: "measuring ... 3 s".
std::string progress_line(const std::string& what, double part, double elapsed);

/// During its lifetime: shows a line on stderr, if that is a terminal, for work that takes longer than half a second.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  /// The part of the work that is done, from 0 to 1. Costs nothing to speak of; any thread.
  void tell(double part) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace minnow::cli
