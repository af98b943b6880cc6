// SPDX-License-Identifier: Apache-2.0
// Runs the suites of cases: the corner cases, the onnx package's, and the models of the corpus.
//
//   conformance_tests [--suite node]... [--optimize] [--constants|--weights] [--export]
//                     [--backend reference|cpu|cuda|opencl|vulkan|gles|cpu-low|cuda-low|cuda-tf32|evaluate|express]
//                     [--library COMMAND] [--filter substring] [--every N] [--compile] [--verbose] [--list-failures] [--xml FILE]
//   conformance_tests [--suite corpus]... --damage TRUNCATIONS FLIPS
//
// Cases that are expected to fail are listed in expected_failures.txt with a reason. The run fails if an unlisted case fails or a listed
// one passes. With --export the graph is written as ONNX and read again before it runs. With --damage the cases' model files are cut off
// and changed instead (damage.h). With --compile nothing is compared: a case fails where a kernel does not compile, which a stand-in for a
// driver shows too (backends/gpu/cuda_driver.cpp). With --library the models run in the shared library of another build, in a process of
// that command (library.h); cases that need what the library does not offer are skipped. With --every N one of N cases runs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include <unistd.h>

#include "base/error.h"
#include "base/os.h"
#include "conformance/case.h"
#include "conformance/compare.h"
#include "conformance/damage.h"
#include "conformance/executor.h"
#include "conformance/library.h"
#include "exporters/onnx/onnx.h"
#include "importers/formats.h"
#include "ops/operator.h"
#include "passes/pipeline.h"
#include "runtime/backends.h"
#include "support/paths.h"

namespace minnow::test {
namespace {

constexpr int kSkipped = 77;  // exit status
// At precision low products are of bf16, of 8 bits: 2^-9 of each factor, and the errors of a network's layers add up. The largest
// difference in the corpus, but for the cases of expected_failures.txt, is 0.051 of the largest output.
constexpr double kLowTolerance = 0.06, kTf32Tolerance = 0.01;  // TF32 has 11 bits

struct Options {
  std::vector<std::string> suites;
  std::string backend = "reference", filter, xml, library;
  bool verbose = false, list_failures = false;
  bool optimize = false;   // run every pass first
  bool compile = false;    // only kernels that do not compile are failures
  bool by_export = false;  // export to ONNX, and run the exported file
  bool constants = false;  // the inputs are constants of the model, so passes and plans compute as much as they can
  bool weights = false;    // so are all but the first, as in networks
  size_t truncations = 0, flips = 0;
  size_t every = 1;  // of how many cases one runs
};

/// A line of expected_failures.txt: "suite/case backend|* reason". If the reason begins with "random", only dtypes and shapes of the
/// outputs are compared; with "ties", one in ten integers may differ; with "driver", other drivers of the backend may pass.
struct Expectation {
  std::string reason;
  bool used = false;
  bool random() const { return reason.starts_with("random"); }
  bool ties() const { return reason.starts_with("ties"); }
  bool of_driver() const { return reason.starts_with("driver"); }
};

std::map<std::string, Expectation> read_expectations(const std::string& backend) {
  std::map<std::string, Expectation> expectations;
  std::ifstream file(source_dir() / "tests" / "conformance" / "expected_failures.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, where, reason;
    words >> id >> where;
    if (id.empty() || id[0] == '#' || (where != "*" && where != backend)) continue;
    std::getline(words >> std::ws, reason);
    expectations[id] = {reason};
  }
  return expectations;
}

std::unique_ptr<Graph> import_case(const Case& one, const ImportOptions& options) {
  if (!one.bytes.empty()) return import_onnx(one.bytes, one.records, options);
  std::vector<std::string> paths = {one.model.string()};
  if (!one.second_file.empty()) paths.push_back(one.second_file.string());
  const auto file = os::MappedFile::open(paths[0]);
  const Format* format = recognize_format(file->bytes());
  if (!format) throw InvalidModel("{}: is in none of the known formats", one.model.filename().string());
  return format->import_files(paths, options);
}

/// The graph as its ONNX file gives it back.
std::unique_ptr<Graph> exported(const Graph& graph, const ImportOptions& options) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / format("minnow_conformance_{}.onnx", getpid());
  export_onnx(OperatorSet::builtin(), graph, path.string());
  std::unique_ptr<Graph> again = import_onnx(path.string(), options);
  std::filesystem::remove(path);
  return again;
}

/// Makes constants of the graph's inputs from `first` on.
void bind_inputs(Graph& graph, std::span<const Datum> inputs, size_t first) {
  for (size_t i = first; i < inputs.size(); ++i)
    if (inputs[i].kind == Datum::Kind::tensor) graph.inputs()[i]->replace_all_uses_with(graph.add_constant(inputs[i].tensor));
}

/// Returns the fault; empty if the case passes. Throws NotOffered.
std::string run_case(const Case& one, const Options& options, const Rule& rule, LibraryProcess* library, double& worst) {
  try {
    ImportOptions import;
    import.shapes = one.hints;
    import.warn = [](std::string_view){};
    std::unique_ptr<Graph> graph = import_case(one, import);
    const std::vector<DataSet> sets = read_data(one, *graph);
    if (sets.empty()) return "has no data";
    std::vector<std::string> names;
    for (const Value* output : graph->outputs()) names.push_back(output->name());
    if (options.constants || options.weights) bind_inputs(*graph, sets[0].inputs, options.weights ? 1 : 0);
    if (options.optimize) optimize(*graph, OperatorSet::builtin());
    if (options.by_export) graph = exported(*graph, import);
    const Run run = library ? library->load(*graph) : make_executor(options.backend, std::move(graph));
    for (const DataSet& set : sets) {
      const std::vector<Datum> outputs = run(set.inputs);
      if (options.compile) continue;
      if (one.fails) return "gives outputs, it should end in an error";
      if (outputs.size() < set.outputs.size()) return format("gives {} outputs, it should give {}", outputs.size(), set.outputs.size());
      for (size_t i = 0; i < set.outputs.size(); ++i) worst = std::max(worst, largest_difference(outputs[i], set.outputs[i]));
      for (size_t i = 0; i < set.outputs.size(); ++i)
        if (const std::string text = difference(outputs[i], set.outputs[i], rule); !text.empty())
          return format("output {} (\"{}\"): {}", i, names[i], text);
    }
    return {};
  } catch (const NotOffered&) {
    throw;
  } catch (const InternalError& error) {
    return error.what();
  } catch (const std::exception& error) {
    if (options.compile) return {};
    if (one.fails && *error.what()) return {};
    return *error.what() ? error.what() : "throws an error without a sentence";
  }
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32 && static_cast<unsigned char>(c) < 127)
      out += c;
  }
  return out;
}

int run_damage(const Options& options) {
  std::vector<std::filesystem::path> models;
  for (const std::string& suite : options.suites) {
    size_t missing = 0;
    for (const Case& one : find_cases(suite, missing))
      if (one.id().find(options.filter) != std::string::npos) models.push_back(one.model);
  }
  if (models.empty()) {
    std::puts("there are no models to damage (../shared/corpus, or MINNOW_CORPUS; scripts/fetch_models.py)");
    return kSkipped;
  }
  return damage_models(models, options.truncations, options.flips) ? 1 : 0;
}

// Why this machine or build cannot run a backend; empty: it can.
std::string missing(const std::string& name) {
  const std::string backend = backend_of(name);
  if (backend != "cuda" && backend != "opencl" && backend != "vulkan" && backend != "gles") return {};
  try {
    make_backend(backend, {});
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

int run(const Options& options) {
  if (const std::string reason = missing(options.backend); !reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return kSkipped;
  }
  std::map<std::string, Expectation> expectations = read_expectations(options.backend);
  std::unique_ptr<LibraryProcess> library;
  if (!options.library.empty()) library = std::make_unique<LibraryProcess>(options.library);
  size_t passed = 0, failed = 0, skipped = 0;
  std::string xml = "<testsuites>\n<testsuite>\n";
  const auto report = [&](const Case& one, const std::string& failure, bool skip) {
    (skip ? skipped : failure.empty() ? passed : failed) += 1;
    xml += format("<testcase classname=\"{}.{}\" name=\"{}\" status=\"run\" result=\"{}\">",
                  options.library.empty() ? options.backend : "library", one.suite, escaped(one.name), skip ? "skipped" : "completed");
    if (!failure.empty() && !skip) xml += format("<failure message=\"{}\"/>", escaped(failure));
    xml += "</testcase>\n";
    if (!failure.empty() && !skip) std::printf("FAILED %s (%s): %s\n", one.id().c_str(), options.backend.c_str(), failure.c_str());
  };
  for (const std::string& suite : options.suites) {
    size_t missing = 0;
    const std::vector<Case> cases = find_cases(suite, missing);
    if (cases.empty() && !missing) {
      std::printf("%s: its cases are not there (scripts/fetch_models.py gets them), all are skipped\n", suite.c_str());
      continue;
    }
    if (missing)
      std::printf("%s: %zu cases are skipped, whose files are not there (../shared/corpus, or MINNOW_CORPUS; scripts/fetch_models.py)\n",
                  suite.c_str(), missing);
    skipped += missing;
    size_t number = 0;
    for (const Case& one : cases) {
      if (one.id().find(options.filter) == std::string::npos || number++ % options.every != 0) continue;
      auto found = expectations.find(one.id());
      if (found == expectations.end() && suite.starts_with("node")) found = expectations.find("node*/" + one.name);
      Expectation* expected = found == expectations.end() ? nullptr : &found->second;
      const bool random = expected && expected->random(), ties = expected && expected->ties();
      Rule rule;
      if (random) rule.kind = Rule::Kind::form;
      if (one.tolerance > 0) {
        // Integer models: one step of the output's scale, or as much as the reference engine's own kernels are apart.
        rule = {Rule::Kind::largest, one.tolerance, 4 * one.spread, 0};
        if (one.suite == "corpus-tflite") rule.steps = one.exact ? 0 : std::max<int64_t>(1, static_cast<int64_t>(one.spread));
      }
      const std::string_view precision = precision_of(options.backend);
      if (!precision.empty() && !random)
        rule.kind = Rule::Kind::largest, rule.tolerance = std::max(rule.tolerance, precision == "low" ? kLowTolerance : kTf32Tolerance);
      // Layers between quantized tensors round their factors, too: the other side of a tie.
      if (precision == "low" && rule.steps) ++rule.steps;
      rule.ties = ties;
      const auto start = std::chrono::steady_clock::now();
      if (options.verbose) std::printf("%s ... ", one.id().c_str()), std::fflush(stdout);
      double worst = 0;
      std::string failure;
      bool offered = true;
      try {
        failure = run_case(one, options, rule, library.get(), worst);
      } catch (const NotOffered& reason) {
        failure = reason.what(), offered = false;
      }
      if (expected) expected->used = true;
      if (options.verbose)
        std::printf("%s, largest difference %.3g, %.0f ms\n", failure.empty() ? "ok" : "differs", worst,
                    std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
      const bool skip = expected && !random && !ties && !options.compile;
      if (!offered || (skip && !failure.empty())) {
        if (options.list_failures) std::printf("%s %s: %s\n", offered ? "expected" : "not offered", one.id().c_str(), failure.c_str());
        report(one, failure, true);
      } else if (skip && precision.empty() && !expected->of_driver()) {  // low is f32 where the machine has nothing faster
        report(one, format("passes; take it off expected_failures.txt (\"{}\")", expected->reason), false);
      } else {
        report(one, failure, random && failure.empty());
      }
    }
    if (options.filter.empty() && options.every == 1)
      for (const auto& [id, expectation] : expectations)
        if (!expectation.used && (id.starts_with(suite + "/") || id.starts_with(suite + "*/")) && !missing) {
          std::printf("FAILED %s: stands in expected_failures.txt, but there is no such case\n", id.c_str());
          ++failed;
        }
  }
  if (!options.xml.empty()) {
    std::filesystem::create_directories(std::filesystem::path(options.xml).parent_path());
    std::ofstream(options.xml) << xml << "</testsuite>\n</testsuites>\n";
  }
  std::printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace minnow::test

int main(int argc, char** argv) {
  minnow::test::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto value = [&]() -> std::string {
      if (++i < argc) return argv[i];
      std::fprintf(stderr, "%s needs a value\n", name.c_str());
      std::exit(2);
    };
    if (name == "--suite")
      options.suites.push_back(value());
    else if (name == "--backend")
      options.backend = value();
    else if (name == "--library")
      options.library = std::getenv("MINNOW_LIBRARY") ? (value(), std::getenv("MINNOW_LIBRARY")) : value();
    else if (name == "--filter")
      options.filter = value();
    else if (name == "--xml")
      options.xml = value();
    else if (name == "--optimize")
      options.optimize = true;
    else if (name == "--constants")
      options.constants = true;
    else if (name == "--weights")
      options.weights = true;
    else if (name == "--compile")
      options.compile = true;
    else if (name == "--export")
      options.by_export = true;
    else if (name == "--damage")
      options.truncations = std::stoull(value()), options.flips = std::stoull(value());
    else if (name == "--every")
      options.every = std::max<size_t>(1, std::stoull(value()));
    else if (name == "--verbose")
      options.verbose = true;
    else if (name == "--list-failures")
      options.list_failures = true;
    else {
      std::fprintf(stderr, "%s: no such option\n", name.c_str());
      return 2;
    }
  }
  if (options.suites.empty())
    options.suites = {"corner",       "node",       "node-1.23",         "simple",        "pytorch-converted", "pytorch-operator", "corpus",
                      "corpus-caffe", "corpus-mnn", "corpus-tensorflow", "corpus-tflite", "corpus-torchscript"};
  if (const char* results = std::getenv("MINNOW_TEST_RESULTS"); results && options.xml.empty() && options.suites.size() == 1)
    options.xml = std::string(results) + "/conformance-" + options.suites[0] + "-" +
                  (options.library.empty() ? options.backend : "library") + (options.optimize ? "-optimized" : "") +
                  (options.constants ? "-constants" : "") + (options.weights ? "-weights" : "") + (options.by_export ? "-exported" : "") +
                  ".xml";
  if (options.truncations || options.flips) return minnow::test::run_damage(options);
  return minnow::test::run(options);
}
