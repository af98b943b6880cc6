// SPDX-License-Identifier: Apache-2.0
// Linux, Android and the BSD family.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/os.h"

namespace minnow::os {
namespace {

struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string reason() { return std::strerror(errno); }

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

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path) {
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) throw IoError("{}: cannot be opened: {}", path, reason());
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) throw IoError("{}: cannot be examined: {}", path, reason());
  if (!S_ISREG(info.st_mode)) throw IoError("{}: is not a regular file", path);
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->size_ = static_cast<size_t>(info.st_size);
  if (mapped->size_) {
    void* data = ::mmap(nullptr, mapped->size_, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) throw IoError("{}: cannot be mapped: {}", path, reason());
    mapped->data_ = data;
  }
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<void*>(data_), size_);
}

void write_file_atomically(const std::string& path, const std::function<void(const ByteSink&)>& write) {
  std::string temporary = path + ".XXXXXX";
  FileDescriptor file{::mkstemp(temporary.data())};
  if (file.fd < 0) throw IoError("{}: cannot be written: {}", path, reason());
  try {
    write([&](std::span<const std::byte> piece) {
      const char* data = reinterpret_cast<const char*>(piece.data());
      for (size_t left = piece.size(); left;) {
        const ssize_t done = ::write(file.fd, data, left);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) throw IoError("{}: cannot be written: {}", path, reason());
        data += done, left -= static_cast<size_t>(done);
      }
    });
    const mode_t mask = ::umask(0);  // mkstemp makes private files; give this one the mode an ordinary new file has
    ::umask(mask);
    ::fchmod(file.fd, 0666 & ~mask);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw IoError("{}: cannot be replaced: {}", path, reason());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
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
  return pages > 0 && size > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(size) : size_t{1} << 30;
}

size_t peak_resident_bytes() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

int available_cores() {
#if defined(__linux__)
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  return cores > 0 ? static_cast<int>(cores) : 1;
}

void after_fork_in_child(void (*handler)()) { ::pthread_atfork(nullptr, nullptr, handler); }

SharedLibrary::SharedLibrary(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) throw IoError("{}: cannot be loaded: {}", path, ::dlerror());
}
SharedLibrary::~SharedLibrary() {
  if (handle_) ::dlclose(handle_);
}
void* SharedLibrary::symbol(const char* name) const noexcept { return ::dlsym(handle_, name); }

}  // namespace minnow::os
