// SPDX-License-Identifier: Apache-2.0
#include "base/memory.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/no_memory.h"
#include "base/os.h"
#include "base/saturating.h"

namespace minnow {
namespace {
std::atomic<size_t> g_limit{0};
const std::shared_ptr<MemoryAccount> kNobody;
thread_local const std::shared_ptr<MemoryAccount>* t_account = &kNobody;
}  // namespace

size_t MemoryAccount::limit() const noexcept {
  if (!limit_) return memory_limit();
  if (!per_file_byte_) return limit_;
  return std::min(sum_of({limit_, product_of({per_file_byte_, file_bytes_.load(std::memory_order_relaxed)})}), memory_limit());
}

void MemoryAccount::count_file_bytes(size_t bytes) noexcept { file_bytes_.fetch_add(bytes, std::memory_order_relaxed); }

void count_file_bytes(size_t bytes) noexcept {
  if (const auto& account = current_account()) account->count_file_bytes(bytes);
}

Charge::Charge(size_t bytes) : account_(current_account()), bytes_(bytes) {
  if (account_)
    account_->charge(bytes);
  else
    check_memory(bytes, "a table");
}
Charge::~Charge() {
  if (account_) account_->refund(bytes_);
}

void MemoryAccount::charge(size_t bytes) {
  const size_t most = limit();
  size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > most || used > most - bytes) {
      if (per_file_byte_)
        throw out_of_memory(
            "{} bytes are needed beside {} in use, and a conversion of {} bytes of files may take {}; a larger memory limit "
            "(convert --memory-limit) allows more",
            bytes, used, file_bytes_.load(), most);
      throw out_of_memory("{} bytes are needed beside {} in use, the memory limit is {}", bytes, used, most);
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

void* allocate_counted(MemoryAccount* account, size_t bytes) {
  if (account) account->charge(bytes);
  try {
    return ::operator new(bytes);
  } catch (...) {
    if (account) account->refund(bytes);
    throw;
  }
}

void free_counted(MemoryAccount* account, void* memory, size_t bytes) noexcept {
  ::operator delete(memory);  // clang 14 has no form with the size unless it is told to
  if (account) account->refund(bytes);
}

ChargeTo::ChargeTo(const std::shared_ptr<MemoryAccount>& account) noexcept : before_(t_account) { t_account = &account; }
ChargeTo::ChargeTo() noexcept : ChargeTo(kNobody) {}
ChargeTo::~ChargeTo() { t_account = before_; }
const std::shared_ptr<MemoryAccount>& current_account() noexcept { return *t_account; }

void AlignedFree::operator()(void* memory) const noexcept {
  std::free(memory);
  if (account) account->refund(bytes);
}

void set_memory_limit(size_t bytes) noexcept { g_limit.store(bytes, std::memory_order_relaxed); }

size_t memory_limit() noexcept {
  const size_t limit = g_limit.load(std::memory_order_relaxed);
  static const size_t physical = os::physical_memory_bytes();
  return limit ? limit : physical;
}

void check_memory(size_t bytes, const char* what) {
  if (bytes > memory_limit()) throw out_of_memory("{} of {} bytes is over the memory limit of {} bytes", what, bytes, memory_limit());
}

AlignedMemory allocate_aligned(size_t bytes) {
  check_memory(bytes, "an allocation");
  AlignedFree free{current_account(), bytes};
  if (free.account) free.account->charge(bytes);
  // Weights of tens of megabytes that are read once a run cost more in address translation than in bandwidth where pages are small: 3x3
  // layers of 512 channels by Winograd took 1.35 ms with pages of 4 KiB, 1.12 ms with pages of 2 MiB (virtual machine on Zen 4).
  const bool large = bytes >= os::kHugePage;
  const size_t alignment = large ? os::kHugePage : kAlignment;
  void* memory = std::aligned_alloc(alignment, align_up(bytes ? bytes : 1, alignment));
  if (!memory) {
    if (free.account) free.account->refund(bytes);
    throw out_of_memory("the system refused {} bytes of memory", bytes);
  }
  if (large) os::prefer_huge_pages(memory, bytes / os::kHugePage * os::kHugePage);  // the rest would take a whole one
  return AlignedMemory(memory, std::move(free));
}

std::shared_ptr<void> allocate_shared(size_t bytes) try { return std::shared_ptr<void>(allocate_aligned(bytes)); } catch (...) {
  throw_as_error();
}

}  // namespace minnow
