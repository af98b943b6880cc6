// SPDX-License-Identifier: Apache-2.0
// Tuning, and the file that remembers it. A file is text:
//   minnow tuning 2
//   version 0.1.0                  the key of an entry: five lines that must be equal
//   machine cpu avx3, 2 cores, caches 32768 1048576 33554432, AMD EPYC
//   model 0123456789abcdef         a hash of the graph and of the shapes of its constants
//   options normal normal cpu 0    precision, memory, backends, threads (0: any), power if set
//   shapes [1, 3, 224, 224]        of the inputs
//   threads 2                      or, with power, all of: threads 2 wait 50000 pin 1 cores 0 1 (nanoseconds; 0 or 1; any number)
//   time 12345 conv.winograd_f4 conv1 [1, 64, 56, 56]     nanoseconds, scheme, node and shape
//   end 0123456789abcdef           a hash of the entry's lines
#include <minnow/tune.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <map>

#include "base/log.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/processor.h"
#include "base/topology.h"
#include "planner/plan.h"
#include "runtime/backends.h"
#include "runtime/measure.h"
#include "runtime/model.h"
#include "runtime/power.h"

namespace minnow {
namespace {

constexpr std::string_view kKind = "minnow tuning ", kFirstLine = "minnow tuning 2";
constexpr size_t kMostBytes = 64 << 20;        // of a file that is looked at
constexpr uint64_t kLongestWait = 1000000000;  // nanoseconds
constexpr double kGain = 0.995;  // a choice by measurement that takes no less than that share of the time is not worth remembering

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
  Way way;
  std::vector<SchemeTime> times;

  std::string text() const {
    std::string lines = key + format("threads {}", way.threads);
    if (way.active_wait >= 0) {
      lines += format(" wait {} pin {} cores", static_cast<uint64_t>(way.active_wait * 1e9), way.pin_threads ? 1 : 0);
      for (const int core : way.cores) lines += format(" {}", core);
    }
    lines += "\n";
    for (const SchemeTime& time : times)
      lines += format("time {} {} {}\n", static_cast<uint64_t>(time.seconds * 1e9), time.scheme, time.node);
    Hash hash;
    hash.add(lines);
    return lines + "end " + hash.hex() + "\n";
  }
};

// The lines of the key about the machine and the options. The number of cores is the process's: with fewer it is another machine.
std::string place_of(const SessionOptions& options) {
  const BackendOptions for_backends = backend_options(options);
  std::string machine;
  for (const std::string& name : resolved_names(options.backends)) machine += make_backend(name, for_backends)->device().name + ", ";
  const os::CacheSizes caches = os::cache_sizes();
  return format("version {}\nmachine {}{} cores, caches {} {} {}, {}\n", version(), machine, os::available_cores(), caches.l1, caches.l2,
                caches.l3, os::processor_name());
}
std::string subject_of(const Model& model, const SessionOptions& options) {
  Hash hash;
  add_graph(hash, *model.impl()->graph);
  std::string backends;
  for (const std::string& name : options.backends) backends += " " + name;
  const std::string power = options.power.empty() ? std::string() : " " + options.power;
  return format("model {}\noptions {} {}{} {}{}\n", hash.hex(), options.precision, options.memory, backends, options.threads, power);
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

// Parses the rest of a line after the word "threads".
bool take_way(std::string_view line, Way& way) {
  if (!take_number(line, way.threads) || way.threads < 0) return false;
  if (line.empty()) return true;
  uint64_t wait = 0;
  int pin = 0;
  const auto next = [&](std::string_view word) { return line.starts_with(' ') && (line.remove_prefix(1), take(line, word)); };
  if (!next("wait") || !take_number(line, wait) || wait > kLongestWait || !next("pin") || !take_number(line, pin) ||
      line.substr(0, 6) != " cores")
    return false;
  line.remove_prefix(6);
  way.active_wait = 1e-9 * static_cast<double>(wait);
  way.pin_threads = pin != 0;
  while (!line.empty()) {
    int core = 0;
    if (line[0] != ' ' || (line.remove_prefix(1), !take_number(line, core))) return false;
    way.cores.push_back(core);
  }
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
    if (!next(line) || !take(line, "threads") || !take_way(line, entry.way)) return damaged();
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

struct Choice {
  Way way;
  double seconds = 0, cpu_seconds = 0;  // of a run
};

// Runs all settings in turn for about `seconds`, a few runs each. The first run of each, during which threads move, does not count.
Choice choose(const Model& model, const SessionOptions& options, const std::vector<Way>& ways, std::span<const TensorView> inputs,
              double seconds) {
  constexpr int kRuns = 3, kLeastRounds = 7;
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::vector<SessionOptions> all;
  std::vector<Session> sessions;
  for (const Way& way : ways) {
    SessionOptions& one = all.emplace_back(options);
    one.power.clear();
    way.set(one);
    sessions.emplace_back(model, one).run(inputs);
  }
  std::vector<double> least(ways.size(), 1e30), least_cpu(ways.size(), 1e30);
  const Clock::time_point begin = Clock::now();
  for (int round = 0; round < kLeastRounds || since(begin) < seconds; ++round)
    for (size_t i = 0; i < ways.size(); ++i) {
      place_threads(all[i]);
      sessions[i].run(inputs);
      const std::clock_t cpu = std::clock();
      for (int run = 0; run < kRuns; ++run) {
        const Clock::time_point one = Clock::now();
        sessions[i].run(inputs);
        least[i] = std::min(least[i], since(one));
      }
      least_cpu[i] = std::min(least_cpu[i], static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / kRuns);
    }
  place_threads(resolved(options));
  const size_t best = best_way(options.power, least, least_cpu);
  return {ways[best], least[best], least_cpu[best]};
}

}  // namespace

Tuning tune(const Model& model, const SessionOptions& options, std::span<const TensorView> inputs, double seconds,
            const std::function<void(double part)>& progress) try {
  Tuning tuning;
  for (const TensorView& input : inputs) tuning.shapes.push_back(input.shape());
  tuning.threads = options.threads;
  tuning.active_wait = options.active_wait;
  tuning.pin_threads = options.pin_threads;
  tuning.cores = options.cores;
  const Measurement measurement = measure_schemes(model, options, inputs, 0.8 * seconds, [&](double part) {
    if (progress) progress(0.8 * part);
  });
  tuning.seconds_by_estimate = tuning.seconds_tuned = measurement.by_estimate;
  SessionOptions chosen = options;
  chosen.weight_cache.clear();
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
  const int cores = os::available_cores();
  std::vector<Way> ways;
  if (!options.power.empty()) {
    ways = ways_by_threads(options.power, options.threads, os::cores(), cores);
  } else {
    if (options.threads != 0 || cores == 1) return tuning;
    for (int threads = cores; threads > 0; threads /= 2) {
      ways.push_back(Way::of(options));
      ways.back().threads = threads;
    }
  }
  Choice choice = choose(model, chosen, ways, inputs, 0.1 * seconds);
  if (!options.power.empty()) choice = choose(model, chosen, ways_by_place(options.power, choice.way, os::cores()), inputs, 0.1 * seconds);
  tuning.threads = choice.way.threads;
  tuning.active_wait = choice.way.active_wait;
  tuning.pin_threads = choice.way.pin_threads;
  tuning.cores = choice.way.cores;
  tuning.cpu_seconds = choice.cpu_seconds;
  // Saving power may take longer than the estimates' plan on all cores.
  tuning.seconds_tuned = options.power.empty() ? std::min(tuning.seconds_tuned, choice.seconds) : choice.seconds;
  return tuning;
} catch (...) {
  throw_as_error();
}

void check_tuning_file(const std::string& file) { os::check_replaceable(file, kKind, "a tuning file"); }

void save_tuning(const std::string& file, const Model& model, const SessionOptions& options, const Tuning& tuning) try {
  const std::string place = place_of(options);
  Entry entry;
  entry.key = place + subject_of(model, options) + "shapes";
  for (size_t i = 0; i < tuning.shapes.size(); ++i) entry.key += format(" {}", tuning.shapes[i]);
  entry.key += tuning.shapes.empty() ? " \n" : "\n";
  entry.way.threads = tuning.threads;
  if (!options.power.empty()) entry.way = {tuning.threads, std::max(0.0, tuning.active_wait), tuning.pin_threads, tuning.cores};
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
  check_tuning_file(file);
  os::write_file_atomically(file, [&](const os::ByteSink& sink) {
    const auto write = [&](const std::string& text) { sink(std::as_bytes(std::span(text))); };
    write(std::string(kFirstLine) + "\n");
    for (const Entry& each : entries) write(each.text());
  });
} catch (...) {
  throw_as_error();
}

SessionOptions tuned(const Model& model, const SessionOptions& options, const std::string& file) try {
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
    const int threads = std::min(entry.way.threads, os::available_cores());
    if (entry.way.active_wait >= 0 && threads >= result.threads) {
      const std::vector<int> allowed = os::allowed_cores();
      Way way = entry.way;
      const auto is_free = [&](int core) { return std::find(allowed.begin(), allowed.end(), core) != allowed.end(); };
      if (!std::all_of(way.cores.begin(), way.cores.end(), is_free)) way.cores = allowed, way.pin_threads = false;
      way.threads = threads;
      way.set(result);
      result.power.clear();
    } else if (options.threads == 0) {
      result.threads = std::max(result.threads, threads);
    }
  }
  if (!found)
    log("{}: nothing in it is for {}; plans are made by estimates", file,
        here ? "this model with these options" : "this machine and this version of Minnow");
  return result;
} catch (...) {
  throw_as_error();
}

}  // namespace minnow
