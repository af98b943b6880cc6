// SPDX-License-Identifier: Apache-2.0
// Linux, Android, the BSD family with Apple's systems, and Emscripten.
#if !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64  // so that systems of 32 bits tell the size of large files
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "base/error.h"
#include "base/memory.h"
#include "base/os.h"
#include "base/processor.h"
#include "base/watch.h"

namespace minnow::os {
namespace {

struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// Every MappedFile: address and size. Never destroyed, as a MappedFile may live longer than static objects.
std::mutex g_mappings_mutex;
std::map<uintptr_t, size_t>& mappings() {
  static auto* const map = new std::map<uintptr_t, size_t>;
  return *map;
}

// A line of /proc/self/status in bytes; 0 if it is missing. Unlike the peak of getrusage, its peak does not include the process that
// started this one.
size_t status_bytes(const char* key) {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (!file) return 0;
  char line[128];
  size_t kilobytes = 0;
  const size_t length = std::strlen(key);
  while (std::fgets(line, sizeof line, file))
    if (std::strncmp(line, key, length) == 0 && line[length] == ':') kilobytes = std::strtoul(line + length + 1, nullptr, 10);
  std::fclose(file);
  return kilobytes * 1024;
}

size_t read_cache_size(int index, char& type, int& level) {
  const std::string base = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
  const auto read = [&](const char* name, const char* pattern, auto*... out) {
    std::FILE* file = std::fopen((base + name).c_str(), "r");
    if (!file) return false;
    const bool good = std::fscanf(file, pattern, out...) == int(sizeof...(out));
    std::fclose(file);
    return good;
  };
  char kind[16] = {};
  unsigned long size = 0;
  char unit = 'K';
  if (!read("level", "%d", &level) || !read("type", "%15s", kind) || !read("size", "%lu%c", &size, &unit)) return 0;
  type = kind[0];
  return size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0);
}

// The number of cores whose time a container may use; a large number without such a limit.
int quota_of_cores() {
  static const int quota = [] {
    std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "r");
    if (!file) return INT_MAX;
    double time = 0, period = 0;
    const bool limited = std::fscanf(file, "%lf %lf", &time, &period) == 2 && time > 0 && period > 0;  // "max 100000": no limit
    std::fclose(file);
    return limited ? std::max(1, static_cast<int>(std::min(time / period + 0.5, 4096.0))) : INT_MAX;
  }();
  return quota;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe that nobody writes would be waited for
  if (file.fd < 0) throw file_error(path, "cannot be opened", errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) throw file_error(path, "cannot be examined", errno);
  if (S_ISDIR(info.st_mode)) throw file_error(path, "cannot be read", EISDIR);
  if (!S_ISREG(info.st_mode)) throw IoError("{}: is not a regular file", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (static_cast<uint64_t>(info.st_size) > PTRDIFF_MAX)
    throw IoError("{}: {} bytes are more than a process of {} bits can map", path, info.st_size, 8 * sizeof(void*));
  mapped->size_ = static_cast<size_t>(info.st_size);
  if (mapped->size_) {
    void* data = ::mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) throw file_error(path, "cannot be mapped", errno);
    mapped->data_ = data;
    const std::lock_guard lock(g_mappings_mutex);
    mappings().emplace(reinterpret_cast<uintptr_t>(data), mapped->size_);
  }
  count_file_bytes(mapped->size_);
  return mapped;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  const std::lock_guard lock(g_mappings_mutex);  // until it is unmapped: its addresses may be given to the next mapping at once
  mappings().erase(reinterpret_cast<uintptr_t>(data_));
  ::munmap(const_cast<void*>(data_), size_);
}

void MappedFile::read_ahead() const noexcept {
  if (data_) ::madvise(const_cast<void*>(data_), size_, MADV_WILLNEED);
}

void release_mapped(const void* data, size_t bytes) noexcept {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  const std::lock_guard lock(g_mappings_mutex);
  auto found = mappings().upper_bound(begin);
  if (found == mappings().begin()) return;
  --found;
  if (end > found->first + found->second) return;
  // Its first page may hold the end of a neighbour that is needed, the last one the beginning: both are read again cheaply.
  const uintptr_t first = begin / page * page, last = std::min((end + page - 1) / page * page, found->first + found->second);
  ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void release_unused(void* memory, size_t bytes) noexcept {
  const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + page - 1) / page * page, last = (begin + bytes) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

void release_freed() noexcept {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

namespace {

// A file that is being written is named PATH.minnow-XXXXXX, and its writer holds a lock on it.
constexpr std::string_view kUnfinished = ".minnow-";
constexpr size_t kRandomLetters = 6;

/// Removes what killed writers of that path have left: such names that nobody holds a lock on. Where the file system has no locks, they
/// stay.
void remove_leftovers([[maybe_unused]] const std::string& path) noexcept {
#if !MINNOW_SMALL
  const size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  try {
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(folder.c_str()), ::closedir);
    while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
      const std::string_view found = entry->d_name;
      if (found.size() != name.size() + kUnfinished.size() + kRandomLetters || !found.starts_with(name) ||
          !found.substr(name.size()).starts_with(kUnfinished))
        continue;
      const FileDescriptor file{::openat(::dirfd(listing.get()), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
      struct stat info {};
      if (file.fd >= 0 && ::fstat(file.fd, &info) == 0 && S_ISREG(info.st_mode) && ::flock(file.fd, LOCK_EX | LOCK_NB) == 0)
        ::unlinkat(::dirfd(listing.get()), entry->d_name, 0);
    }
  } catch (const std::bad_alloc&) {  // another time
  }
#endif
}

}  // namespace

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  struct stat info {};
  if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) throw file_error(path_, "cannot be written", EISDIR);
    is_direct_ = true;
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) throw file_error(path_, "cannot be written", errno);
    return;
  }
#ifdef O_TMPFILE
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  if (::access("/proc/self/fd", X_OK) == 0) fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd_ >= 0) return;
#endif
  remove_leftovers(path_);
  for (;;) {
    temporary_ = path_ + std::string(kUnfinished) + std::string(kRandomLetters, 'X');
    fd_ = ::mkstemp(temporary_.data());
    if (fd_ < 0) throw file_error(path_, "cannot be written", errno);
    ::flock(fd_, LOCK_EX | LOCK_NB);
    if (::fstat(fd_, &info) != 0 || info.st_nlink > 0) break;
    ::close(fd_);  // another writer took it for a leftover before it was locked
  }
  const mode_t mask = ::umask(0);  // mkstemp makes private files; give this one the mode an ordinary new file has
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

NewFile::~NewFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::write(std::span<const std::byte> piece) {
  const char* data = reinterpret_cast<const char*>(piece.data());
  for (size_t left = piece.size(); left;) {
    const ssize_t done = ::write(fd_, data, std::min<size_t>(left, size_t{64} << 20));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw file_error(path_, "cannot be written", errno);
    data += done, left -= static_cast<size_t>(done);
    Watch::check();
  }
}

void NewFile::publish() {
  if (is_direct_) return;
#ifdef O_TMPFILE
  if (temporary_.empty()) {
    const std::string own = "/proc/self/fd/" + std::to_string(fd_);
    const auto link_to = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
    };
    if (link_to(path_)) return;
    // A link replaces nothing: another name first, then that is renamed.
    if (errno == EEXIST) remove_leftovers(path_), errno = EEXIST;
    ::flock(fd_, LOCK_EX | LOCK_NB);
    std::random_device random;
    for (int attempt = 0; temporary_.empty() && errno == EEXIST && attempt < 100; ++attempt) {
      constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz012345";
      std::string name = path_ + std::string(kUnfinished);
      for (size_t i = 0; i < kRandomLetters; ++i) name += kLetters[random() % kLetters.size()];
      if (link_to(name)) temporary_ = name;
    }
    if (temporary_.empty()) throw file_error(path_, "cannot be written", errno);
  }
#endif
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw file_error(path_, "cannot be replaced", errno);
  temporary_.clear();
}

void check_replaceable(const std::string& path, std::string_view magic, std::string_view what) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return;
  const FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw file_error(path, "cannot be opened", errno);
  char begin[64];
  const ssize_t count = ::read(file.fd, begin, std::min(sizeof begin, magic.size()));
  if (count < 0) throw file_error(path, "cannot be read", errno);
  if (std::string_view(begin, static_cast<size_t>(count)) != magic.substr(0, static_cast<size_t>(count)))
    throw InvalidArgument("{}: is not {} and is not overwritten; name another file", path, what);
}

void write_file_atomically(const std::string& path, const std::function<void(const ByteSink&)>& write) {
  NewFile file(path);
  write([&](std::span<const std::byte> piece) { file.write(piece); });
  file.publish();
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string canonical_path(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string text = resolved ? resolved : "";
  ::free(resolved);
  return text;
}

CacheSizes cache_sizes() {
  static const CacheSizes sizes = [] {
    CacheSizes found;
    for (int i = 0; i < 8; ++i) {
      char type = 0;
      int level = 0;
      const size_t size = read_cache_size(i, type, level);
      if (!size || type == 'I') continue;
      if (level == 1) found.l1 = size;
      if (level == 2) found.l2 = size;
      if (level == 3) found.l3 = size;
    }
    return found;
  }();
  return sizes;
}

size_t physical_memory_bytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return size_t{1} << 30;
  const uint64_t bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(size);
  return static_cast<size_t>(std::min<uint64_t>(bytes, PTRDIFF_MAX));  // a machine may have more than a process can address
}

size_t resident_bytes() { return status_bytes("VmRSS"); }

size_t peak_resident_bytes() {
  if (const size_t bytes = status_bytes("VmHWM")) return bytes;
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<size_t>(usage.ru_maxrss);
#else
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
#endif
}

void prefer_huge_pages(void* memory, size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

const ArmFeatures& arm_features() noexcept {
  static const ArmFeatures found = [] {
    ArmFeatures features;
#if defined(__aarch64__) && defined(__linux__)
    // HWCAP_ASIMDHP, HWCAP_ASIMDDP, HWCAP2_BF16, HWCAP2_I8MM of the kernel
    constexpr unsigned long kF16 = 1 << 10, kDot = 1 << 20, kBf16 = 1 << 14, kI8mm = 1 << 13;
    features.dot = getauxval(AT_HWCAP) & kDot;
    features.f16 = getauxval(AT_HWCAP) & kF16;
    features.bf16 = getauxval(AT_HWCAP2) & kBf16;
    features.i8mm = getauxval(AT_HWCAP2) & kI8mm;
#elif defined(__aarch64__) && defined(__APPLE__)
    const auto has = [](const char* name) {
      int value = 0;
      size_t size = sizeof value;
      return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
    };
    features.dot = has("hw.optional.arm.FEAT_DotProd");
    features.f16 = has("hw.optional.arm.FEAT_FP16");
    features.bf16 = has("hw.optional.arm.FEAT_BF16");
    features.i8mm = has("hw.optional.arm.FEAT_I8MM");
#endif
    return features;
  }();
  return found;
}

bool may_use_amx() noexcept {
#if defined(__x86_64__) && defined(__linux__)
  static const bool may = [] {
    constexpr unsigned kTiles = 1u << 24, kInt8 = 1u << 25, kBf16 = 1u << 22;  // of leaf 7
    constexpr long kRequest = 0x1023, kTileData = 18;                          // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & kTiles) && (d & kInt8) && (d & kBf16) &&
           ::syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
  }();
  return may;
#else
  return false;
#endif
}

bool has_avx_vnni() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kAvxVnni = 1u << 4;  // of leaf 7, 1
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvxVnni);
#else
  return false;
#endif
}

// "model name" on x86; on ARM, which lacks it, the numbers of implementer and part.
std::string processor_name() {
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (!file) return {};
  char line[256];
  std::string name, parts;
  while (name.empty() && std::fgets(line, sizeof line, file)) {
    const std::string_view text(line);
    const size_t colon = text.find(": ");
    if (colon == text.npos) continue;
    const std::string value(text.substr(colon + 2, text.find_last_not_of("\r\n ") + 1 - std::min(text.size(), colon + 2)));
    if (text.starts_with("model name")) name = value;
    if (parts.size() < 32 && (text.starts_with("CPU implementer") || text.starts_with("CPU part")))
      parts += (parts.empty() ? "" : " ") + value;
  }
  std::fclose(file);
  return name.empty() ? parts : name;
}

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::min(CPU_COUNT(&set), quota_of_cores());
#endif
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return std::min(cores > 0 ? static_cast<int>(cores) : 1, quota_of_cores());
}

void after_fork_in_child(void (*handler)()) { ::pthread_atfork(nullptr, nullptr, handler); }

SharedLibrary::SharedLibrary(const std::string& path) {
  // A name without a folder is a file here, before it is one that the system looks for.
  const bool is_here = path.find('/') == std::string::npos && ::access(path.c_str(), F_OK) == 0;
  handle_ = ::dlopen((is_here ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) return;
  if (path.find('/') != std::string::npos && ::access(path.c_str(), R_OK) != 0) throw file_error(path, "cannot be loaded", errno);
  std::string_view reason = ::dlerror();
  for (const std::string_view said : {std::string_view("./"), std::string_view(path), std::string_view(": ")})
    if (reason.starts_with(said)) reason.remove_prefix(said.size());
  throw IoError("{}: cannot be loaded: {}", path, reason);
}
SharedLibrary::~SharedLibrary() {
  if (handle_) ::dlclose(handle_);
}
void* SharedLibrary::symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

}  // namespace minnow::os
