// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "fuzz/mutate.h"
#include "importers/torchscript/inflate.h"
#include "support/zip_writer.h"

namespace minnow::fuzz {
namespace {

struct Entry {
  std::string name, contents;
};

template <class T>
T read(std::string_view bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The entries of a ZIP archive in the order of its directory, without the folder that holds them all, and without positions in sources.
std::vector<Entry> entries_of_archive(std::string_view bytes) {
  std::vector<Entry> entries;
  for (size_t at = bytes.find("PK\1\2"); at != bytes.npos; at = bytes.find("PK\1\2", at + 4)) {  // the directory
    const size_t size = read<uint32_t>(bytes, at + 24), name_size = read<uint16_t>(bytes, at + 28), local = read<uint32_t>(bytes, at + 42);
    const size_t begin = local + 30 + read<uint16_t>(bytes, local + 26) + read<uint16_t>(bytes, local + 28);
    const size_t packed = read<uint32_t>(bytes, at + 20);
    if (at + 46 + name_size > bytes.size() || begin > bytes.size() || packed > bytes.size() - begin) continue;
    std::string_view name = bytes.substr(at + 46, name_size), contents = bytes.substr(begin, packed);
    name.remove_prefix(name.find('/') + 1);
    if (name.ends_with(".debug_pkl")) continue;
    std::optional<std::vector<std::byte>> unpacked;
    if (read<uint16_t>(bytes, at + 10) == 8) {
      unpacked = torchscript::inflate(std::as_bytes(std::span(contents.data(), contents.size())), size);
      if (!unpacked) continue;
      contents = {reinterpret_cast<const char*>(unpacked->data()), unpacked->size()};
    }
    entries.push_back({std::string(name), std::string(contents)});
  }
  return entries;
}

struct Opcode {
  size_t begin, size, argument;  // the argument's first byte within the opcode
};

/// The opcodes of a pickle of protocol 2, as far as they are known.
std::vector<Opcode> opcodes_of(std::string_view pickle) {
  std::vector<Opcode> opcodes;
  for (size_t at = 0; at < pickle.size();) {
    const char code = pickle[at];
    size_t size = 1, argument = 1;
    switch (code) {
      case '\x80':
      case 'K':
      case 'q':
      case 'h':
        size = 2;
        break;
      case 'M':
        size = 3;
        break;
      case 'J':
      case 'j':
      case 'r':
        size = 5;
        break;
      case 'G':
        size = 9;
        break;
      case '\x8a':
        size = 2 + static_cast<size_t>(read<uint8_t>(pickle, at + 1));
        argument = 2;
        break;
      case 'X':
      case 'B':
      case 'T':
        size = 5 + static_cast<size_t>(read<uint32_t>(pickle, at + 1));
        argument = 5;
        break;
      case 'c': {
        const size_t line = pickle.find('\n', at);
        const size_t second = line == pickle.npos ? line : pickle.find('\n', line + 1);
        if (second == pickle.npos) return opcodes;
        size = second + 1 - at;
        break;
      }
      default:
        break;
    }
    if (size > pickle.size() - at) break;
    opcodes.push_back({at, size, argument});
    at += size;
  }
  return opcodes;
}

std::string mutate_pickle(std::string pickle, Random& random) {
  for (size_t change = 0, changes = 1 + random.below(3); change < changes; ++change) {
    const std::vector<Opcode> opcodes = opcodes_of(pickle);
    if (opcodes.empty()) return mutate_bytes(std::move(pickle), random);
    const Opcode opcode = opcodes[random.below(opcodes.size())], other = opcodes[random.below(opcodes.size())];
    const std::string copy = pickle.substr(other.begin, other.size);
    switch (random.below(6)) {
      case 0:
        pickle.erase(opcode.begin, opcode.size);
        break;
      case 1:
        pickle.insert(opcode.begin, copy);
        break;
      case 2:
        pickle.replace(opcode.begin, opcode.size, copy);
        break;
      default:
        if (opcode.size <= opcode.argument) break;
        if (opcode.size <= 9) {
          const int64_t number = interesting_integer(random);
          std::memcpy(pickle.data() + opcode.begin + opcode.argument, &number, std::min<size_t>(8, opcode.size - opcode.argument));
        } else {
          pickle[opcode.begin + opcode.argument + random.below(opcode.size - opcode.argument)] = static_cast<char>(random.next());
        }
    }
  }
  return pickle;
}

void change_once(std::vector<Entry>& entries, Random& random, Names names) {
  Entry& entry = entries[random.below(entries.size())];
  const Entry& other = entries[random.below(entries.size())];
  if (random.one_in(24)) {
    if (random.one_in(3))
      entries.erase(entries.begin() + (&entry - entries.data()));
    else if (random.one_in(2))
      entry.contents = other.contents;
    else
      std::swap(entry.name, entries[random.below(entries.size())].name);
    return;
  }
  if (entry.name.ends_with(".py"))
    entry.contents = mutate_text(std::move(entry.contents), random, names);
  else if (entry.name.ends_with(".pkl"))
    entry.contents = mutate_pickle(std::move(entry.contents), random);
  else if (entry.contents.size() >= 4) {
    const float number = interesting_float(random);
    std::memcpy(entry.contents.data() + 4 * random.below(entry.contents.size() / 4), &number, sizeof number);
  }
}

}  // namespace

std::string mutate_archive(std::string bytes, Random& random, Names names) {
  if (random.one_in(16)) return mutate_bytes(std::move(bytes), random);
  std::vector<Entry> entries = entries_of_archive(bytes);
  if (entries.empty()) return mutate_bytes(std::move(bytes), random);
  // Most entries are weights, but most faults are in programs.
  for (size_t change = 0, changes = 1 + random.below(2); change < changes && !entries.empty(); ++change) {
    if (random.one_in(3)) change_once(entries, random, names);
    for (Entry& program : entries)
      if (program.name.ends_with(".py") && random.one_in(2)) {
        program.contents = mutate_text(std::move(program.contents), random, names);
        break;
      }
  }
  test::ZipWriter archive;
  for (const Entry& entry : entries) archive.add(entry.name, entry.contents);
  return archive.finish();
}

}  // namespace minnow::fuzz
