// SPDX-License-Identifier: Apache-2.0
// The four macros come from the build, for this file alone: other objects do not depend on where the repository lies.
#include "support/paths.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace minnow::test {
namespace {

std::filesystem::path from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

struct Scratch {
  Scratch() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  const std::filesystem::path folder = std::filesystem::path(MINNOW_BINARY_DIR) / "scratch" / std::to_string(getpid());
};

}  // namespace

std::filesystem::path source_dir() { return from_environment("MINNOW_SOURCE_DIR", MINNOW_SOURCE_DIR); }
std::filesystem::path binary_dir() { return MINNOW_BINARY_DIR; }

std::filesystem::path scratch_dir() {
  static const Scratch scratch;
  return scratch.folder;
}

std::filesystem::path models_dir() { return from_environment("MINNOW_MODELS_DIR", MINNOW_MODELS_DIR); }

std::filesystem::path corpus_dir() { return from_environment("MINNOW_CORPUS", MINNOW_CORPUS); }

}  // namespace minnow::test
