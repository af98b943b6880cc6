// SPDX-License-Identifier: Apache-2.0
// usage: fuzz_models FORMAT RUNS SEED FILE_OR_FOLDER...
// Changes the given files RUNS times and takes each result from bytes to outputs (complete_path.h). Needs no libFuzzer, so that it runs in
// every build, and has no guidance by coverage. SEED 0 takes the files as they are, once each. A file that breaks something is written to
// FORMAT-SEED.fault, and the status is not 0.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/complete_path.h"
#include "support/sanitizers.h"

using namespace minnow::fuzz;

namespace {

constexpr int kMostSeconds = 30;  // of processor time, of one file
constexpr size_t kMostBytes = 1 << 18;

std::string current;  // the file in work, for the signal handler
char fault_path[4096];

void save_current() {
  const int file = open(fault_path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, current.data(), current.size());
  close(file);
}

void at_signal(int signal) {
  save_current();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// SIGPROF comes after so many seconds of processor time; 0: never. A busy machine is no fault.
void limit_seconds(int seconds) {
  const itimerval time{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

std::vector<std::string> read_seeds(std::span<char* const> paths) {
  std::vector<std::filesystem::path> files;
  for (const char* path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() <= kMostBytes) seeds.push_back(std::move(bytes));
  }
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: fuzz_models FORMAT RUNS SEED FILE_OR_FOLDER...\n", stderr);
    return 2;
  }
  const Target& target = find_target(argv[1]);
  const uint64_t runs = std::strtoull(argv[2], nullptr, 10), first = std::strtoull(argv[3], nullptr, 10);
  const std::vector<std::string> seeds = read_seeds(std::span(argv, static_cast<size_t>(argc)).subspan(4));
  if (seeds.empty()) {
    std::fputs("fuzz_models: no seeds\n", stderr);
    return 2;
  }
  std::snprintf(fault_path, sizeof fault_path, "%s-%s.fault", argv[1], argv[3]);
  static char stack[1 << 16];  // a separate stack, because the usual one may have overflowed
  const stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = at_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF}) sigaction(signal, &action, nullptr);

#if !MINNOW_SANITIZED
  const rlimit memory{size_t{4} << 30, size_t{4} << 30};  // outputs are not part of a session's limit
  setrlimit(RLIMIT_AS, &memory);
#endif
  const bool tell = std::getenv("FUZZ_TELL") != nullptr;  // why each file came no further
  uint64_t reached[5] = {};
  std::string previous;
  for (uint64_t i = 0; i < (first ? runs : seeds.size()); ++i) {
    Random random(first * 0x100000000 + i);
    // Half of the files are changed seeds, others are changed once more.
    current =
        !first ? seeds[i] : target.mutate(previous.empty() || random.one_in(2) ? seeds[random.below(seeds.size())] : previous, random);
    limit_seconds(kMostSeconds);
    try {
      const Outcome outcome = run_complete_path(target, current);
      ++reached[static_cast<size_t>(outcome.reached)];
      if (tell) std::printf("%d %s\n", static_cast<int>(outcome.reached), outcome.error.c_str());
      // A file that runs is worth changing again.
      previous = outcome.reached >= Reached::planned && current.size() < kMostBytes ? current : std::string();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", fault_path, error.what());
      save_current();
      return 1;
    }
    limit_seconds(0);
  }
  std::printf("%s: %llu runs without a fault; refused %llu, imported %llu, planned %llu, ran %llu, compared %llu\n", argv[1],
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(reached[0]),
              static_cast<unsigned long long>(reached[1]), static_cast<unsigned long long>(reached[2]),
              static_cast<unsigned long long>(reached[3]), static_cast<unsigned long long>(reached[4]));
  return 0;
}
