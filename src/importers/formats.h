// SPDX-License-Identifier: Apache-2.0
// The formats that models are read from: one row each in formats.cpp.
#pragma once
#include <vector>

#include "importers/importer.h"

namespace minnow {

/// An operator of a foreign format that its importer reads.
struct ForeignOperator {
  std::string_view name;
  std::string_view notes;  // a phrase about how it is read and what is left out; may be empty
};

struct Format {
  std::string_view name;
  /// True if `head`, a file's first few kilobytes (all of a short one), looks like it.
  bool (*recognize)(std::span<const std::byte> head);
  /// Reads the files of one model; at least one of them was recognized.
  std::unique_ptr<Graph> (*import_files)(const std::vector<std::string>& paths, const ImportOptions& options);
  /// The same from memory; null if a model is several files.
  std::unique_ptr<Graph> (*import_memory)(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                          const ImportOptions& options);
  /// The same through a callback, for formats whose models refer to other files; null: import_memory gets the bytes read.
  std::unique_ptr<Graph> (*import_read)(const ReadCallback& read, const ImportOptions& options) = nullptr;
  /// The operators that it reads, in the order of its table; null of .minnow files, whose operators are Minnow's own.
  std::vector<ForeignOperator> (*operators)() = nullptr;
  bool has_signatures = false;  // models may have several, and ImportOptions::signature says which is read
};

std::span<const Format> import_formats();
/// The format of a file, recognized from its first bytes; null if there is none.
const Format* recognize_format(std::span<const std::byte> head);

}  // namespace minnow
