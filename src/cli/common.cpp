// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/os.h"
#include "cli/commands.h"
#include "graph/model_file.h"
#include "runtime/backends.h"

namespace minnow::cli {

CLI::Validator one_of(const std::vector<std::string>& words) {
  std::string list, known;
  for (const std::string& word : words) list += (list.empty() ? "" : ",") + word, known += (known.empty() ? "" : ", ") + word;
  return CLI::Validator(
      [words, known](std::string& word) {
        return std::find(words.begin(), words.end(), word) != words.end() ? std::string()
                                                                          : format("there is no \"{}\"; there are {}", word, known);
      },
      "{" + list + "}");
}

namespace {

template <class T>
CLI::Validator number_that(std::function<bool(T)> fits, std::string what) {
  return CLI::Validator(
      [fits = std::move(fits), what = std::move(what)](std::string& text) {
        T number{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool read = error == std::errc() && end == text.data() + text.size();
        return read && fits(number) ? std::string() : format("\"{}\" is not {}", text, what);
      },
      "");
}

}  // namespace

CLI::Validator number_from(double least, double most) {
  return number_that<double>([=](double x) { return x >= least && x <= most; }, std::isfinite(most)
                                                                                    ? format("a number from {} to {}", least, most)
                                                                                    : format("a number of at least {}", least));
}

CLI::Validator whole_number_from(int64_t least, int64_t most) {
  return number_that<int64_t>([=](int64_t x) { return x >= least && x <= most; }, format("a whole number from {} to {}", least, most));
}

CLI::Validator positive() {
  return number_that<double>([](double x) { return x > 0 && std::isfinite(x); }, "a number above 0");
}

CLI::Option* add_repeated(CLI::App& command, const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return command.add_option(names, values, help)->allow_extra_args(false);
}

CLI::Option* add_model(CLI::App& command, std::string& model) {
  return command.add_option("MODEL", model, "a .minnow file, or a model of any format that convert reads")->required()->type_name("");
}

CLI::Option* add_json(CLI::App& command, bool& json) {
  return command.add_flag("-j,--json", json, "print one JSON object on stdout, also for an error: {\"error\": {...}}");
}

std::map<std::string, std::string> parse_pairs(const std::string& option, const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : arguments) {
    const size_t equals = text.rfind('=');
    if (equals == text.npos || equals == 0 || equals + 1 == text.size()) throw UsageError("{} {}: write old=new", option, text);
    if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw UsageError("{}: \"{}\" is given twice", option, text.substr(0, equals));
  }
  return pairs;
}

void OperatorOptions::add_to(CLI::App& command) {
  add_repeated(command, "--operators", libraries, "a shared library with custom operators (minnow/custom_op.h); once per library")
      ->type_name("LIBRARY");
}

std::shared_ptr<const OperatorSet> OperatorOptions::load() const { return libraries.empty() ? nullptr : load_operators(libraries); }

namespace {

std::vector<std::string> backend_choices() {
  std::vector<std::string> names = backend_names();
  names.insert(names.begin(), "auto");
  return names;
}

// The names of backends in a list with commas.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list)
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  return names;
}

CLI::Validator some_of(const std::vector<std::string>& backends) {
  const CLI::Validator each = one_of(backends);
  return CLI::Validator(
      [each](std::string& list) {
        for (const std::string& name : names_in(list)) {
          std::string family(family_of(name));
          if (std::string problem = each(family); !problem.empty()) return problem;
        }
        return std::string();
      },
      each.get_description());
}

/// Calls add(name, short name, help, member, check, word for the value) for each option.
template <class Add>
void for_each_run_option(bool with_tuning, Add&& add) {
  using O = RunOptions;
  add("threads", "-t,", "threads that compute; 0: all cores", &O::threads, whole_number_from(0, 1024), "N");
  add("backend", "-b,", "where to compute; several with commas between, to choose from; cuda:1 and opencl:1 are second devices",
      &O::backend, some_of(backend_choices()), "");
  add("precision", "-p,",
      "high: plain sums only; normal: may use Winograd; tf32: GPUs may round factors of products to TF32; low: may compute in 16 bits",
      &O::precision, one_of({"high", "normal", "tf32", "low"}), "");
  add("memory", "", "low: weights and scratch take the least memory, at the price of time", &O::memory, one_of({"normal", "low"}), "");
  add("power", "",
      "performance: one thread on each big core, which waits longer for work; balanced: as many threads, on whichever cores the system "
      "chooses; efficient: the little cores, or half of all cores, and threads that sleep at once",
      &O::power, one_of({"performance", "balanced", "efficient"}), "");
  if (with_tuning) {
    add("tuning", "", "a file that `minnow tune` wrote: plans follow its measurements", &O::tuning, CLI::Validator(), "FILE");
    add("weight-cache", "", "a file in which processes share packed weights: written at the first run, mapped at later ones",
        &O::weight_cache, CLI::Validator(), "FILE");
    add("kernel-cache", "", "a file in which processes keep the compiled kernels of devices: written where one had to be compiled",
        &O::kernel_cache, CLI::Validator(), "FILE");
  }
  add("memory-limit", "", "megabytes that a run may hold beside weights, inputs and outputs; 0: the machine's memory", &O::memory_limit_mb,
      number_from(0, 1e12), "MB");
}

}  // namespace

void RunOptions::add_to(CLI::App& command, bool with_tuning) {
  for_each_run_option(with_tuning, [&](const std::string& name, const std::string& brief, const char* help, auto member,
                                       const CLI::Validator& check, const std::string& word) {
    CLI::Option* option = command.add_option(brief + "--" + name, this->*member, help)->check(check)->capture_default_str();
    option->type_name(word);
  });
  command.add_flag("--pin", pin_threads, "keep each thread of the pool on one core");
  command.add_flag("--fallback", fallback, "go on with the processor if the backend's device cannot be used, fails or has no memory left");
}

void OtherOptions::add_to(CLI::App& command) {
  for_each_run_option(true, [&](const std::string& name, const std::string&, const char*, auto member, const CLI::Validator& check,
                                const std::string& word) {
    using T = std::remove_reference_t<decltype(std::declval<RunOptions>().*member)>;
    const auto change = [this, member](const T& value) { changes.push_back([=](RunOptions& options) { options.*member = value; }); };
    command.add_option_function<T>("--other-" + name, change, "--" + name + " of the other model, where it is another")
        ->check(check)
        ->type_name(word);
  });
}

RunOptions OtherOptions::over(RunOptions first) const {
  for (const auto& change : changes) change(first);
  return first;
}

void MeasureOptions::add_to(CLI::App& command, double default_seconds, bool with_tuning) {
  seconds = default_seconds;
  add_model(command, model);
  command.add_option("-n,--seconds", seconds, "how long to measure")->check(positive())->type_name("S")->capture_default_str();
  add_repeated(command, "-s,--shape", shapes,
               "shape of an input with open dimensions, which are 1 by default: name=1x3x224x224, or the shape alone for the next input in "
               "the model's order; once per input")
      ->type_name("SHAPE");
  add_repeated(command, "-i,--input", inputs, "name=FILE (.npy, .npz or a picture); inputs that are not given are random; once per input")
      ->type_name("FILE");
  operators.add_to(command);
  run.add_to(command, with_tuning);
  add_json(command, json);
}

SessionOptions RunOptions::session() const {
  SessionOptions options;
  options.threads = threads;
  options.backends = names_in(backend);
  options.precision = precision;
  options.memory = memory;
  options.pin_threads = pin_threads;
  options.weight_cache = weight_cache;
  options.kernel_cache = kernel_cache;
  options.fallback = fallback;
  options.memory_limit = static_cast<size_t>(memory_limit_mb * 1e6);
  options.power = power;
  return options;
}

SessionOptions RunOptions::session(const Model& model) const { return tuning.empty() ? session() : tuned(model, session(), tuning); }

Model load_model(const std::string& path, const OperatorOptions& operators, const std::vector<std::string>& inputs) {
  Progress progress("reading " + path);
  ConvertOptions options;
  options.operators = operators.load();
  options.warn = [](std::string_view message) { say(format("warning: {}", message)); };
  options.progress = [&](double part) { progress.tell(part); };
  options.optimize = Optimize::once;
  if (std::filesystem::is_directory(path) || !is_model_file(os::MappedFile::open(path)->bytes()))
    for (const std::string& text : inputs)
      if (InputArgument input = parse_input(text); !input.name.empty()) options.keep_inputs.push_back(std::move(input.name));
  return convert(path, options);
}

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

}  // namespace minnow::cli
