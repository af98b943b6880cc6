// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace minnow::test {

/// The root of the repository: for files that lie beside the tests.
std::filesystem::path source_dir();

/// The root of the build folder.
std::filesystem::path binary_dir();

/// An empty folder of this process's own below the build folder, made by the first call and removed at exit.
std::filesystem::path scratch_dir();

/// The path of a file in it.
inline std::string scratch_path(std::string_view name) { return (scratch_dir() / name).string(); }

/// Models unpacked by scripts/fetch_models.py, which says how they are laid out; MINNOW_MODELS_DIR names another folder.
std::filesystem::path models_dir();

/// Reference cases, with manifest.json; MINNOW_CORPUS names another folder. May not exist: then skip, and say so.
std::filesystem::path corpus_dir();

}  // namespace minnow::test
