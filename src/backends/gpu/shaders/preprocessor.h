// SPDX-License-Identifier: Apache-2.0
// Tokens of the dialect, and C's preprocessor for them: macros of both forms, ##, and conditions. There are no #include, no strings, no #x.
#pragma once
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minnow::gpu {

struct Token {
  enum class Kind : uint8_t { end, name, number, punctuator, newline };
  Kind kind = Kind::end;
  bool is_final = false;  // a macro's name within its own expansion
  uint32_t line = 0;
  std::string_view text;

  bool is(std::string_view other) const { return text == other; }
};

class Preprocessor {
 public:
  /// Appends the tokens of the text, macros expanded, to tokens(). Macros stay defined for the next text, which must live as long as
  /// tokens are used. Throws InternalError with the line.
  void add(std::string_view text);
  std::vector<Token> take() { return std::move(tokens_); }

 private:
  struct Macro {
    bool is_function = false, is_active = false;  // active: its expansion is being read
    std::vector<std::string_view> parameters;
    std::vector<Token> body;
    std::vector<int> parameter_of;  // of each token of the body; -1: none
  };
  struct Stream {
    const Token* at;
    const Token* end;
    Macro* macro;  // whose expansion it is, or null
  };

  void lex(std::string_view text);
  void directive(std::span<const Token> line);
  void define(std::span<const Token> line);
  bool is_true(std::span<const Token> condition);
  void expand(std::span<const Token> in, std::vector<Token>& out);
  const Token* peek(std::vector<Stream>& streams);
  void substitute(Macro& macro, std::span<const std::vector<Token>> arguments, std::vector<Token>& out);
  Token paste(const Token& a, const Token& b);
  bool is_skipping() const { return !conditions_.empty() && conditions_.back() != Condition::open; }

  enum class Condition : uint8_t { open, waiting, done };
  std::vector<Token> tokens_, lexed_;
  std::unordered_map<std::string_view, Macro> macros_;
  std::vector<Condition> conditions_;
  std::deque<std::string> pasted_;
  std::deque<std::vector<Token>> expansions_;  // which streams read
};

}  // namespace minnow::gpu
