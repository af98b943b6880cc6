// SPDX-License-Identifier: Apache-2.0
// The subcommands of `minnow`, one file each, and what they share.
#pragma once
#include <minnow/convert.h>
#include <minnow/minnow.h>
#include <minnow/tune.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace minnow::cli {

using Json = nlohmann::ordered_json;

void add_convert(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_profile(CLI::App& app);
void add_ops(CLI::App& app);
void add_compare(CLI::App& app);
void add_tune(CLI::App& app);

/// Shared libraries with custom operators, for every command that reads a model.
struct OperatorOptions {
  std::vector<std::string> libraries;
  void add_to(CLI::App& command);
  /// Null where no library is given. Throws IoError, InvalidArgument.
  std::shared_ptr<const OperatorSet> load() const;
};

/// Options that every command running a model has; `tune` writes the file that --tuning names for the others.
struct RunOptions {
  int threads = 0;
  std::string backend = "cpu", precision = "normal", memory = "normal";
  std::string power, tuning, weight_cache;
  bool pin_threads = false;
  double memory_limit_mb = 0;
  void add_to(CLI::App& command, bool with_tuning = true);
  /// Without what the file of --tuning says.
  SessionOptions session() const;
  SessionOptions session(const Model& model) const;
};

/// What the commands that measure a model have in common.
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

/// "name=1x3x224x224", or the dimensions alone for position `index`. A dimension "?" (-1) stays as it is.
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

/// Inputs for a model: from "name=x.npy" or "x.npy" arguments; what is not given is random where `fill_random` (floats N(0,1), integers 0
/// or 1, symbolic dimensions 1 unless `shapes` says otherwise), else an error. `open` gets the names of inputs with dimensions that are 1
/// because nothing says what they are.
std::vector<Tensor> make_inputs(const Model& model, const std::vector<std::string>& files, const std::vector<std::string>& shapes,
                                bool fill_random, std::vector<std::string>* open = nullptr);
/// Calls f(), whose errors then tell of such inputs.
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

/// Says on stderr what takes longer than a second, and how long it took.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

}  // namespace minnow::cli
