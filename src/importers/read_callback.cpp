// SPDX-License-Identifier: Apache-2.0
#include "importers/read_callback.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/memory.h"

namespace minnow {

std::pair<std::shared_ptr<const void>, size_t> read_all(const ReadCallback& read, const std::string& name, uint64_t offset,
                                                        uint64_t limit) {
  size_t capacity = static_cast<size_t>(std::min<uint64_t>(limit, size_t{1} << 20)), size = 0;
  std::shared_ptr<void> memory = allocate_shared(std::max<size_t>(capacity, 1));
  while (size < limit) {
    if (size == capacity) {
      capacity = static_cast<size_t>(std::min<uint64_t>(limit, uint64_t{capacity} * 2));
      check_memory(capacity, "a file that is read");
      std::shared_ptr<void> larger = allocate_shared(capacity);
      std::memcpy(larger.get(), memory.get(), size);
      memory = std::move(larger);
    }
    const size_t asked = capacity - size;
    const size_t got = read(name, offset + size, static_cast<char*>(memory.get()) + size, asked);
    if (got > asked) throw InvalidArgument("the read callback says that it gave {} bytes where {} were asked for", got, asked);
    size += got;
    if (got < asked) break;
  }
  return {std::move(memory), size};
}

}  // namespace minnow
