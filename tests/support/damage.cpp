// SPDX-License-Identifier: Apache-2.0
#include "support/damage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "base/error.h"
#include "base/memory.h"
#include "importers/formats.h"
#include "support/series.h"

namespace minnow::test {
namespace {

bool is_large(const std::string& file) { return file.size() > 100000; }

/// No single allocation beyond a small multiple of the file.
struct Limit {
  Limit(size_t file, size_t multiple) : before(memory_limit()) { set_memory_limit(file * multiple + (size_t{64} << 20)); }
  ~Limit() { set_memory_limit(before); }
  size_t before;
};

void expect_error_or_graph(std::string_view bytes, const Reader& read) {
  try {
    read(std::as_bytes(std::span(bytes.data(), bytes.size())));
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal) << error.what();
  }
}

}  // namespace

Reader reader_of(std::string_view format) {
  for (const Format& row : import_formats())
    if (row.name == format)
      return [&row](std::span<const std::byte> bytes) {
        ImportOptions options;
        options.warn = [](std::string_view) {};
        row.import_memory(bytes, nullptr, options);
      };
  throw InvalidArgument("there is no format {}", format);
}

void expect_graphs(const std::vector<std::string>& files, std::string_view format) {
  const Reader read = reader_of(format);
  for (const std::string& file : files) {
    const auto bytes = std::as_bytes(std::span(file.data(), file.size()));
    EXPECT_NO_THROW(read(bytes));
    const Format* recognized = recognize_format(bytes);
    ASSERT_TRUE(recognized);
    EXPECT_EQ(recognized->name, format);
  }
}

std::vector<std::string> contents_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> all;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (file) all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

void expect_errors_or_graphs_of_parts(const std::vector<std::string>& files, const Damage& damage, const Reader& read) {
  for (const std::string& whole : files) {
    const Limit limit(whole.size(), damage.memory);
    const size_t step = std::max<size_t>(1, whole.size() / (is_large(whole) ? damage.large_truncations : damage.truncations)) * one_in();
    // Each in memory of its own size, so that a sanitizer sees what is read beyond the end.
    for (size_t size = 0; size < whole.size(); size += step) expect_error_or_graph(std::string(whole, 0, size), read);
  }
}

void expect_errors_or_graphs_of_changed(const std::vector<std::string>& files, const Damage& damage, const Reader& read) {
  for (const std::string& whole : files) {
    if (whole.size() < 2) continue;
    const Limit limit(whole.size(), damage.memory);
    std::mt19937 random(7);
    std::string damaged = whole;
    // Structure lies at both ends of a file, weights between; three flips of four hit the ends.
    const size_t edge = std::min<size_t>(whole.size() / 2, 20000);
    for (size_t i = 0; i < (is_large(whole) ? damage.large_flips : damage.flips) / one_in(); ++i) {
      const size_t at = i % 4 == 0 ? random() % whole.size() : i % 4 == 1 ? random() % edge : whole.size() - 1 - random() % edge;
      const char old = damaged[at];
      damaged[at] = static_cast<char>(random());
      expect_error_or_graph(damaged, read);
      if (i % 3) damaged[at] = old;  // some stay, so that errors meet errors
      if (i % 100 == 99) damaged = whole;
    }
  }
}

}  // namespace minnow::test
