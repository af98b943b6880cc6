// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/nearest.h"
#include "base/numeric.h"
#include "base/os.h"
#include "cli/commands.h"
#include "cli/npy.h"
#include "graph/model_file.h"
#include "runtime/backends.h"

namespace minnow::cli {

void OperatorOptions::add_to(CLI::App& command) {
  command.add_option("--operators", libraries, "a shared library with custom operators (minnow/custom_op.h); once per library")
      ->type_name("LIBRARY");
}

std::shared_ptr<const OperatorSet> OperatorOptions::load() const { return libraries.empty() ? nullptr : load_operators(libraries); }

void RunOptions::add_to(CLI::App& command, bool with_tuning) {
  command.add_option("--threads", threads, "threads that compute; 0 takes all cores")->check(CLI::Range(0, 1024))->capture_default_str();
  command.add_option("--backend", backend, "where to compute")->check(CLI::IsMember(backend_names()))->capture_default_str();
  command.add_option("--precision", precision, "high: plain sums only; normal: may use Winograd; low: may compute in 16 bits")
      ->check(CLI::IsMember({"high", "normal", "low"}))
      ->capture_default_str();
  command.add_option("--memory", memory, "low: weights and scratch take the least memory, at the price of time")
      ->check(CLI::IsMember({"normal", "low"}))
      ->capture_default_str();
  command
      .add_option(
          "--power", power,
          "performance: a thread on each big core, which waits longer; balanced: as many, wherever the system moves them; efficient: the "
          "little cores or half of them all, threads that sleep at once")
      ->check(CLI::IsMember({"performance", "balanced", "efficient"}));
  if (with_tuning)
    command.add_option("--tuning", tuning, "a file of `minnow tune`, whose measurements plans are made by")->type_name("FILE");
  if (with_tuning)
    command
        .add_option("--weight-cache", weight_cache,
                    "a file in which processes share packed weights: written at the first run, mapped at later ones")
        ->type_name("FILE");
  command.add_flag("--pin", pin_threads, "keep each thread of the pool on one core");
  command
      .add_option("--memory-limit", memory_limit_mb,
                  "megabytes that a run may hold beside weights, inputs and outputs; 0: the machine's memory")
      ->check(CLI::Range(0.0, 1e12))
      ->capture_default_str();
}

void MeasureOptions::add_to(CLI::App& command, double default_seconds, bool with_tuning) {
  seconds = default_seconds;
  command.add_option("model", model, "a .minnow file, or a model of any format that convert reads")->required();
  command.add_option("--seconds", seconds, "how long to measure")->check(CLI::PositiveNumber)->capture_default_str();
  command.add_option("--shape", shapes,
                     "shape of an input with open dimensions, which are 1 by default: name=1x3x224x224, or the shape alone for the next "
                     "input in the model's order");
  command.add_option("--input", inputs, "name=x.npy; inputs that are not given are random");
  operators.add_to(command);
  run.add_to(command, with_tuning);
  command.add_flag("--json", json, "print one JSON object");
}

SessionOptions RunOptions::session() const {
  SessionOptions options;
  options.threads = threads;
  options.backends = {backend};
  options.precision = precision;
  options.memory = memory;
  options.pin_threads = pin_threads;
  options.weight_cache = weight_cache;
  options.memory_limit = static_cast<size_t>(memory_limit_mb * 1e6);
  options.power = power;
  return options;
}

SessionOptions RunOptions::session(const Model& model) const { return tuning.empty() ? session() : tuned(model, session(), tuning); }

NamedShape parse_shape(const std::string& text) {
  NamedShape shape;
  const size_t equals = text.rfind('=');
  if (equals != text.npos) shape.name = text.substr(0, equals);
  const std::string dims = equals == text.npos ? text : text.substr(equals + 1);
  for (size_t at = 0; at <= dims.size() && !dims.empty();) {
    const size_t end = std::min(dims.find_first_of("x,", at), dims.size());
    const std::string part = dims.substr(at, end - at);
    int64_t dim = -1;
    if (part != "?" && part != "-1") {
      const auto [next, error] = std::from_chars(part.data(), part.data() + part.size(), dim);
      if (error != std::errc() || next != part.data() + part.size() || dim < 0)
        throw InvalidArgument("--shape {}: \"{}\" is not a dimension; write name=1x3x224x224", text, part);
    }
    shape.dims.push_back(dim);
    at = end + 1;
  }
  return shape;
}

InputArgument parse_input(const std::string& text) {
  if (os::file_exists(text)) return {{}, text};
  const size_t first = text.find('=');
  if (first == text.npos) return {{}, text};
  // Names and paths may hold "=" themselves: the parts are those that leave a file.
  for (size_t equals = first; equals != text.npos; equals = text.find('=', equals + 1))
    if (os::file_exists(text.substr(equals + 1))) return {text.substr(0, equals), text.substr(equals + 1)};
  return {text.substr(0, first), text.substr(first + 1)};
}

Model load_model(const std::string& path, const OperatorOptions& operators, const std::vector<std::string>& inputs) {
  Progress progress("reading " + path);
  ConvertOptions options;
  options.operators = operators.load();
  options.warn = [](std::string_view message) { std::cerr << "warning: " << message << '\n'; };
  options.optimize = Optimize::once;
  if (std::filesystem::is_directory(path) || !is_model_file(os::MappedFile::open(path)->bytes()))
    for (const std::string& text : inputs)
      if (InputArgument input = parse_input(text); !input.name.empty()) options.keep_inputs.push_back(std::move(input.name));
  return convert(path, options);
}

namespace {

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor(dtype, shape);
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  char* out = static_cast<char*>(tensor.writable().data());
  const size_t count = static_cast<size_t>(tensor.elements());
  for (size_t i = 0; i < count; ++i) {
    if (is_float(dtype)) {
      const double value = normal(generator);
      narrow(dtype, &value, 1, out + i * size_of(dtype));
    } else {
      const int64_t value = static_cast<int64_t>(generator() & 1);
      narrow(dtype, &value, 1, out + i * size_of(dtype));
    }
  }
  return tensor;
}

// Elements that NumPy has no type for arrive under another name: the model knows better.
Tensor adapt(Tensor tensor, DType wanted) {
  if (tensor.dtype() == wanted || wanted == DType::undefined) return tensor;
  const bool nameless = (tensor.dtype() == DType::bf16 && size_of(wanted) == 2) ||
                        (tensor.dtype() == DType::u8 && size_of(wanted) == 1 && is_float(wanted)) ||
                        (tensor.dtype() == DType::u8 && is_unsigned(wanted) && size_of(wanted) == 1) ||
                        (tensor.dtype() == DType::i8 && is_signed(wanted) && size_of(wanted) == 1);
  return nameless ? Tensor(wanted, tensor.shape(), tensor.data(), tensor.owner()) : tensor;
}

}  // namespace

RepeatedRun::RepeatedRun(const Model& model, Session& session, std::span<const Tensor> inputs)
    : session_(session), data_(inputs.begin(), inputs.end()), views_(inputs.begin(), inputs.end()) {
  for (const ValueDescription& output : model.outputs()) tensors_ = tensors_ && output.is_tensor;
}

void RepeatedRun::run() {
  if (!tensors_) {
    session_.run_any(data_);
  } else if (targets_.empty()) {
    outputs_ = session_.run(views_);
    for (Tensor& output : outputs_) targets_.push_back(output.writable());
  } else {
    session_.run(views_, targets_);
  }
}

std::vector<Tensor> make_inputs(const Model& model, const std::vector<std::string>& files, const std::vector<std::string>& shapes,
                                bool fill_random, std::vector<std::string>* open) {
  const std::vector<ValueDescription>& inputs = model.inputs();
  std::vector<Tensor> tensors(inputs.size());
  const auto find = [&](const std::string& name) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == name) return i;
    std::vector<std::string> names;
    for (const ValueDescription& input : inputs) names.push_back(input.name);
    throw InvalidArgument("the model has no input \"{}\"{}", name, nearest(name, names));
  };
  size_t position = 0;
  for (const std::string& text : files) {
    const InputArgument argument = parse_input(text);
    if (argument.name.empty() && position >= inputs.size())
      throw InvalidArgument("{} inputs are given by position, the model takes {}", position + 1, inputs.size());
    const size_t i = argument.name.empty() ? position++ : find(argument.name);
    if (tensors[i]) throw InvalidArgument("input \"{}\" is given twice", inputs[i].name);
    tensors[i] = adapt(read_npy(argument.file), inputs[i].dtype);
  }
  std::map<size_t, std::vector<int64_t>> given;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const NamedShape shape = parse_shape(shapes[k]);
    if (shape.name.empty() && k >= inputs.size())
      throw InvalidArgument("--shape {}: the model takes {} input{}", shapes[k], inputs.size(), inputs.size() == 1 ? "" : "s");
    given[shape.name.empty() ? k : find(shape.name)] = shape.dims;
  }
  // Inputs that share a symbol share its size.
  std::map<std::string, int64_t> sizes;
  const auto note_sizes = [&](const ValueDescription& input, std::span<const int64_t> dims) {
    for (size_t axis = 0; input.has_rank && axis < dims.size() && axis < input.symbols.size(); ++axis)
      if (dims[axis] >= 0 && !input.symbols[axis].empty()) sizes.emplace(input.symbols[axis], dims[axis]);
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (tensors[i]) note_sizes(inputs[i], tensors[i].shape().dims());
  for (const auto& each : given) note_sizes(inputs[each.first], each.second);
  const auto size_of_dim = [&](const ValueDescription& input, size_t axis) -> int64_t {
    const auto found = axis < input.symbols.size() ? sizes.find(input.symbols[axis]) : sizes.end();
    if (found != sizes.end()) return found->second;
    if (open && (open->empty() || open->back() != input.name)) open->push_back(input.name);
    return 1;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (tensors[i]) continue;
    if (!fill_random)
      throw InvalidArgument("input \"{}\" ({}) is not given; use --input {}=FILE.npy", inputs[i].name, inputs[i].type, inputs[i].name);
    if (!inputs[i].is_tensor) throw InvalidArgument("input \"{}\" is {}, which cannot be made up", inputs[i].name, inputs[i].type);
    std::vector<int64_t> dims = inputs[i].dims;
    if (const auto found = given.find(i); found != given.end()) {
      if (inputs[i].has_rank && found->second.size() != dims.size())
        throw InvalidArgument("input \"{}\" is {}, a shape of {} dimensions is given", inputs[i].name, inputs[i].type,
                              found->second.size());
      dims = found->second;
    }
    Shape shape;
    for (size_t axis = 0; axis < dims.size(); ++axis) shape.push_back(dims[axis] < 0 ? size_of_dim(inputs[i], axis) : dims[axis]);
    tensors[i] = random_tensor(inputs[i].dtype == DType::undefined ? DType::f32 : inputs[i].dtype, shape, 7 + i);
  }
  return tensors;
}

void run_with_open(const std::vector<std::string>& open, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    if (open.empty()) throw;
    std::string names;
    for (size_t i = 0; i < open.size() && i < 3; ++i) names += format("{}\"{}\"", i ? ", " : "", open[i]);
    throw Error(error.kind(),
                format("{}; dimensions of input {} are open and were taken as 1: use --shape {}=...", error.what(), names, open[0]));
  }
}

void print_json(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

std::string human_bytes(double bytes) {
  char text[32];
  const char* unit = bytes >= 1e9 ? "GB" : bytes >= 1e6 ? "MB" : bytes >= 1e3 ? "kB" : "B";
  const double value = bytes >= 1e9 ? bytes / 1e9 : bytes >= 1e6 ? bytes / 1e6 : bytes >= 1e3 ? bytes / 1e3 : bytes;
  std::snprintf(text, sizeof text, bytes < 1e3 ? "%.0f %s" : "%.2f %s", value, unit);
  return text;
}

std::string human_seconds(double seconds) {
  char text[32];
  if (seconds >= 1)
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  else if (seconds >= 1e-3)
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  return text;
}

struct Progress::State {
  std::string what;
  Stopwatch watch;
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false, shown = false;
  std::thread thread;
};

Progress::Progress(std::string what) : state_(std::make_shared<State>()) {
  state_->what = std::move(what);
  state_->thread = std::thread([state = state_.get()] {
    std::unique_lock lock(state->mutex);
    if (state->done.wait_for(lock, std::chrono::seconds(1), [&] { return state->finished; })) return;
    state->shown = true;
    std::cerr << state->what << " ..." << std::endl;
  });
}

Progress::~Progress() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->finished = true;
  }
  state_->done.notify_all();
  state_->thread.join();
  if (state_->shown) std::cerr << state_->what << ": " << human_seconds(state_->watch.seconds()) << std::endl;
}

}  // namespace minnow::cli
