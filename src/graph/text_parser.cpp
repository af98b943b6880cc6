// SPDX-License-Identifier: Apache-2.0
// Reads the text form of graphs; text.cpp describes it.
#include <charconv>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/numeric.h"
#include "graph/text_form.h"

namespace minnow {
namespace text_form {
namespace {

constexpr int kMaxDepth = 64;                       // of graphs in graphs and of types in types
constexpr int64_t kMaxElements = int64_t{1} << 28;  // of one tensor

struct Token {
  enum class Kind : uint8_t { word, string, symbol, end } kind = Kind::end;
  std::string text;
  size_t line = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { next(); }
  const Token& peek() const noexcept { return token_; }
  /// The first character behind the current token, past blanks; it tells a keyword from a name.
  char following() const noexcept {
    size_t at = at_;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at < text_.size() ? text_[at] : '\0';
  }
  Token take() {
    Token token = std::move(token_);
    taken_line_ = token.line;
    next();
    return token;
  }
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    fail_at(token_.line, pattern, args...);
  }
  /// The same about the token that was taken last.
  template <class... Args>
  [[noreturn]] void fail_taken(std::string_view pattern, const Args&... args) const {
    fail_at(taken_line_, pattern, args...);
  }
  template <class... Args>
  [[noreturn]] void fail_at(size_t line, std::string_view pattern, const Args&... args) const {
    throw InvalidModel("line {}: {}", line, format(pattern, args...));
  }

 private:
  void next() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c == '\n') {
        ++line_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        break;
      }
    }
    token_ = Token{Token::Kind::end, "end of the text", line_};
    if (at_ == text_.size()) return;
    if (text_[at_] == '"') return read_string();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word_character(text_[at_])) ++at_;
    token_.kind = at_ > begin ? Token::Kind::word : Token::Kind::symbol;
    if (at_ == begin) ++at_;
    token_.text = text_.substr(begin, at_ - begin);
  }

  void read_string() {
    token_.kind = Token::Kind::string;
    token_.text.clear();
    for (++at_;; ++at_) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("a quoted text has no end");
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') {
        token_.text += text_[at_];
        continue;
      }
      const char escaped = ++at_ < text_.size() ? text_[at_] : '\0';
      if (escaped == '"' || escaped == '\\') {
        token_.text += escaped;
      } else if (escaped == 'n') {
        token_.text += '\n';
      } else if (unsigned code = 0; escaped == 'x' && at_ + 2 < text_.size() &&
                                    std::from_chars(&text_[at_ + 1], &text_[at_ + 1] + 2, code, 16).ptr == &text_[at_ + 1] + 2) {
        token_.text += static_cast<char>(code);
        at_ += 2;
      } else {
        fail("a quoted text holds an unknown escape");
      }
    }
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1, taken_line_ = 1;
  Token token_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  std::unique_ptr<Graph> parse() {
    expect_word("graph");
    std::unique_ptr<Graph> graph = parse_graph(0);
    if (lexer_.peek().kind != Token::Kind::end) lexer_.fail("nothing was expected behind the graph, \"{}\" was found", lexer_.peek().text);
    return graph;
  }

 private:
  using Scope = std::unordered_map<std::string, Value*>;
  struct NamedValue {
    std::string name, key;
    size_t line = 0;
  };

  bool at_symbol(char c) const { return lexer_.peek().kind == Token::Kind::symbol && lexer_.peek().text[0] == c; }
  bool at_word(std::string_view word) const { return lexer_.peek().kind == Token::Kind::word && lexer_.peek().text == word; }
  bool at_text() const { return lexer_.peek().kind == Token::Kind::word || lexer_.peek().kind == Token::Kind::string; }
  bool take_symbol(char c) {
    const bool there = at_symbol(c);
    if (there) lexer_.take();
    return there;
  }
  bool take_word(std::string_view word) {
    const bool there = at_word(word);
    if (there) lexer_.take();
    return there;
  }
  void expect(char c) {
    if (!take_symbol(c)) lexer_.fail("\"{}\" was expected, \"{}\" was found", c, lexer_.peek().text);
  }
  void expect_word(std::string_view word) {
    if (!take_word(word)) lexer_.fail("\"{}\" was expected, \"{}\" was found", word, lexer_.peek().text);
  }
  std::string expect_string() {
    if (lexer_.peek().kind != Token::Kind::string) lexer_.fail("a quoted text was expected, \"{}\" was found", lexer_.peek().text);
    return lexer_.take().text;
  }
  std::string expect_text(std::string_view what) {
    if (!at_text()) lexer_.fail("{} was expected, \"{}\" was found", what, lexer_.peek().text);
    return lexer_.take().text;
  }
  /// A keyword begins its statement and is followed by something other than a list of results.
  bool take_keyword(std::string_view word) {
    if (!at_word(word)) return false;
    const char c = lexer_.following();
    return (c == '"' || is_word_character(c)) && take_word(word);
  }

  template <class T>
  T number() {
    T value{};
    const std::string& text = lexer_.peek().text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (lexer_.peek().kind != Token::Kind::word || error != std::errc() || end != text.data() + text.size())
      lexer_.fail("a number was expected, \"{}\" was found", text);
    lexer_.take();
    return value;
  }

  std::unique_ptr<Graph> parse_graph(int depth) {
    if (depth > kMaxDepth) lexer_.fail("graphs are nested more than {} deep", kMaxDepth);
    auto graph = std::make_unique<Graph>();
    if (lexer_.peek().kind == Token::Kind::string) graph->name = lexer_.take().text;
    expect('{');
    scopes_.emplace_back();
    std::vector<std::pair<NamedValue, size_t>> nexts;
    while (!take_symbol('}')) {
      if (lexer_.peek().kind == Token::Kind::end) lexer_.fail("a graph has no end");
      if (take_keyword("input")) {
        const NamedValue value = value_name();
        declare(value, graph->add_input(value.name, optional_type()));
      } else if (take_keyword("const")) {
        const NamedValue value = value_name();
        expect('=');
        declare(value, graph->add_constant(tensor(), value.name));
        graph->constants().back()->rename(value.name);  // the graph invents names for empty ones
      } else if (take_keyword("state")) {
        const NamedValue value = value_name();
        const ValueType type = optional_type();
        expect('=');
        State state{value.name, nullptr, nullptr, tensor()};
        std::optional<NamedValue> next;
        if (take_word("next")) next = value_name();
        if (take_word("as")) state.name = expect_string();
        graph->add_state(std::move(state));
        Value& current = *graph->states().back().current;
        current.rename(value.name);
        if (type.dtype != DType::undefined) current.type = type;
        declare(value, current);
        if (next) nexts.emplace_back(*next, graph->states().size() - 1);
      } else if (take_keyword("output")) {
        graph->add_output(*value_named(value_name()));
      } else if (take_keyword("source")) {
        graph->source = expect_string();
      } else if (take_keyword("metadata")) {
        parse_metadata(graph->metadata);
      } else {
        parse_node(*graph, depth);
      }
    }
    for (const auto& [value, state] : nexts) graph->set_state_next(state, *value_named(value));
    scopes_.pop_back();
    return graph;
  }

  void parse_metadata(Metadata& metadata) {
    if (take_word("producer")) {
      metadata.producer = expect_string();
    } else if (take_word("source_format")) {
      metadata.source_format = expect_string();
    } else if (take_word("source_hash")) {
      metadata.source_hash = expect_string();
    } else if (take_word("label")) {
      metadata.labels.push_back(expect_string());
    } else if (take_word("property")) {
      const std::string key = expect_string();
      expect('=');
      metadata.properties[key] = expect_string();
    } else {
      lexer_.fail("\"{}\" is no metadata", lexer_.peek().text);
    }
  }

  void parse_node(Graph& graph, int depth) {
    std::vector<NamedValue> results;
    std::vector<ValueType> types;
    std::vector<std::string> names;
    if (take_symbol('(')) {
      expect(')');
    } else {
      do {
        results.push_back(take_word("_") ? NamedValue() : value_name());
        types.push_back(optional_type());
        names.push_back(results.back().name);
      } while (take_symbol(','));
    }
    expect('=');
    const std::string op = expect_text("an operator");
    expect('(');
    std::vector<Value*> inputs;
    if (!take_symbol(')')) {
      do {
        inputs.push_back(take_word("_") ? nullptr : value_named(value_name()));
      } while (take_symbol(','));
      expect(')');
    }
    Attributes attributes;
    if (take_symbol('{') && !take_symbol('}')) {
      do {
        const std::string name = expect_text("an attribute");
        expect('=');
        attributes.set(name, attribute(depth));
      } while (take_symbol(','));
      expect('}');
    }
    std::string name;
    if (take_symbol('@')) name = expect_string();
    Node& node = graph.add_node(op, inputs, names, std::move(attributes), std::move(name));
    for (size_t i = 0; i < results.size(); ++i)
      if (node.output(i)) {
        node.output(i)->type = types[i];
        declare(results[i], *node.output(i));
      }
  }

  AttributeValue attribute(int depth) {
    if (lexer_.peek().kind == Token::Kind::string) return lexer_.take().text;
    if (take_symbol('[')) return list();
    if (take_word("graph")) return Subgraph(parse_graph(depth + 1));
    for (std::string_view kind : {"ints", "floats", "strings"}) {
      if (!take_word(kind)) continue;
      expect('[');
      expect(']');
      return kind == "ints" ? AttributeValue(Ints()) : kind == "floats" ? AttributeValue(Floats()) : AttributeValue(Strings());
    }
    if (take_word("type")) {
      expect('(');
      ValueType value = type(0);
      expect(')');
      return value;
    }
    if (dtype_from_name(lexer_.peek().text) != DType::undefined) return tensor();
    if (is_real(lexer_.peek().text)) return number<float>();
    return number<int64_t>();
  }

  static bool is_real(std::string_view text) { return text.find_first_of(".einf") != std::string_view::npos; }

  AttributeValue list() {
    if (take_symbol(']')) return Ints();
    if (lexer_.peek().kind == Token::Kind::string) {
      Strings items;
      do items.push_back(expect_string());
      while (take_symbol(','));
      expect(']');
      return items;
    }
    if (is_real(lexer_.peek().text)) return items<float>();
    return items<int64_t>();
  }

  template <class T>
  std::vector<T> items() {
    std::vector<T> items;
    do items.push_back(number<T>());
    while (take_symbol(','));
    expect(']');
    return items;
  }

  ValueType optional_type() { return take_symbol(':') ? type(0) : ValueType(); }

  ValueType type(int depth) {
    if (depth > kMaxDepth) lexer_.fail("types are nested more than {} deep", kMaxDepth);
    const bool unknown = take_symbol('?');
    const std::string name = unknown ? std::string() : expect_text("a type");
    if (name == "seq" || name == "optional") {
      expect('(');
      ValueType element = type(depth + 1);
      expect(')');
      return name == "seq" ? ValueType::sequence_of(std::move(element)) : ValueType::optional_of(std::move(element));
    }
    ValueType made = ValueType::tensor(dtype_from_name(name));
    if (!unknown && made.dtype == DType::undefined) lexer_.fail_taken("\"{}\" is no type", name);
    if (!take_symbol('[')) return made;
    made.dims.emplace();
    if (take_symbol(']')) return made;
    do {
      Dim dim;
      if (take_symbol('?')) {
      } else if (lexer_.peek().kind == Token::Kind::word && lexer_.peek().text.find_first_not_of("0123456789+-") == std::string::npos) {
        dim.size = number<int64_t>();
        if (dim.size < 0) lexer_.fail("a dimension is negative");
      } else {
        dim.symbol = expect_text("a dimension");
      }
      if (made.dims->size() == kMaxRank) lexer_.fail("a type has more than {} dimensions", kMaxRank);
      made.dims->push_back(std::move(dim));
    } while (take_symbol(','));
    expect(']');
    return made;
  }

  Tensor tensor() {
    const ValueType declared = type(0);
    if (!declared.is_static()) lexer_.fail("a tensor needs a fixed shape");
    if (!is_float(declared.dtype) && !is_integer(declared.dtype) && declared.dtype != DType::boolean)
      lexer_.fail("a tensor of dtype {} has no text form", declared.dtype);
    const Shape shape = declared.shape();
    int64_t product = 1;
    for (int64_t dim : shape)
      if (__builtin_mul_overflow(product, dim, &product) || product > kMaxElements)
        lexer_.fail("a tensor has more than {} elements", kMaxElements);
    Tensor made(declared.dtype, shape);
    const size_t count = static_cast<size_t>(made.elements()), size = size_of(made.dtype());
    char* at = made.writable().data<char>();
    if (take_word("fill")) {
      std::vector<char> value(size);
      element(made.dtype(), value.data());
      for (size_t i = 0; i < count; ++i) std::memcpy(at + i * size, value.data(), size);
    } else if (take_word("random")) {
      randomize(made.dtype(), number<uint64_t>(), count, at);
    } else if (at_word("...")) {
      lexer_.fail("the contents of this tensor were left out when the text was written");
    } else if (shape.empty()) {
      element(made.dtype(), at);
    } else {
      expect('[');
      for (size_t i = 0; i < count; ++i, at += size) {
        if (i) expect(',');
        element(made.dtype(), at);
      }
      expect(']');
    }
    return made;
  }

  void element(DType dtype, void* out) {
    if (is_float(dtype)) {
      const double value = number<double>();
      narrow(dtype, &value, 1, out);
    } else if (dtype == DType::boolean && (at_word("true") || at_word("false"))) {
      *static_cast<uint8_t*>(out) = lexer_.take().text == "true";
    } else {
      const int64_t value = dtype == DType::u64 ? static_cast<int64_t>(number<uint64_t>()) : number<int64_t>();
      if (dtype != DType::u64 && (value < lowest_of(dtype) || value > highest_of(dtype)))
        lexer_.fail_taken("{} does not fit {}", value, dtype);
      narrow(dtype, &value, 1, out);
    }
  }

  // Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators": equal on every machine.
  static void randomize(DType dtype, uint64_t state, size_t count, char* at) {
    for (size_t i = 0; i < count; ++i, at += size_of(dtype)) {
      uint64_t z = state += 0x9e3779b97f4a7c15u;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      z ^= z >> 31;
      const double real = static_cast<double>(z >> 11) * 0x1p-52 - 1;
      const int64_t integer = static_cast<int64_t>(z % 9) - 4;
      if (is_float(dtype))
        narrow(dtype, &real, 1, at);
      else
        narrow(dtype, &integer, 1, at);
    }
  }

  NamedValue value_name() {
    NamedValue value;
    value.line = lexer_.peek().line;
    value.name = expect_text("a value");
    value.key = value.name;
    if (take_symbol('\'')) value.key += '\0' + expect_text("a number");
    return value;
  }

  void declare(const NamedValue& name, Value& value) {
    if (!scopes_.back().emplace(name.key, &value).second) lexer_.fail_at(name.line, "value \"{}\" is made twice", name.name);
  }

  Value* value_named(const NamedValue& name) {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (const auto found = scopes_[i].find(name.key); found != scopes_[i].end()) return found->second;
    lexer_.fail_at(name.line, "value \"{}\" is not known here", name.name);
  }

  Lexer lexer_;
  std::vector<Scope> scopes_;
};

}  // namespace
}  // namespace text_form

std::unique_ptr<Graph> parse_graph(std::string_view text) { return text_form::Parser(text).parse(); }

}  // namespace minnow
