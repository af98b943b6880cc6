// SPDX-License-Identifier: Apache-2.0
#include "importers/torchscript/script.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"

namespace minnow::torchscript {
namespace {

constexpr int kMostNesting = 200;      // of expressions and of blocks while they are parsed
constexpr uint32_t kMostHeight = 300;  // of a syntax tree, which functions walk by calling themselves

struct Token {
  enum class Kind : uint8_t { name, number, text, sign, line_end, indent, dedent, end };
  Kind kind = Kind::end;
  uint32_t line = 0;
  std::string text;
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 128; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  std::vector<Token> run() {
    std::vector<size_t> indents = {0};
    while (at_ < text_.size()) {
      // The beginning of a line: its indentation counts unless it is empty.
      size_t indent = 0;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_, ++indent;
      if (at_ == text_.size()) break;
      if (text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '#') {
        skip_line();
        continue;
      }
      if (indent > indents.back()) {
        indents.push_back(indent);
        if (indents.size() > kMostNesting) fail("has blocks in each other more than {} deep", kMostNesting);
        push(Token::Kind::indent);
      }
      while (indent < indents.back()) {
        indents.pop_back();
        push(Token::Kind::dedent);
      }
      if (indent != indents.back()) fail("is indented as no line above");
      line();
    }
    while (indents.size() > 1) {
      indents.pop_back();
      push(Token::Kind::dedent);
    }
    push(Token::Kind::end);
    return std::move(tokens_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    throw InvalidModel("{}, line {}: {}", place_, line_, format(pattern, args...));
  }
  void push(Token::Kind kind, std::string text = {}) { tokens_.push_back({kind, line_, std::move(text)}); }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ < text_.size()) ++at_, ++line_;
  }

  void line() {
    int open = 0;  // brackets, inside which line ends do not count
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        ++at_;
        if (open == 0) {
          push(Token::Kind::line_end);
          ++line_;
          return;
        }
        ++line_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_letter(c)) {
        const size_t start = at_;
        while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
        push(Token::Kind::name, std::string(text_.substr(start, at_ - start)));
      } else if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
        number();
      } else if (c == '"' || c == '\'') {
        quoted(c);
      } else if (text_.substr(at_, 2) == "->") {
        push(Token::Kind::sign, "->");
        at_ += 2;
      } else if (std::string_view("()[]{}:,.=-").find(c) != std::string_view::npos) {
        if (c == '(' || c == '[' || c == '{') ++open;
        if (c == ')' || c == ']' || c == '}') open = open > 0 ? open - 1 : 0;
        push(Token::Kind::sign, std::string(1, c));
        ++at_;
      } else {
        fail("a character of code {} stands where none can", static_cast<int>(static_cast<unsigned char>(c)));
      }
    }
    push(Token::Kind::line_end);
  }

  void number() {
    const size_t start = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool exponent_sign = (c == '+' || c == '-') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && at_ > start;
      if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && c != 'j' && !exponent_sign) break;
      ++at_;
    }
    push(Token::Kind::number, std::string(text_.substr(start, at_ - start)));
  }

  void quoted(char quote) {
    std::string out;
    ++at_;
    for (;;) {
      if (at_ >= text_.size() || text_[at_] == '\n') fail("a text does not end");
      char c = text_[at_++];
      if (c == quote) break;
      if (c == '\\') {
        if (at_ >= text_.size()) fail("a text does not end");
        c = text_[at_++];
        if (c >= '0' && c <= '7') {
          int code = c - '0';
          for (int i = 0; i < 2 && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '7'; ++i)
            code = code * 8 + (text_[at_++] - '0');
          c = static_cast<char>(code);
        } else if (c == 'x') {
          int code = 0;
          for (int i = 0; i < 2 && at_ < text_.size(); ++i, ++at_) {
            const char h = text_[at_];
            code = code * 16 + (is_digit(h) ? h - '0' : (h | 32) >= 'a' && (h | 32) <= 'f' ? (h | 32) - 'a' + 10 : 0);
          }
          c = static_cast<char>(code);
        } else {
          static constexpr std::string_view kFrom = "nrtabfv", kTo = "\n\r\t\a\b\f\v";
          if (const size_t found = kFrom.find(c); found != kFrom.npos) c = kTo[found];
        }
      }
      out += c;
    }
    push(Token::Kind::text, std::move(out));
  }

  std::string_view text_;
  const std::string& place_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& place) : tokens_(std::move(tokens)), place_(place) {}

  Module run() {
    Module module;
    while (peek().kind != Token::Kind::end) {
      if (is_name("class")) {
        auto parsed = class_definition();
        module.classes[parsed->name] = parsed;
      } else if (is_name("def")) {
        auto parsed = function();
        module.functions[parsed->name] = parsed;
      } else {
        // Old files begin with the version and with imports.
        if (!is_name("op_version_set") && !is_name("import") && !is_name("from"))
          fail("\"{}\" begins neither a class nor a function", peek().text);
        while (peek().kind != Token::Kind::line_end && peek().kind != Token::Kind::end) next();
        if (peek().kind == Token::Kind::line_end) next();
      }
    }
    return module;
  }

 private:
  using Kind = Syntax::Kind;

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is_sign(std::string_view sign, size_t ahead = 0) const { return peek(ahead).kind == Token::Kind::sign && peek(ahead).text == sign; }
  bool is_name(std::string_view name) const { return peek().kind == Token::Kind::name && peek().text == name; }
  bool take(std::string_view sign) {
    if (!is_sign(sign)) return false;
    next();
    return true;
  }
  void expect(std::string_view sign) {
    if (!take(sign)) fail("\"{}\" is expected, \"{}\" stands there", sign, peek().text.substr(0, 100));
  }
  std::string name() {
    if (peek().kind != Token::Kind::name) fail("a name is expected, \"{}\" stands there", peek().text.substr(0, 100));
    return next().text;
  }
  void line_end() {
    if (peek().kind != Token::Kind::line_end) fail("the line should end, \"{}\" stands there", peek().text.substr(0, 100));
    next();
  }
  template <class... Args>
  [[noreturn]] void fail(std::string_view pattern, const Args&... args) const {
    throw InvalidModel("{}, line {}: {}", place_, peek().line, format(pattern, args...));
  }
  SyntaxPtr make(Kind kind) const {
    auto made = std::make_unique<Syntax>();
    made->kind = kind;
    made->line = peek().line;
    return made;
  }

  void add(Syntax& made, SyntaxPtr part) {
    if (part && part->height >= made.height) made.height = part->height + 1;
    if (made.height > kMostHeight) fail("has expressions in each other more than {} deep", kMostHeight);
    made.parts.push_back(std::move(part));
  }

  /// Counts how deep the parser is in itself, so that its own stack is safe.
  struct Deeper {
    explicit Deeper(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostNesting) parser_.fail("has expressions in each other more than {} deep", kMostNesting);
    }
    ~Deeper() { --parser_.depth_; }
    Parser& parser_;
  };

  std::shared_ptr<Class> class_definition() {
    next();
    auto made = std::make_shared<Class>();
    made->name = name();
    if (take("(")) {
      if (!is_sign(")")) made->base = name();
      while (take(".")) made->base = name();
      expect(")");
    }
    expect(":");
    line_end();
    if (peek().kind != Token::Kind::indent) return made;  // an empty class
    next();
    while (peek().kind != Token::Kind::dedent && peek().kind != Token::Kind::end) member(*made);
    next();
    return made;
  }

  void member(Class& made) {
    if (is_name("def")) {
      auto method = function();
      made.methods[method->name] = method;
      return;
    }
    if (is_name("pass")) {
      next();
      return line_end();
    }
    std::string field = name();
    if (field == "__annotations__" && take("[")) {  // an attribute whose name is no identifier
      field = next().text;
      expect("]");
      expect("=");
      made.fields.push_back(field);
      made.types[field] = expression();
    } else if (take(":")) {
      SyntaxPtr type = expression();
      if (take("=")) {
        made.constants[field] = expression();
      } else {
        made.fields.push_back(field);
      }
      made.types[field] = std::move(type);
    } else {
      expect("=");
      SyntaxPtr value = expression();
      if (!field.starts_with("__")) made.constants[field] = std::move(value);
    }
    line_end();
  }

  std::shared_ptr<Function> function() {
    const Deeper deeper(*this);
    auto made = std::make_shared<Function>();
    made->line = next().line;
    made->name = name();
    expect("(");
    while (!take(")")) {
      Parameter parameter;
      parameter.name = name();
      if (take(":")) parameter.type = expression();
      if (take("=")) parameter.fallback = expression();
      made->parameters.push_back(std::move(parameter));
      if (!take(",") && !is_sign(")")) fail("\",\" is expected, \"{}\" stands there", peek().text.substr(0, 100));
    }
    if (take("->")) expression();
    expect(":");
    made->body = block();
    return made;
  }

  Block block() {
    const Deeper deeper(*this);
    line_end();
    if (peek().kind != Token::Kind::indent) fail("an indented block is expected");
    next();
    Block made;
    while (peek().kind != Token::Kind::dedent && peek().kind != Token::Kind::end) made.push_back(statement());
    next();
    return made;
  }

  Statement statement() {
    using Form = Statement::Kind;
    Statement made;
    made.line = peek().line;
    if (is_name("def")) {
      made.kind = Form::function;
      made.function = function();
      return made;
    }
    if (is_name("pass")) {
      next();
      line_end();
      return made;
    }
    if (is_name("return")) {
      next();
      made.kind = Form::give_back;
      if (peek().kind != Token::Kind::line_end) made.values.push_back(expression_list());
      line_end();
      return made;
    }
    if (is_name("if")) {
      next();
      made.kind = Form::branch;
      made.values.push_back(expression());
      expect(":");
      made.body = block();
      if (is_name("else")) {
        next();
        expect(":");
        made.orelse = block();
      }
      return made;
    }
    if (is_name("while")) {
      next();
      made.kind = Form::repeated;
      made.values.push_back(expression());
      expect(":");
      made.body = block();
      return made;
    }
    if (is_name("for")) {
      next();
      made.kind = Form::counted;
      made.targets.push_back(target(primary()));
      if (name() != "in" || name() != "range") fail("a loop goes over range(...) only");
      expect("(");
      made.values.push_back(expression());
      if (!is_sign(")")) fail("range(...) takes one number");
      expect(")");
      expect(":");
      made.body = block();
      return made;
    }
    if (is_name("with")) {
      next();
      made.kind = Form::context;
      made.values.push_back(expression());
      if (is_name("as")) {
        next();
        made.targets.push_back(target(primary()));
      }
      expect(":");
      made.body = block();
      return made;
    }
    // Targets, then "=", or an expression alone.
    std::vector<SyntaxPtr> items;
    bool comma_last = false;
    items.push_back(expression());
    while (take(",")) {
      comma_last = is_sign("=") || peek().kind == Token::Kind::line_end;
      if (comma_last) break;
      items.push_back(expression());
    }
    if (items.size() == 1 && !comma_last && take(":")) {
      made.type = expression();
      if (!is_sign("=")) {  // a declaration alone says nothing
        line_end();
        return made;
      }
    }
    if (!take("=")) {
      made.kind = Form::expression;
      made.values = std::move(items);
      line_end();
      return made;
    }
    made.kind = Form::assign;
    for (SyntaxPtr& item : items) made.targets.push_back(target(std::move(item)));
    made.values.push_back(expression());
    while (take(",")) {
      if (peek().kind == Token::Kind::line_end) break;
      made.values.push_back(expression());
    }
    made.unpacks = comma_last || (made.targets.size() > 1 && made.values.size() == 1);
    if (!made.unpacks && made.targets.size() != made.values.size())
      fail("{} values are assigned to {} names", made.values.size(), made.targets.size());
    line_end();
    return made;
  }

  SyntaxPtr target(SyntaxPtr item) const {
    if (item->kind != Kind::name && item->kind != Kind::attribute) fail("something is assigned that is no name");
    return item;
  }

  SyntaxPtr expression_list() {
    SyntaxPtr first = expression();
    if (!is_sign(",")) return first;
    SyntaxPtr made = make(Kind::tuple);
    add(*made, std::move(first));
    while (take(",") && peek().kind != Token::Kind::line_end) add(*made, expression());
    return made;
  }

  SyntaxPtr expression() {
    const Deeper deeper(*this);
    if (is_sign("-")) {
      SyntaxPtr made = make(Kind::negative);
      next();
      add(*made, expression());
      return made;
    }
    return primary();
  }

  SyntaxPtr primary() {
    SyntaxPtr made = atom();
    for (;;) {
      if (is_sign(".")) {
        next();
        SyntaxPtr outer = make(Kind::attribute);
        outer->text = name();
        add(*outer, std::move(made));
        made = std::move(outer);
      } else if (is_sign("[")) {
        made = subscript(std::move(made));
      } else if (is_sign("(")) {
        made = call(std::move(made));
      } else {
        return made;
      }
    }
  }

  SyntaxPtr subscript(SyntaxPtr inner) {
    SyntaxPtr made = make(Kind::index);
    next();
    add(*made, std::move(inner));
    if (is_sign(":")) {
      add(*made, nullptr);
    } else {
      add(*made, expression());
      if (is_sign(",")) {  // of a type: Tuple[int, int]
        SyntaxPtr list = make(Kind::tuple);
        add(*list, std::move(made->parts[1]));
        while (take(","))
          if (!is_sign("]")) add(*list, expression());
        made->height = std::max(made->height, list->height + 1);
        made->parts[1] = std::move(list);
      }
    }
    if (take(":")) {
      made->kind = Kind::slice;
      add(*made, is_sign("]") ? nullptr : expression());
    }
    expect("]");
    return made;
  }

  SyntaxPtr call(SyntaxPtr function) {
    SyntaxPtr made = make(Kind::call);
    next();
    add(*made, std::move(function));
    while (!take(")")) {
      if (peek().kind == Token::Kind::name && is_sign("=", 1)) {
        made->keywords.push_back(name());
        next();
      } else if (!made->keywords.empty()) {
        fail("an argument without a name follows one with a name");
      }
      add(*made, expression());
      if (!take(",") && !is_sign(")")) fail("\",\" is expected, \"{}\" stands there", peek().text.substr(0, 100));
    }
    return made;
  }

  SyntaxPtr atom() {
    SyntaxPtr made = make(Kind::none);
    const Token& token = peek();
    switch (token.kind) {
      case Token::Kind::name:
        if (token.text == "None") {
        } else if (token.text == "True" || token.text == "False") {
          made->kind = Kind::boolean;
          made->integer = token.text == "True";
        } else if (token.text == "inf" || token.text == "nan") {
          made->kind = Kind::real;
          made->real = token.text == "inf" ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
        } else {
          made->kind = Kind::name;
          made->text = token.text;
        }
        next();
        return made;
      case Token::Kind::number:
        number(*made, token.text);
        next();
        return made;
      case Token::Kind::text:
        made->kind = Kind::text;
        made->text = token.text;
        next();
        return made;
      default:
        break;
    }
    if (take("(")) {
      if (take(")")) {
        made->kind = Kind::tuple;
        return made;
      }
      SyntaxPtr first = expression();
      if (take(")")) return first;
      made->kind = Kind::tuple;
      add(*made, std::move(first));
      while (take(","))
        if (!is_sign(")")) add(*made, expression());
      expect(")");
      return made;
    }
    if (take("[")) {
      made->kind = Kind::list;
      while (!take("]")) {
        add(*made, expression());
        if (!take(",") && !is_sign("]")) fail("\",\" is expected, \"{}\" stands there", peek().text.substr(0, 100));
      }
      return made;
    }
    if (take("{")) {
      made->kind = Kind::dict;
      while (!take("}")) {
        add(*made, expression());
        expect(":");
        add(*made, expression());
        if (!take(",") && !is_sign("}")) fail("\",\" is expected, \"{}\" stands there", peek().text.substr(0, 100));
      }
      return made;
    }
    fail("an expression is expected, \"{}\" stands there", token.text.substr(0, 100));
  }

  void number(Syntax& made, const std::string& text) {
    if (text.back() == 'j') fail("complex numbers are not supported");
    if (text.find_first_of(".eE") == text.npos) {
      made.kind = Kind::integer;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), made.integer);
      if (error != std::errc() || end != text.data() + text.size()) fail("\"{}\" is no number of 64 bits", text.substr(0, 100));
      return;
    }
    made.kind = Kind::real;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), made.real);
    if (end != text.data() + text.size() || error == std::errc::invalid_argument) fail("\"{}\" is no number", text.substr(0, 100));
  }

  std::vector<Token> tokens_;
  const std::string& place_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Module parse_module(std::string_view text, const std::string& place) {
  Module module = Parser(Lexer(text, place).run(), place).run();
  module.path = place;
  return module;
}

std::string type_text(const Syntax* type) {
  if (!type) return {};
  switch (type->kind) {
    case Syntax::Kind::name:
      return type->text;
    case Syntax::Kind::none:
      return "None";
    case Syntax::Kind::attribute:
      return type_text(type->parts[0].get()) + "." + type->text;
    case Syntax::Kind::index:
      return type_text(type->parts[0].get()) + "[" + type_text(type->parts[1].get()) + "]";
    case Syntax::Kind::tuple: {
      std::string text;
      for (const SyntaxPtr& part : type->parts) text += (text.empty() ? "" : ", ") + type_text(part.get());
      return text;
    }
    default:
      return {};
  }
}

}  // namespace minnow::torchscript
