// SPDX-License-Identifier: Apache-2.0
#include "base/entry_file.h"

#include <cstring>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/os.h"

namespace minnow {
namespace {

constexpr std::string_view kDamaged = "it is damaged or cut off";

static_assert(sizeof(EntryFile::Header) == 64);

EntryFile::Header header_of(const EntryFileKind& kind) {
  EntryFile::Header header;
  header.magic[3] = static_cast<unsigned char>(kind.letter);
  return header;
}

}  // namespace

void EntryFile::check_kind(const std::string& file, const EntryFileKind& kind) {
  const Header header = header_of(kind);
  os::check_replaceable(file, {reinterpret_cast<const char*>(header.magic), sizeof header.magic}, kind.name);
}

EntryFile::EntryFile(std::string file, const EntryFileKind& kind, uint64_t build, uint64_t model)
    : file_(std::move(file)), kind_(kind), build_(build), model_(model) {
  check_kind(file_, kind);
  if (const std::string problem = read(entries_); !problem.empty()) log("{}: {}; {}", file_, problem, kind.replaced);
}

EntryFile::EntryFile(std::span<const std::byte> bytes, std::string name, const EntryFileKind& kind, uint64_t build, uint64_t model)
    : file_(std::move(name)), kind_(kind), build_(build), model_(model) {
  if (const std::string problem = parse(bytes, {}, entries_); !problem.empty()) log("{}: {}; {}", file_, problem, kind.replaced);
}

std::string EntryFile::read(Entries& entries) const {
  if (!os::file_exists(file_)) return {};
  std::shared_ptr<const os::MappedFile> mapped;
  try {
    mapped = os::MappedFile::open(file_);
  } catch (const Error& error) {
    const std::string_view what(error.what());
    return std::string(what.starts_with(file_ + ": ") ? what.substr(file_.size() + 2) : what);
  }
  return parse(mapped->bytes(), mapped, entries);
}

std::string EntryFile::parse(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, Entries& entries) const {
  Header header;
  const Header known = header_of(kind_);
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), known.magic, sizeof known.magic) != 0)
    return format("it is no file of {}", kind_.contents);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.build != build_) return format("its {} are of another machine or another build of Minnow", kind_.contents);
  if (header.model != model_) return format("its {} are of another model", kind_.contents);
  const auto inside = [&](uint64_t offset, uint64_t size) { return offset <= bytes.size() && size <= bytes.size() - offset; };
  const std::string damaged(kDamaged);
  if (header.file_size != bytes.size() || !inside(header.index_offset, header.index_size)) return damaged;
  std::span<const std::byte> index = bytes.subspan(header.index_offset, header.index_size);
  if (digest_of(index) != header.index_digest) return damaged;
  while (!index.empty()) {
    uint64_t numbers[4];  // offset, bytes, digest, length of the name
    if (index.size() < sizeof numbers) return entries.clear(), damaged;
    std::memcpy(numbers, index.data(), sizeof numbers);
    index = index.subspan(sizeof numbers);
    if (numbers[0] % kAlignment != 0 || !inside(numbers[0], numbers[1]) || numbers[3] > index.size()) return entries.clear(), damaged;
    const size_t length = static_cast<size_t>(numbers[3]);
    const std::string name(reinterpret_cast<const char*>(index.data()), length);
    index = index.subspan(std::min(align_up(length, 8), index.size()));
    entries[name] = {std::shared_ptr<const void>(owner, bytes.data() + numbers[0]), static_cast<size_t>(numbers[1]), numbers[2], false};
  }
  return {};
}

bool EntryFile::has(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return entries_.contains(name);
}

EntryFile::Piece EntryFile::find(const std::string& name) {
  Entry entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    if (found == entries_.end()) return {};
    entry = found->second;
  }
  // Reading all of it also brings its pages, on the threads that prepare.
  const bool good = digest_of({static_cast<const std::byte*>(entry.data.get()), entry.bytes}) == entry.digest;
  const std::lock_guard lock(mutex_);
  if (good) {
    entry.good = true;
    entries_[name] = entry;
    return {entry.data, entry.bytes};
  }
  if (!damaged_) log("{}: {}; {}", file_, kDamaged, kind_.replaced);
  damaged_ = true;  // nothing more is taken from it
  std::erase_if(entries_, [](const auto& item) { return !item.second.good; });
  return {};
}

void EntryFile::add(const std::string& name, std::shared_ptr<const void> data, size_t bytes) {
  const uint64_t digest = digest_of({static_cast<const std::byte*>(data.get()), bytes});
  const std::lock_guard lock(mutex_);
  entries_[name] = {std::move(data), bytes, digest, true};
  changed_.store(true, std::memory_order_release);
}

void EntryFile::save() {
  if (!changed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  if (!changed_.exchange(false)) return;
  try {
    Entries all;
    if (!damaged_) read(all);  // entries that other processes have added since
    for (const auto& [name, entry] : entries_) all[name] = entry;
    Header header = header_of(kind_);
    header.build = build_, header.model = model_;
    uint64_t end = sizeof header;
    std::vector<std::byte> index;
    for (const auto& [name, entry] : all) {
      const uint64_t numbers[4] = {end, entry.bytes, entry.digest, name.size()};
      const size_t begin = index.size();
      index.resize(begin + sizeof numbers + align_up(name.size(), 8));
      std::memcpy(index.data() + begin, numbers, sizeof numbers);
      std::memcpy(index.data() + begin + sizeof numbers, name.data(), name.size());
      end += align_up(entry.bytes);
    }
    header.index_offset = end, header.index_size = index.size(), header.index_digest = digest_of(index);
    header.file_size = end + index.size();
    check_kind(file_, kind_);  // it may have changed since
    os::write_file_atomically(file_, [&](const os::ByteSink& sink) {
      sink(std::as_bytes(std::span(&header, 1)));
      const std::byte zeros[kAlignment] = {};
      for (const auto& [name, entry] : all) {
        sink({static_cast<const std::byte*>(entry.data.get()), entry.bytes});
        sink({zeros, align_up(entry.bytes) - entry.bytes});
      }
      sink(index);
    });
  } catch (const std::exception& error) {
    log("{}", error.what());
  }
}

}  // namespace minnow
