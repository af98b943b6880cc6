// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "importers/flat.h"
#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/importer.h"

namespace minnow::tflite {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

/// A zip archive of one stored file behind `front` bytes of something else, whose offsets count from `front` or from 0.
std::string archive(const std::string& front, const std::string& name, const std::string& data, bool from_zero, int method = 0) {
  const std::string local = number(0x04034b50, 4) + std::string(14, '\0') + number(data.size(), 4) + number(data.size(), 4) +
                            number(name.size(), 2) + number(0, 2) + name + data;
  const size_t base = from_zero ? front.size() : 0;
  const std::string central = number(0x02014b50, 4) + std::string(6, '\0') + number(static_cast<uint64_t>(method), 2) +
                              std::string(8, '\0') + number(data.size(), 4) + number(data.size(), 4) + number(name.size(), 2) +
                              std::string(12, '\0') + number(base, 4) + name;
  return front + local + central + number(0x06054b50, 4) + std::string(6, '\0') + number(1, 2) + number(central.size(), 4) +
         number(base + local.size(), 4) + number(0, 2);
}

TEST(TfliteLabels, of_an_archive_behind_the_model) {
  for (const bool from_zero : {false, true}) {
    const std::string file = archive("a model, say", "labels.txt", "cat\r\ndog\n\nbird\n", from_zero);
    EXPECT_THAT(read_labels(as_bytes(file)), ElementsAre("cat", "dog", "", "bird"));
  }
}

TEST(TfliteLabels, none_where_there_is_no_such_file) {
  EXPECT_THAT(read_labels(as_bytes("just a model")), IsEmpty());
  EXPECT_THAT(read_labels(as_bytes(archive("model", "readme.txt", "cat\n", true))), IsEmpty());
  EXPECT_THAT(read_labels(as_bytes(archive("model", "labels.txt", "cat\n", true, 8))), IsEmpty());  // deflated
  const std::string whole = archive("model", "labels.txt", "cat\ndog\n", true);
  for (size_t size = 0; size < whole.size(); ++size) read_labels(as_bytes(whole.substr(0, size)));
}

TEST(TfliteFlexbuffer, a_map_of_numbers) {
  // {"a": 5, "b": 0.5f}: keys, their offsets, values, types; one byte wide but for the float.
  const std::string keys = std::string("a\0b\0", 4);
  std::string bytes = keys;
  while (bytes.size() % 4) bytes += '\0';
  const size_t at_keys = bytes.size();
  bytes += number(2, 4) + number(at_keys + 4, 4) + number(at_keys + 8 - 2, 4);  // length, then how far back each key lies
  const size_t values = bytes.size();
  bytes += number(values - (at_keys + 4), 4) + number(4, 4) + number(2, 4);  // where the keys are, how wide, length
  bytes += number(5, 4) + number(0x3f000000, 4);
  bytes += static_cast<char>(1 << 2 | 2);
  bytes += static_cast<char>(3 << 2 | 2);
  bytes += number(bytes.size() - (values + 12), 1);
  bytes += static_cast<char>(9 << 2 | 2);
  bytes += static_cast<char>(1);
  const auto map = read_flex_map(as_bytes(bytes));
  EXPECT_EQ(map.at("a"), FlexValue(int64_t{5}));
  EXPECT_EQ(map.at("b"), FlexValue(0.5));
  for (size_t size = 0; size < bytes.size(); ++size) {
    try {
      read_flex_map(as_bytes(bytes.substr(0, size)));
    } catch (const Malformed&) {}
  }
}

}  // namespace
}  // namespace minnow::tflite
