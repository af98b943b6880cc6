// SPDX-License-Identifier: Apache-2.0
// Lines on stderr: messages, and on a terminal a line with the progress of long work.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

#include "base/format.h"
#include "cli/commands.h"

namespace minnow::cli {
namespace {

std::mutex terminal;      // held while anything is written to stderr
bool is_shown = false;    // the last line on the terminal is a progress line
constexpr int kBar = 24;  // characters

void erase_line() {
  if (!is_shown) return;
  std::cerr << "\r\033[K";
  is_shown = false;
}

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

std::string clock_text(double seconds) {
  const long whole = static_cast<long>(seconds + 0.5);
  if (whole < 100) return format("{} s", whole);
  return whole < 6000 ? format("{} min {} s", whole / 60, whole % 60) : format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_line(const std::string& what, double part, double elapsed) {
  if (!(part > 0)) return format("{} ... {}", what, clock_text(elapsed));
  part = std::min(part, 1.0);
  const int filled = static_cast<int>(part * kBar);
  std::string line = format("{} [{}{}] {} %", what, std::string(static_cast<size_t>(filled), '#'),
                            std::string(static_cast<size_t>(kBar - filled), '.'), static_cast<int>(100 * part));
  // The first percents say little about the rest.
  return part < 0.03 ? line : line + ", " + clock_text(elapsed * (1 - part) / part) + " left";
}

void say(std::string_view line) {
  const std::lock_guard lock(terminal);
  erase_line();
  std::cerr << line << '\n';
}

struct Progress::State {
  std::string what;
  Stopwatch watch;
  std::atomic<double> part{0};
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::thread thread;

  void show() {
    std::unique_lock lock(mutex);
    auto wait = std::chrono::milliseconds(500);
    while (!done.wait_for(lock, wait, [&] { return finished; })) {
      wait = std::chrono::milliseconds(100);
      const std::lock_guard writing(terminal);
      std::cerr << '\r' << progress_line(what, part, watch.seconds()) << "\033[K" << std::flush;
      is_shown = true;
    }
  }
};

Progress::Progress(std::string what) : state_(std::make_unique<State>()) {
  if (!is_terminal()) return;
  constexpr size_t kMost = 36;  // so that the line fits in 80 columns
  if (what.size() > kMost) what = what.substr(0, what.find(' ') + 1) + "..." + what.substr(what.size() - kMost / 2);
  state_->what = std::move(what);
  state_->thread = std::thread([state = state_.get()] { state->show(); });
}

Progress::~Progress() {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->finished = true;
  }
  state_->done.notify_all();
  state_->thread.join();
  const std::lock_guard lock(terminal);
  erase_line();
  std::cerr << std::flush;
}

void Progress::tell(double part) noexcept { state_->part = part; }

}  // namespace minnow::cli
