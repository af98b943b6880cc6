// SPDX-License-Identifier: Apache-2.0
// Tuning, and the file that remembers it. A file is text:
//   minnow tuning 1
//   version 0.1.0                  the key of an entry: five lines that must be equal
//   machine cpu avx3, 2 cores, caches 32768 1048576 33554432, AMD EPYC
//   model 0123456789abcdef         a hash of the graph and of the shapes of its constants
//   options normal normal cpu 0    precision, memory, backends, threads (0: any)
//   shapes [1, 3, 224, 224]        of the inputs
//   threads 1
//   time 12345 conv.winograd_f4 conv1 [1, 64, 56, 56]     nanoseconds, scheme, node and shape
//   end 0123456789abcdef           a hash of the entry's lines
#include <minnow/tune.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/log.h"
#include "base/os.h"
#include "base/processor.h"
#include "base/thread_wait.h"
#include "runtime/backends.h"
#include "runtime/measure.h"
#include "runtime/model.h"

namespace minnow {
namespace {

constexpr std::string_view kFirstLine = "minnow tuning 1";
constexpr size_t kMostBytes = 64 << 20;  // of a file that is looked at
constexpr double kGain = 0.995;          // a choice by measurement that takes no less than that share of the time is not worth remembering

// FNV-1a, 64 bits.
struct Hash {
  uint64_t value = 0xcbf29ce484222325;
  void add(std::string_view text) {
    for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    value = (value ^ 0xff) * 0x100000001b3;  // the end
  }
  std::string hex() const {
    std::string text(16, '0');
    for (size_t i = 0; i < 16; ++i) text[15 - i] = "0123456789abcdef"[value >> (4 * i) & 15];
    return text;
  }
};

void add_graph(Hash& hash, const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    hash.add(node.op());
    hash.add(report_name(node));
    for (size_t i = 0; i < node.input_count(); ++i) {
      const Value* value = node.input(i);
      const Tensor* constant = value ? value->constant() : nullptr;
      hash.add(!value ? std::string() : constant ? format("{}{}", constant->dtype(), constant->shape()) : std::string(value->name()));
    }
    for (const auto& [name, attribute] : node.attributes)
      if (const Subgraph* subgraph = std::get_if<Subgraph>(&attribute)) add_graph(hash, **subgraph);
  }
}

struct Entry {
  std::string key;  // five lines
  int threads = 0;
  std::vector<SchemeTime> times;

  std::string text() const {
    std::string lines = key + format("threads {}\n", threads);
    for (const SchemeTime& time : times)
      lines += format("time {} {} {}\n", static_cast<uint64_t>(time.seconds * 1e9), time.scheme, time.node);
    Hash hash;
    hash.add(lines);
    return lines + "end " + hash.hex() + "\n";
  }
};

// The lines of the key that do not tell what is tuned, but for whom. The cores' number is the process's: fewer are another machine.
std::string place_of(const SessionOptions& options) {
  const BackendOptions for_backends = backend_options(options);
  std::string machine;
  for (const std::string& name : options.backends) machine += make_backend(name, for_backends)->device().name + ", ";
  const os::CacheSizes caches = os::cache_sizes();
  return format("version {}\nmachine {}{} cores, caches {} {} {}, {}\n", version(), machine, os::available_cores(), caches.l1, caches.l2,
                caches.l3, os::processor_name());
}
std::string subject_of(const Model& model, const SessionOptions& options) {
  Hash hash;
  add_graph(hash, *model.impl()->graph);
  std::string backends;
  for (const std::string& name : options.backends) backends += " " + name;
  return format("model {}\noptions {} {}{} {}\n", hash.hex(), options.precision, options.memory, backends, options.threads);
}

bool take(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ') return false;
  line.remove_prefix(word.size() + 1);
  return true;
}
template <class T>
bool take_number(std::string_view& line, T& number) {
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return true;
}

// The entries of a file, or why there are none.
std::string read(const std::string& file, std::vector<Entry>& entries) {
  if (!os::file_exists(file)) return "there is no such file";
  std::shared_ptr<const os::MappedFile> mapped;
  try {
    mapped = os::MappedFile::open(file);
  } catch (const Error& error) {
    const std::string_view what(error.what());
    return std::string(what.starts_with(file + ": ") ? what.substr(file.size() + 2) : what);
  }
  const std::span<const std::byte> bytes = mapped->bytes();
  if (bytes.size() > kMostBytes) return "it is no tuning file";
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_t number = 0;
  const auto next = [&](std::string_view& line) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) return false;
    line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    ++number;
    return true;
  };
  std::string_view line;
  if (!next(line) || line != kFirstLine) return "it is no tuning file of this kind";
  while (!rest.empty()) {
    Entry entry;
    const std::string_view begin = rest;
    const auto damaged = [&] { return entries.clear(), format("it is damaged or cut off behind line {}", number); };
    for (const std::string_view word : {"version", "machine", "model", "options", "shapes"}) {
      if (!next(line)) return damaged();
      entry.key += std::string(line) + "\n";
      if (!take(line, word)) return damaged();
    }
    if (!next(line) || !take(line, "threads") || !take_number(line, entry.threads) || entry.threads < 0) return damaged();
    size_t read = begin.size() - rest.size();
    for (;;) {
      if (!next(line)) return damaged();
      if (!take(line, "time")) break;
      uint64_t nanoseconds = 0;
      if (!take_number(line, nanoseconds) || !line.starts_with(' ')) return damaged();
      line.remove_prefix(1);
      const size_t space = line.find(' ');
      if (space == std::string_view::npos) return damaged();
      entry.times.push_back({std::string(line.substr(space + 1)), std::string(line.substr(0, space)), 1e-9 * double(nanoseconds)});
      read = begin.size() - rest.size();
    }
    Hash hash;
    hash.add(begin.substr(0, read));
    if (!take(line, "end") || line != hash.hex()) return damaged();
    entries.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

Tuning tune(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds) {
  Tuning tuning;
  for (const TensorView& input : inputs) tuning.shapes.push_back(input.shape());
  tuning.threads = options.threads;
  const Measurement measurement = measure_schemes(model, options, inputs, 0.8 * seconds);
  tuning.seconds_by_estimate = tuning.seconds_tuned = measurement.by_estimate;
  SessionOptions chosen = options;
  if (measurement.by_measurement < kGain * measurement.by_estimate) {
    std::map<std::string, std::string> shapes;
    for (const PlanRow& row : measurement.report.rows) shapes.emplace(row.node, row.shape);
    for (SchemeTime time : measurement.times) {
      if (const auto shape = shapes.find(time.node); shape != shapes.end() && shape->second != "?") time.node += " " + shape->second;
      tuning.times.push_back(std::move(time));
    }
    chosen.times = tuning.times;
    tuning.seconds_tuned = measurement.by_measurement;
  }
  const int cores = backend_options(options).threads;
  if (options.threads != 0 || cores == 1) return tuning;
  std::vector<Session> sessions;
  std::vector<int> counts;
  for (int threads = cores; threads > 0; threads /= 2) {
    chosen.threads = threads;
    counts.push_back(threads);
    sessions.emplace_back(model, chosen);
  }
  const std::vector<double> least = race(sessions, inputs, 0.2 * seconds);
  const size_t best = static_cast<size_t>(std::min_element(least.begin(), least.end()) - least.begin());
  tuning.threads = counts[best];
  tuning.seconds_tuned = std::min(tuning.seconds_tuned, least[best]);
  return tuning;
}

void save_tuning(const std::string& file, const Model& model, const SessionOptions& options, const Tuning& tuning) {
  const std::string place = place_of(options);
  Entry entry;
  entry.key = place + subject_of(model, options) + "shapes";
  for (size_t i = 0; i < tuning.shapes.size(); ++i) entry.key += format(" {}", tuning.shapes[i]);
  entry.key += tuning.shapes.empty() ? " \n" : "\n";
  entry.threads = tuning.threads;
  for (const SchemeTime& time : tuning.times)
    if (time.node.find_first_of("\n\r") == std::string::npos && time.scheme.find_first_of(" \n\r") == std::string::npos)
      entry.times.push_back(time);
  std::vector<Entry> entries;
  read(file, entries);
  const std::string machine = place.substr(place.find('\n') + 1);
  std::erase_if(entries, [&](const Entry& other) {
    const size_t line = other.key.find('\n') + 1;
    const bool here = other.key.compare(line, machine.size(), machine) == 0;
    return other.key == entry.key || (here && other.key.compare(0, place.size(), place) != 0);
  });
  entries.push_back(std::move(entry));
  os::write_file_atomically(file, [&](const os::ByteSink& sink) {
    const auto write = [&](const std::string& text) { sink(std::as_bytes(std::span(text))); };
    write(std::string(kFirstLine) + "\n");
    for (const Entry& each : entries) write(each.text());
  });
}

SessionOptions tuned(const Model& model, const SessionOptions& options, const std::string& file) {
  SessionOptions result = options;
  std::vector<Entry> entries;
  if (const std::string problem = read(file, entries); !problem.empty()) {
    log("{}: {}; plans are made by estimates", file, problem);
    return result;
  }
  const std::string place = place_of(options), wanted = place + subject_of(model, options);
  bool found = false, here = false;
  for (const Entry& entry : entries) {
    here |= entry.key.starts_with(place);
    if (!entry.key.starts_with(wanted)) continue;
    found = true;
    result.times.insert(result.times.end(), entry.times.begin(), entry.times.end());
    if (options.threads == 0) result.threads = std::max(result.threads, std::min(entry.threads, os::available_cores()));
  }
  if (!found)
    log("{}: nothing in it is for {}; plans are made by estimates", file,
        here ? "this model with these options" : "this machine and this version of Minnow");
  return result;
}

SessionOptions with_power(const SessionOptions& options, std::string_view power) {
  SessionOptions result = options;
  if (power == "performance") {
    result.pin_threads = true;
    set_active_wait(200e-6);
  } else if (power == "efficient") {
    if (result.threads == 0) result.threads = std::max(1, os::available_cores() / 2);
    set_active_wait(0);
  } else if (power == "balanced") {
    set_active_wait(50e-6);
  } else {
    throw InvalidArgument("power is \"{}\", it should be performance, balanced or efficient", power);
  }
  return result;
}

}  // namespace minnow
