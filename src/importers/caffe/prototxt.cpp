// SPDX-License-Identifier: Apache-2.0
#include "importers/caffe/prototxt.h"

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace minnow::caffe {
namespace {

constexpr int kMaxDepth = 64;

std::string shown(std::string_view text) { return std::string(text.substr(0, 60)); }

int64_t to_integer(std::string_view name, const std::string& text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) throw TextError{format("\"{}\" should be an integer, it is \"{}\"", name, shown(text))};
  return value;
}

double to_real(std::string_view name, std::string text) {
  if (text.ends_with('f')) text.pop_back();
  if (text.starts_with('+')) text.erase(0, 1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || at != end)
    throw TextError{format("\"{}\" should be a number, it is \"{}\"", name, shown(text))};
  return value;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Message run() {
    Message message = fields('\0', 0);
    return message;
  }

 private:
  [[noreturn]] void fail(std::string_view sentence) const { throw TextError{format("line {}: {}", line_, sentence)}; }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else {
        return;
      }
    }
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  std::string word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-' && c != '+') break;
      ++at_;
    }
    if (at_ == from)
      fail(at_ < text_.size() ? format("'{}' stands where a name or a value should", std::string(1, text_[at_]))
                              : "the text ends too early");
    return std::string(text_.substr(from, at_ - from));
  }
  std::string quoted(char quote) {
    std::string value;
    ++at_;
    while (true) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("a quoted text does not end");
      char c = text_[at_++];
      if (c == quote) return value;
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
      }
      value += c;
    }
  }
  std::string scalar() {
    const char c = peek();
    if (c != '"' && c != '\'') return word();
    std::string value;
    for (char q = c; q == '"' || q == '\''; q = peek()) value += quoted(q);  // neighbours are joined
    return value;
  }

  void values(Message& to, const std::string& name, int depth) {
    const size_t line = line_;
    if (take('[')) {
      while (!take(']')) {
        one_value(to, name, line, depth);
        if (!take(',') && peek() != ']') fail("',' or ']' should stand in a list");
      }
      return;
    }
    one_value(to, name, line, depth);
  }
  void one_value(Message& to, const std::string& name, size_t line, int depth) {
    const char c = peek();
    Message::Field field{name, {}, nullptr, line};
    if (c == '{' || c == '<') {
      ++at_;
      field.message = std::make_shared<Message>(fields(c == '{' ? '}' : '>', depth + 1));
    } else {
      field.text = scalar();
    }
    to.fields.push_back(std::move(field));
  }

  Message fields(char close, int depth) {
    if (depth > kMaxDepth) fail(format("messages are nested more than {} deep", kMaxDepth));
    Message message;
    while (true) {
      const char c = peek();
      if (c == '\0' || c == close) {
        if (c != close) fail("a message does not end");
        if (c != '\0') ++at_;
        return message;
      }
      const std::string name = word();
      const bool colon = take(':');
      const char next = peek();
      if (!colon && next != '{' && next != '<') fail(format("':' or '{{' should follow \"{}\"", shown(name)));
      values(message, name, depth);
      if (!take(',')) take(';');
    }
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1;
};

}  // namespace

Message& Message::add_message(std::string name) {
  fields.push_back({std::move(name), {}, std::make_shared<Message>(), 0});
  return *fields.back().message;
}

bool Message::has(std::string_view name) const {
  for (const Field& field : fields)
    if (field.name == name) return true;
  return false;
}

std::string Message::text(std::string_view name, std::string_view fallback) const {
  std::string value(fallback);
  for (const Field& field : fields)
    if (field.name == name && !field.message) value = field.text;
  return value;
}
int64_t Message::integer(std::string_view name, int64_t fallback) const {
  const std::string value = text(name);
  return value.empty() ? fallback : to_integer(name, value);
}
double Message::real(std::string_view name, double fallback) const {
  const std::string value = text(name);
  return value.empty() ? fallback : to_real(name, value);
}
bool Message::flag(std::string_view name, bool fallback) const {
  const std::string value = text(name);
  if (value.empty()) return fallback;
  if (value == "true" || value == "True" || value == "t" || value == "1") return true;
  if (value == "false" || value == "False" || value == "f" || value == "0") return false;
  throw TextError{format("\"{}\" should be true or false, it is \"{}\"", name, shown(value))};
}
int64_t Message::choice(std::string_view name, std::initializer_list<std::string_view> names, int64_t fallback) const {
  const std::string value = text(name);
  if (value.empty()) return fallback;
  int64_t number = 0;
  for (std::string_view one : names) {
    if (one == value || std::to_string(number) == value) return number;
    ++number;
  }
  throw TextError{format("\"{}\" is \"{}\", which is not known", name, shown(value))};
}
std::vector<std::string> Message::texts(std::string_view name) const {
  std::vector<std::string> values;
  for (const Field& field : fields)
    if (field.name == name && !field.message) values.push_back(field.text);
  return values;
}
std::vector<int64_t> Message::integers(std::string_view name) const {
  std::vector<int64_t> values;
  for (const std::string& text : texts(name)) values.push_back(to_integer(name, text));
  return values;
}
std::vector<double> Message::reals(std::string_view name) const {
  std::vector<double> values;
  for (const std::string& text : texts(name)) values.push_back(to_real(name, text));
  return values;
}
const Message& Message::message(std::string_view name) const {
  static const Message empty;
  for (const Field& field : fields)
    if (field.name == name && field.message) return *field.message;
  return empty;
}
std::vector<const Message*> Message::messages(std::string_view name) const {
  std::vector<const Message*> values;
  for (const Field& field : fields)
    if (field.name == name && field.message) values.push_back(field.message.get());
  return values;
}

Message parse_text(std::string_view text) { return Parser(text).run(); }

}  // namespace minnow::caffe
