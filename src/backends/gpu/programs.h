// SPDX-License-Identifier: Apache-2.0
// The compiled programs of a device: compiled once in a process, on several threads, and kept in a file if the user names one.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/entry_file.h"

namespace minnow::gpu {

/// A program in the driver's hands.
class Program {
 public:
  virtual ~Program() = default;
  /// Compiler::load() makes the same program of it; empty: the driver does not tell.
  virtual std::string binary() const = 0;
};

/// How a driver makes programs. Both functions are called from several threads.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Throws Error, with the driver's messages, if the source does not compile.
  virtual std::unique_ptr<Program> compile(const std::string& source) = 0;
  /// Null if the driver refuses the binary.
  virtual std::unique_ptr<Program> load(std::span<const std::byte> binary) = 0;
};

class Programs {
 public:
  /// `target`: all that a program depends on besides its source: the device, the driver's version, options, the prefix of sources.
  /// `library`: programs that need not be compiled, whatever file a session names; may be null.
  Programs(Compiler& compiler, std::string target, EntryFile* library = nullptr)
      : compiler_(compiler), target_(std::move(target)), library_(library) {}

  class Entry {
   public:
    /// Null until compile() has made it.
    const Program* program() const noexcept { return program_.get(); }

   private:
    friend class Programs;
    std::string source_;
    std::mutex making_;
    std::unique_ptr<Program> program_;
  };
  /// The place of the program of a source; the reference stays valid.
  Entry& entry(const std::string& source);
  /// Makes those of these programs that are not there, on up to `threads` threads. `file` may be null; a program that it has undamaged is
  /// not compiled, others are added to it. Throws the error of the first program that does not compile.
  void make(std::vector<Entry*> entries, EntryFile* file, int threads);

 private:
  void make(Entry& entry, EntryFile* file);
  Compiler& compiler_;
  const std::string target_;
  EntryFile* const library_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;
};

/// The file of a session's option kernel_cache; null if `file` is empty. Throws InvalidArgument for a file of another kind.
std::unique_ptr<EntryFile> open_kernel_cache(const std::string& file);
/// The same of such a file's bytes, which stay; null if there are none.
std::unique_ptr<EntryFile> kernel_cache_in_memory(std::span<const std::byte> bytes, std::string name);

/// The error of a kernel that a driver does not compile: one sentence with the first line of its messages that names an error. All
/// messages and the source go to the log hook if the variable MINNOW_KERNEL_SOURCE is set.
[[noreturn]] void throw_not_compiled(std::string_view driver, std::string_view messages, std::string_view source);

/// A digest of long parts of Programs' target.
std::string digest_text(std::string_view text);

}  // namespace minnow::gpu
