// SPDX-License-Identifier: Apache-2.0
// Everything that asks the operating system: files, mapped memory, shared libraries, the machine. Implemented in os_*.cpp only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace minnow::os {

/// A file mapped for reading. The bytes stay valid for as long as the object lives.
class MappedFile {
 public:
  /// Throws IoError with the path and the system's reason; an empty file gives an empty span.
  static std::shared_ptr<const MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(data_), size_}; }
  /// All of it will be read soon: the system may begin to, while something else is computed. Only a wish.
  void read_ahead() const noexcept;

 private:
  MappedFile() = default;
  const void* data_ = nullptr;
  size_t size_ = 0;
};

/// A file that gets its name when it is complete. On Linux with most file systems it has no name until publish(), so a killed process
/// leaves nothing behind. Elsewhere it is "PATH.minnow-XXXXXX" until then. A killed process leaves that behind, and the next NewFile of
/// the path removes it. If the path is neither a file nor a folder (/dev/stdout), it is written directly.
class NewFile {
 public:
  explicit NewFile(std::string path);  // throws IoError
  ~NewFile();                          // without publish(): the path is as it was before
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  /// The system's descriptor, for writing. This object closes it.
  int descriptor() const noexcept { return fd_; }
  void write(std::span<const std::byte> piece);
  /// Replaces the file of that name.
  void publish();

 private:
  std::string path_, temporary_;  // temporary_: empty if the file has no name
  int fd_ = -1;
  bool is_direct_ = false;
};

/// Throws InvalidArgument if `path` is a non-empty file that does not begin with `magic`, because the user may have named a model as the
/// place of a cache. `what`: the expected kind of file, such as "a weight cache".
void check_replaceable(const std::string& path, std::string_view magic, std::string_view what);

/// Writes a NewFile. `write` gets a sink for consecutive pieces. Throws IoError; then the destination is as it was before.
using ByteSink = std::function<void(std::span<const std::byte>)>;
void write_file_atomically(const std::string& path, const std::function<void(const ByteSink&)>& write);

bool file_exists(const std::string& path);
/// The path without "..", links and the like, for checks that a file lies inside a folder. Empty if it does not exist.
std::string canonical_path(const std::string& path);

/// Sizes in bytes of one core's L1 data and L2 caches and of the last-level cache; typical values if the system does not report them.
struct CacheSizes {
  size_t l1 = 32 << 10, l2 = 512 << 10, l3 = 4 << 20;
};
CacheSizes cache_sizes();
size_t physical_memory_bytes();
/// Bytes of this process that are in memory now, and their peak; 0 if the system does not report them.
size_t resident_bytes();
size_t peak_resident_bytes();
/// Releases the memory of bytes of a MappedFile (whole pages only; they are read again when touched). Does nothing for other
/// memory.
void release_mapped(const void* data, size_t bytes) noexcept;
/// Gives whole pages of allocated memory back to the system until they are touched again; what they hold is lost.
void release_unused(void* memory, size_t bytes) noexcept;
/// Gives freed memory back that the allocator keeps, where it can.
void release_freed() noexcept;
/// Asks for pages of kHugePage bytes behind [memory, memory + bytes), which begins at a multiple of that. Only a wish.
void prefer_huge_pages(void* memory, size_t bytes) noexcept;
inline constexpr size_t kHugePage = 2 << 20;
/// ARM's instructions beyond NEON that this processor has, as far as the system tells.
struct ArmFeatures {
  bool dot = false;   // sums of four products of bytes (FEAT_DotProd)
  bool f16 = false;   // arithmetic in f16 (FEAT_FP16)
  bool bf16 = false;  // products of bf16 (FEAT_BF16)
  bool i8mm = false;  // products of matrices of bytes (FEAT_I8MM)
};
const ArmFeatures& arm_features() noexcept;
/// Whether this processor multiplies bytes and bf16 in AMX's tile registers, and the system lets this process use them, for which it is
/// asked.
bool may_use_amx() noexcept;
/// Whether this processor multiplies and adds bytes in vectors of AVX2 (AVX-VNNI).
bool has_avx_vnni() noexcept;
/// Number of cores that this process may use.
int available_cores();
/// Has `handler` called in the child after every fork of this process.
void after_fork_in_child(void (*handler)());

/// A shared library, open until the object dies.
class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& path);  // throws IoError
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;
  void* symbol(const char* name) const noexcept;  // null if it is not there

 private:
  void* handle_ = nullptr;
};

}  // namespace minnow::os
