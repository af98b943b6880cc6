// SPDX-License-Identifier: Apache-2.0
#include "conformance/damage.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "base/os.h"
#include "graph/model_file.h"
#include "importers/formats.h"

namespace minnow::test {
namespace {

using Bytes = std::vector<std::byte>;
using Read = std::function<void(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner)>;

constexpr size_t kFree = size_t{64} << 20;  // bytes that any file may take

struct Tally {
  size_t truncations = 0, flips = 0, errors = 0, graphs = 0, wrong = 0;
};

ImportOptions silent() {
  ImportOptions options;
  options.warn = [](std::string_view) {};
  return options;
}

class Damage {
 public:
  Damage(std::string name, Bytes whole, const Read& read, Tally& tally)
      : name_(std::move(name)), bytes_(std::make_shared<Bytes>(std::move(whole))), read_(read), tally_(tally), limit_(memory_limit()) {
    set_memory_limit(bytes_->size() * 4 + kFree);
  }
  ~Damage() { set_memory_limit(limit_); }

  void truncate(size_t times) {
    for (size_t i = 0; i < times; ++i, ++tally_.truncations) check(bytes_->size() * i / times);
  }

  // Half of the changes hit the first and last 16 kB, where structure lies; weights, which hold no structure, fill most of a file.
  void flip(size_t times, std::mt19937_64& random) {
    const size_t edge = std::min<size_t>(bytes_->size() / 2, 16 << 10);
    for (size_t i = 0; i < times && edge; ++i, ++tally_.flips) {
      const size_t at = i % 2 ? random() % bytes_->size() : i % 4 ? random() % edge : bytes_->size() - 1 - random() % edge;
      const std::byte old = std::exchange((*bytes_)[at], static_cast<std::byte>(random()));
      check(bytes_->size());
      (*bytes_)[at] = old;
    }
  }

 private:
  void check(size_t size) {
    const size_t before = os::peak_resident_bytes();
    std::string wrong;
    try {
      read_({bytes_->data(), size}, bytes_);
      ++tally_.graphs;
    } catch (const Error& error) {
      ++tally_.errors;
      if (error.kind() == ErrorKind::internal) wrong = error.what();
    }
    const size_t after = os::peak_resident_bytes(), taken = after - std::min(before, after);  // the kernel's count may lag behind
    if (taken > bytes_->size() * 8 + kFree) wrong = format("took {} bytes of memory", taken);
    if (wrong.empty()) return;
    ++tally_.wrong;
    std::printf("FAILED %s: %s\n", name_.c_str(), wrong.c_str());
  }

  std::string name_;
  std::shared_ptr<Bytes> bytes_;
  const Read& read_;
  Tally& tally_;
  size_t limit_;
};

}  // namespace

size_t damage_models(const std::vector<std::filesystem::path>& models, size_t truncations, size_t flips) {
  std::mt19937_64 random(11);
  Tally tally;
  const size_t files = std::max<size_t>(models.size() * 2, 1);
  const auto share = [&](size_t times) { return (times + files - 1) / files; };
  const Read minnow = [](std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) { read_model(bytes, owner); };
  for (const std::filesystem::path& path : models) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    Bytes whole(text.size());
    if (!text.empty()) std::memcpy(whole.data(), text.data(), text.size());
    const Format* format = recognize_format(whole);
    if (!format || !format->import_memory) continue;
    const Read foreign = [&](std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
      format->import_memory(bytes, owner, silent());
    };
    Bytes written;
    try {
      write_model_to(*format->import_files({path.string()}, silent()),
                     [&](std::span<const std::byte> piece) { written.insert(written.end(), piece.begin(), piece.end()); });
    } catch (const Error&) {  // a model that is not supported is damaged as it is
    }
    const auto damage = [&](const std::string& name, Bytes bytes, const Read& read) {
      Damage one(name, std::move(bytes), read, tally);
      one.truncate(share(truncations));
      one.flip(share(flips), random);
    };
    damage(path.string(), std::move(whole), foreign);
    if (!written.empty()) damage(path.string() + " as .minnow", std::move(written), minnow);
  }
  std::printf("%zu files: %zu truncations and %zu changed bytes gave %zu errors and %zu graphs; %zu went wrong\n", models.size(),
              tally.truncations, tally.flips, tally.errors, tally.graphs, tally.wrong);
  return tally.wrong;
}

}  // namespace minnow::test
