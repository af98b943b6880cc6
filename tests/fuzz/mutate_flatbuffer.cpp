// SPDX-License-Identifier: Apache-2.0
// Tables contain the positions of their fields, but not their types. A field that points to a plausible table, string or vector counts as a
// reference, all others as numbers.
#include <cstring>
#include <set>

#include "fuzz/mutate.h"

namespace minnow::fuzz {
namespace {

constexpr size_t kMostObjects = 20000;

/// The positions of a file's objects.
struct Objects {
  std::vector<size_t> vtable_entries;  // of 16 bits: where a field lies in its table
  std::vector<size_t> numbers;         // fields that are no references
  std::vector<size_t> table_refs, vector_refs;
  std::vector<size_t> tables, vectors;
};

class Walker {
 public:
  Walker(std::string_view bytes, Objects& objects) : bytes_(bytes), objects_(objects) {}

  void root(size_t at) {
    if (const auto target = reference(at); target && is_table(target)) {
      objects_.table_refs.push_back(at);
      table(target);
    }
  }

 private:
  template <class T>
  T read(size_t at) const {
    T value{};
    if (at + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  /// Where the reference at `at` leads; 0 if it cannot be one.
  size_t reference(size_t at) const {
    const auto offset = read<uint32_t>(at);
    return offset >= 4 && at + 4 <= bytes_.size() && offset < bytes_.size() - at ? at + offset : 0;
  }
  size_t vtable_of(size_t at) const { return at - static_cast<size_t>(static_cast<int64_t>(read<int32_t>(at))); }
  bool is_table(size_t at) const {
    if (at % 4 || at + 4 > bytes_.size()) return false;
    const size_t vtable = vtable_of(at);
    if (vtable % 2 || vtable >= bytes_.size() || vtable + 4 > bytes_.size()) return false;
    const size_t size = read<uint16_t>(vtable), table_size = read<uint16_t>(vtable + 2);
    if (size < 4 || size % 2 || vtable + size > bytes_.size() || table_size < 4 || at + table_size > bytes_.size()) return false;
    for (size_t entry = vtable + 4; entry < vtable + size; entry += 2)
      if (read<uint16_t>(entry) >= table_size) return false;
    return true;
  }
  bool is_vector(size_t at) const { return at % 4 == 0 && at + 4 <= bytes_.size() && read<uint32_t>(at) <= bytes_.size() - at - 4; }

  void field(size_t at) {
    const size_t target = reference(at);
    if (target && is_table(target)) {
      objects_.table_refs.push_back(at);
      table(target);
    } else if (target && is_vector(target)) {
      objects_.vector_refs.push_back(at);
      vector(target);
    } else {
      objects_.numbers.push_back(at);
    }
  }
  void table(size_t at) {
    if (!seen_.insert(at).second || seen_.size() > kMostObjects) return;
    objects_.tables.push_back(at);
    const size_t vtable = vtable_of(at), size = read<uint16_t>(vtable);
    for (size_t entry = vtable + 4; entry < vtable + size; entry += 2) {
      objects_.vtable_entries.push_back(entry);
      if (const size_t place = read<uint16_t>(entry)) field(at + place);
    }
  }
  void vector(size_t at) {
    if (!seen_.insert(at).second || seen_.size() > kMostObjects) return;
    objects_.vectors.push_back(at);
    const size_t count = read<uint32_t>(at);
    if (count > 4096 || at + 4 + 4 * count > bytes_.size()) return;
    for (size_t i = 0; i < count; ++i) {
      const size_t target = reference(at + 4 + 4 * i);
      if (!target || !is_table(target)) break;
      objects_.table_refs.push_back(at + 4 + 4 * i);
      table(target);
    }
  }

  std::string_view bytes_;
  Objects& objects_;
  std::set<size_t> seen_;
};

template <class T>
void put(std::string& bytes, size_t at, T value, size_t size = sizeof(T)) {
  if (at < bytes.size()) std::memcpy(bytes.data() + at, &value, std::min(size, bytes.size() - at));
}

size_t any(const std::vector<size_t>& list, Random& random) { return list[random.below(list.size())]; }

/// Makes a reference lead to another object of that kind; references lead forward only.
void redirect(std::string& bytes, const std::vector<size_t>& references, const std::vector<size_t>& targets, Random& random) {
  if (references.empty()) return;
  const size_t at = any(references, random);
  for (size_t attempt = 0; attempt < 8; ++attempt)
    if (const size_t target = any(targets, random); target > at + 4) return put(bytes, at, static_cast<uint32_t>(target - at));
}

void change_once(std::string& bytes, Random& random, size_t begin) {
  Objects objects;
  Walker(bytes, objects).root(begin);
  switch (random.below(8)) {
    case 0:  // the field becomes absent in all tables of that form, or gets the position of another
      if (!objects.vtable_entries.empty()) {
        const size_t entry = any(objects.vtable_entries, random);
        put(bytes, entry, static_cast<uint16_t>(random.one_in(2) ? 0 : 4 + 4 * random.below(8)));
      }
      break;
    case 1:
      redirect(bytes, objects.table_refs, objects.tables, random);
      break;
    case 2:
      redirect(bytes, objects.vector_refs, objects.vectors, random);
      break;
    case 3:
      if (!objects.vectors.empty()) {
        const size_t at = any(objects.vectors, random);
        uint32_t count = 0;
        std::memcpy(&count, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
        put(bytes, at,
            random.one_in(8) ? static_cast<uint32_t>(interesting_integer(random)) : count - 1 - static_cast<uint32_t>(random.below(2)));
      }
      break;
    case 4:
    case 5:
      if (!objects.vectors.empty()) {  // an element: of a shape, a list of indices, a name, weights
        const size_t at = any(objects.vectors, random);
        uint32_t count = 0;
        std::memcpy(&count, bytes.data() + at, std::min<size_t>(4, bytes.size() - at));
        const size_t place = at + 4 + 4 * random.below(std::min<size_t>(count, 64));
        if (random.one_in(3))
          put(bytes, place, interesting_float(random));
        else
          put(bytes, place, interesting_integer(random), random.one_in(4) ? 1 : 4);
      }
      break;
    default:
      if (!objects.numbers.empty()) {
        const size_t at = any(objects.numbers, random);
        if (random.one_in(6))
          put(bytes, at, interesting_float(random));
        else if (random.one_in(2))
          put(bytes, at, static_cast<uint8_t>(random.below(256)));
        else
          put(bytes, at, interesting_integer(random), size_t{1} << random.below(3));
      }
  }
}

}  // namespace

std::string mutate_flatbuffer(std::string bytes, Random& random, size_t begin) {
  if (bytes.size() < begin + 8 || random.one_in(32)) return mutate_bytes(std::move(bytes), random);
  // Most single changes are refused early; half of the files have one, so that more of them reach passes and kernels.
  const size_t changes = random.one_in(2) ? 1 : 1 + random.below(4);
  for (size_t change = 0; change < changes; ++change) change_once(bytes, random, begin);
  return bytes;
}

}  // namespace minnow::fuzz
