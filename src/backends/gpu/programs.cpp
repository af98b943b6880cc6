// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/programs.h"

#include <minnow/minnow.h>

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "base/digest.h"
#include "base/error.h"
#include "base/format.h"
#include "base/log.h"
#include "base/thread_pool.h"

namespace minnow::gpu {
namespace {

constexpr EntryFileKind kKind{'K', "a kernel cache", "compiled kernels", "kernels are compiled anew and the file is replaced"};
constexpr EntryFileKind kInMemory{'K', "a kernel cache", "compiled kernels", "they are not used"};

uint64_t digest_of_text(std::string_view text, uint64_t seed) { return digest_of(std::as_bytes(std::span(text)), seed); }

}  // namespace

void throw_not_compiled(std::string_view driver, std::string_view messages, std::string_view source) {
  messages = messages.substr(0, messages.find('\0'));
  std::string_view first;
  for (std::string_view rest = messages; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const bool names_error = line.find("error") != line.npos;
    if (first.empty() || names_error) first = line;
    if (names_error) break;
  }
  const bool shows = std::getenv("MINNOW_KERNEL_SOURCE");
  if (shows) log("{}: {}\n{}", driver, messages, source);
  throw InternalError("{} does not compile a kernel: {}{}", driver, first.empty() ? "it does not say why" : first,
                      shows ? "" : "; with MINNOW_KERNEL_SOURCE=1 the log has its source");
}

// Two digests and the length: sources that differ must never share a name.
std::string digest_text(std::string_view text) { return format("{}-{}-{}", digest_of_text(text, 1), digest_of_text(text, 2), text.size()); }

std::unique_ptr<EntryFile> open_kernel_cache(const std::string& file) {
  if (file.empty()) return nullptr;
  return std::make_unique<EntryFile>(file, kKind, digest_of_text(version(), 0), 0);
}

std::unique_ptr<EntryFile> kernel_cache_in_memory(std::span<const std::byte> bytes, std::string name) {
  if (bytes.empty()) return nullptr;
  return std::make_unique<EntryFile>(bytes, std::move(name), kInMemory, digest_of_text(version(), 0), 0);
}

Programs::Entry& Programs::entry(const std::string& source) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Entry>& place = entries_[source];
  if (!place) {
    place = std::make_unique<Entry>();
    place->source_ = source;
  }
  return *place;
}

void Programs::make(Entry& entry, EntryFile* file) {
  const std::lock_guard lock(entry.making_);
  if (entry.program_ && !file) return;  // most calls
  const std::string name = file || library_ ? format("{}, source {}", target_, digest_text(entry.source_)) : std::string();
  if (entry.program_ && ((library_ && library_->has(name)) || file->has(name))) return;
  for (EntryFile* const from : {library_, file})
    if (!entry.program_ && from)
      if (const EntryFile::Piece piece = from->find(name); piece.data)
        if ((entry.program_ = compiler_.load({static_cast<const std::byte*>(piece.data.get()), piece.bytes}))) return;
  if (!entry.program_) entry.program_ = compiler_.compile(entry.source_);
  if (!file) return;
  const auto binary = std::make_shared<const std::string>(entry.program_->binary());
  if (!binary->empty()) file->add(name, {binary, binary->data()}, binary->size());
}

void Programs::make(std::vector<Entry*> entries, EntryFile* file, int threads) {
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  std::vector<std::exception_ptr> errors(entries.size());
  ThreadPool::process().run(entries.size(), threads, [&](size_t i) {
    try {
      make(*entries[i], file);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  if (file) file->save();
}

}  // namespace minnow::gpu
