// SPDX-License-Identifier: Apache-2.0
// Protobuf's text format, read without a schema: names, scalars as written, and messages.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::caffe {

/// A syntax error; the importer adds the file's name.
struct TextError {
  std::string what;
};

class Message {
 public:
  struct Field {
    std::string name, text;            // text: a scalar, without quotes
    std::shared_ptr<Message> message;  // or a message
    size_t line = 0;
  };

  std::vector<Field> fields;

  void add(std::string name, std::string text) { fields.push_back({std::move(name), std::move(text), nullptr, 0}); }
  Message& add_message(std::string name);
  bool has(std::string_view name) const;
  /// The last scalar of that name, as protobuf reads repeated settings of one field.
  std::string text(std::string_view name, std::string_view fallback = {}) const;
  int64_t integer(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  bool flag(std::string_view name, bool fallback) const;
  /// An enumeration by name or number; throws TextError for anything else.
  int64_t choice(std::string_view name, std::initializer_list<std::string_view> names, int64_t fallback) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  /// The first message of that name; an empty one if there is none.
  const Message& message(std::string_view name) const;
  std::vector<const Message*> messages(std::string_view name) const;
};

/// Throws TextError with the line.
Message parse_text(std::string_view text);

}  // namespace minnow::caffe
