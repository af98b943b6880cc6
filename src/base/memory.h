// SPDX-License-Identifier: Apache-2.0
// Aligned memory, the limit for every large allocation, and accounts of the memory that a session's runs hold.
#pragma once
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <vector>

namespace minnow {

inline constexpr size_t kAlignment = 64;  // a cache line, and the widest vector
inline constexpr size_t align_up(size_t bytes, size_t alignment = kAlignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// Counts the memory that one session or one conversion holds, and has its limit. May be charged and refunded from many threads.
class MemoryAccount {
 public:
  /// `limit` in bytes; 0: the process's limit, memory_limit(). `per_file_byte`: the limit grows by so many bytes for each byte of the files
  /// that are read on this account (see count_file_bytes), up to memory_limit().
  explicit MemoryAccount(size_t limit, size_t per_file_byte = 0) : limit_(limit), per_file_byte_(per_file_byte) {}
  /// Throws OutOfMemory if `bytes` more would be over the limit; then nothing is charged.
  void charge(size_t bytes);
  void refund(size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  size_t limit() const noexcept;
  void count_file_bytes(size_t bytes) noexcept;

 private:
  const size_t limit_, per_file_byte_;
  std::atomic<size_t> file_bytes_{0};
  std::atomic<size_t> used_{0};
};

/// While this object lives, allocations of its thread (allocate_aligned, tensors, Numbers) are charged to an account. They are refunded
/// when they are freed, even after the object is gone.
class ChargeTo {
 public:
  explicit ChargeTo(const std::shared_ptr<MemoryAccount>& account) noexcept;
  explicit ChargeTo(const std::shared_ptr<MemoryAccount>&&) = delete;  // the account is not copied: it outlives this object
  ChargeTo() noexcept;                                                 // to nobody
  ~ChargeTo();
  ChargeTo(const ChargeTo&) = delete;
  ChargeTo& operator=(const ChargeTo&) = delete;

 private:
  const std::shared_ptr<MemoryAccount>* before_;
};
/// The account that this thread's allocations are charged to, or null.
const std::shared_ptr<MemoryAccount>& current_account() noexcept;

/// Tells the account of this thread that a file of so many bytes is read.
void count_file_bytes(size_t bytes) noexcept;
/// Charges this thread's account, while it lives, for bytes that something else allocates: a vector that is sized by a number in a file.
class Charge {
 public:
  explicit Charge(size_t bytes);  // throws OutOfMemory
  ~Charge();
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  const std::shared_ptr<MemoryAccount> account_;
  const size_t bytes_;
};

/// Memory from operator new, charged to an account unless that is null. Throws OutOfMemory, std::bad_alloc.
void* allocate_counted(MemoryAccount* account, size_t bytes);
void free_counted(MemoryAccount* account, void* memory, size_t bytes) noexcept;

/// Elements that a computation works on, charged like tensors. Must not outlive the account, so that it is for the inside of a run.
template <class T>
struct CountedAllocator {
  using value_type = T;
  MemoryAccount* account = current_account().get();
  CountedAllocator() = default;
  template <class U>
  CountedAllocator(const CountedAllocator<U>& other) noexcept : account(other.account) {}
  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_counted(account, count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { free_counted(account, memory, count * sizeof(T)); }
  friend bool operator==(const CountedAllocator& a, const CountedAllocator& b) noexcept { return a.account == b.account; }
};
template <class T>
using Numbers = std::vector<T, CountedAllocator<T>>;

struct AlignedFree {
  std::shared_ptr<MemoryAccount> account;  // that it was charged to
  size_t bytes = 0;
  void operator()(void* memory) const noexcept;
};
using AlignedMemory = std::unique_ptr<void, AlignedFree>;

/// Uninitialized memory aligned to kAlignment, never null. Throws OutOfMemory if a limit or the system refuses.
AlignedMemory allocate_aligned(size_t bytes);
std::shared_ptr<void> allocate_shared(size_t bytes);

/// Throws OutOfMemory if `bytes` is more than the memory limit.
void check_memory(size_t bytes, const char* what);
/// The limit on one allocation in bytes; 0 means the machine's physical memory.
void set_memory_limit(size_t bytes) noexcept;
size_t memory_limit() noexcept;

}  // namespace minnow
