// SPDX-License-Identifier: Apache-2.0
// Models in the shared library of another build, by a program that is linked with it (library_runner.c), emulated where need be.
#pragma once
#include <stdexcept>
#include <string>

#include "conformance/executor.h"

namespace minnow::test {

/// The library does not offer what a case needs: the operator is not part of its build, or the C API has no such value.
class NotOffered : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A process of that program, which runs one model after the other. A process that dies is started anew for the next model.
class LibraryProcess {
 public:
  /// `command`: the program with its emulator and their arguments, separated by spaces.
  explicit LibraryProcess(const std::string& command);
  ~LibraryProcess();
  LibraryProcess(const LibraryProcess&) = delete;
  LibraryProcess& operator=(const LibraryProcess&) = delete;

  /// Loads the graph there. Throws NotOffered, and Error with the library's sentence. The result serves until the next call of load.
  Run load(const Graph& graph);

 private:
  void start();
  void stop() noexcept;
  std::string died();
  void give(const void* from, size_t bytes);
  void take(void* to, size_t bytes);
  uint64_t take_size();
  std::string take_answer();  // empty: success
  std::vector<Datum> run(std::span<const Datum> inputs);

  std::vector<std::string> words_;
  int process_ = 0, to_ = -1, from_ = -1;
};

}  // namespace minnow::test
