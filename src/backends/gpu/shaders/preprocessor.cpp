// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/shaders/preprocessor.h"

#include <charconv>

#include "base/error.h"

namespace minnow::gpu {
namespace {

constexpr size_t kMostTokens = size_t{1} << 19;
constexpr int kDeepest = 64;  // parentheses in conditions

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

size_t punctuator_length(std::string_view rest) {
  for (const std::string_view each : {"<<=", ">>="})
    if (rest.starts_with(each)) return 3;
  for (const std::string_view each :
       {"##", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="})
    if (rest.starts_with(each)) return 2;
  return std::string_view("#(){}[];,?:~!<>=+-*/%&|^.").find(rest[0]) == std::string_view::npos ? 0 : 1;
}

// The condition of #if, its macros expanded.
class Condition {
 public:
  explicit Condition(std::span<const Token> tokens) : tokens_(tokens) {}
  int64_t value() {
    const int64_t result = binary(0);
    if (at_ != tokens_.size()) fail();
    return result;
  }

 private:
  [[noreturn]] void fail() const {
    throw InternalError("line {} of a kernel: a condition of the preprocessor is not understood", tokens_.empty() ? 0 : tokens_[0].line);
  }
  bool take(std::string_view text) {
    if (at_ < tokens_.size() && tokens_[at_].is(text)) return ++at_, true;
    return false;
  }
  int64_t unary() {
    if (at_ >= tokens_.size() || ++depth_ > kDeepest) fail();
    int64_t result = 0;
    if (take("!")) {
      result = !unary();
    } else if (take("-")) {
      result = -unary();
    } else if (take("(")) {
      result = binary(0);
      if (!take(")")) fail();
    } else {
      const Token& token = tokens_[at_++];
      if (token.kind == Token::Kind::number)
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), result);
      else if (token.kind != Token::Kind::name)
        fail();
    }
    --depth_;
    return result;
  }
  int64_t binary(size_t level) {
    static constexpr std::string_view kLevels[][4] = {{"||"}, {"&&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"+", "-"}, {"*"}};
    if (level == std::size(kLevels)) return unary();
    int64_t a = binary(level + 1);
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view op : kLevels[level]) {
        if (op.empty() || !take(op)) continue;
        const int64_t b = binary(level + 1);
        a = op == "||"   ? a || b
            : op == "&&" ? a && b
            : op == "==" ? a == b
            : op == "!=" ? a != b
            : op == "<"  ? a < b
            : op == ">"  ? a > b
            : op == "<=" ? a <= b
            : op == ">=" ? a >= b
            : op == "+"  ? a + b
            : op == "-"  ? a - b
                         : a * b;
        found = true;
        break;
      }
    }
    return a;
  }
  std::span<const Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

void Preprocessor::lex(std::string_view text) {
  lexed_.clear();
  uint32_t line = 1;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      lexed_.push_back({Token::Kind::newline, false, line++, {}});
      ++i;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '\\' && i + 1 < text.size() && text[i + 1] == '\n') {
      i += 2;
      ++line;
    } else if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (is_letter(c) || (c == '.' && i + 1 < text.size() && is_digit(text[i + 1]))) {
      const bool is_number = is_digit(c) || c == '.';
      const bool is_hexadecimal = text.substr(i, 2) == "0x";
      size_t end = i + 1;
      while (end < text.size() &&
             (is_letter(text[end]) ||
              (is_number && (text[end] == '.' || ((text[end] == '-' || text[end] == '+') && text[end - 1] == 'e' && !is_hexadecimal)))))
        ++end;
      lexed_.push_back({is_number ? Token::Kind::number : Token::Kind::name, false, line, text.substr(i, end - i)});
      i = end;
    } else {
      const size_t length = punctuator_length(text.substr(i));
      if (length == 0) throw InternalError("line {} of a kernel: unexpected character of code {}", line, static_cast<int>(c));
      lexed_.push_back({Token::Kind::punctuator, false, line, text.substr(i, length)});
      i += length;
    }
  }
  lexed_.push_back({Token::Kind::newline, false, line, {}});
}

void Preprocessor::add(std::string_view text) {
  lex(text);
  const std::vector<Token> lexed = std::move(lexed_);
  std::vector<Token> run;  // lines between directives, which macros' arguments may span
  for (size_t i = 0; i < lexed.size();) {
    size_t end = i;
    while (lexed[end].kind != Token::Kind::newline) ++end;
    if (lexed[i].is("#")) {
      expand(run, tokens_);
      run.clear();
      directive(std::span(lexed).subspan(i + 1, end - i - 1));
    } else if (!is_skipping()) {
      run.insert(run.end(), lexed.begin() + static_cast<std::ptrdiff_t>(i), lexed.begin() + static_cast<std::ptrdiff_t>(end));
    }
    i = end + 1;
  }
  expand(run, tokens_);
  expansions_.clear();
  if (!conditions_.empty()) throw InternalError("a kernel ends within #if");
}

void Preprocessor::directive(std::span<const Token> line) {
  if (line.empty()) return;
  const Token& name = line[0];
  const std::span<const Token> rest = line.subspan(1);
  const bool outer_skips = conditions_.size() > 1 && conditions_[conditions_.size() - 2] != Condition::open;
  const auto needs_condition = [&] {
    if (conditions_.empty()) throw InternalError("line {} of a kernel: #{} without #if", name.line, name.text);
  };
  if (name.is("if") || name.is("ifdef") || name.is("ifndef")) {
    if (is_skipping()) return conditions_.push_back(Condition::done);
    const bool holds = name.is("if") ? is_true(rest) : (!rest.empty() && macros_.contains(rest[0].text)) == name.is("ifdef");
    conditions_.push_back(holds ? Condition::open : Condition::waiting);
  } else if (name.is("elif") || name.is("else")) {
    needs_condition();
    Condition& condition = conditions_.back();
    if (condition == Condition::open)
      condition = Condition::done;
    else if (condition == Condition::waiting && !outer_skips && (name.is("else") || is_true(rest)))
      condition = Condition::open;
  } else if (name.is("endif")) {
    needs_condition();
    conditions_.pop_back();
  } else if (is_skipping()) {
    return;
  } else if (name.is("define")) {
    define(rest);
  } else if (name.is("undef") && !rest.empty()) {
    macros_.erase(rest[0].text);
  } else {
    throw InternalError("line {} of a kernel: #{} is not known", name.line, name.text);
  }
}

void Preprocessor::define(std::span<const Token> line) {
  if (line.empty() || line[0].kind != Token::Kind::name) throw InternalError("a macro of a kernel has no name");
  Macro macro;
  size_t at = 1;
  // "(" belongs to the name if it follows at once.
  if (line.size() > 1 && line[1].is("(") && line[1].text.data() == line[0].text.data() + line[0].text.size()) {
    macro.is_function = true;
    for (at = 2; at < line.size() && !line[at].is(")"); ++at)
      if (!line[at].is(",")) macro.parameters.push_back(line[at].text);
    ++at;
  }
  if (at > line.size()) throw InternalError("line {} of a kernel: the parameters of {} do not end", line[0].line, line[0].text);
  for (; at < line.size(); ++at) {
    int parameter = -1;
    for (size_t i = 0; i < macro.parameters.size(); ++i)
      if (line[at].kind == Token::Kind::name && line[at].is(macro.parameters[i])) parameter = static_cast<int>(i);
    macro.body.push_back(line[at]);
    macro.parameter_of.push_back(parameter);
  }
  macros_.insert_or_assign(line[0].text, std::move(macro));
}

bool Preprocessor::is_true(std::span<const Token> condition) {
  std::vector<Token> known, expanded;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (!condition[i].is("defined")) {
      known.push_back(condition[i]);
      continue;
    }
    const bool in_parentheses = i + 1 < condition.size() && condition[i + 1].is("(");
    i += in_parentheses ? 2 : 1;
    if (i >= condition.size()) break;
    known.push_back({Token::Kind::number, false, condition[i].line, macros_.contains(condition[i].text) ? "1" : "0"});
    if (in_parentheses) ++i;
  }
  expand(known, expanded);
  return gpu::Condition(expanded).value() != 0;
}

const Token* Preprocessor::peek(std::vector<Stream>& streams) {
  while (!streams.empty() && streams.back().at == streams.back().end) {
    if (streams.back().macro) streams.back().macro->is_active = false;
    streams.pop_back();
  }
  return streams.empty() ? nullptr : streams.back().at;
}

void Preprocessor::expand(std::span<const Token> in, std::vector<Token>& out) {
  std::vector<Stream> streams = {{in.data(), in.data() + in.size(), nullptr}};
  while (const Token* next = peek(streams)) {
    Token token = *next;
    ++streams.back().at;
    if (out.size() > kMostTokens) throw InternalError("line {} of a kernel: its macros expand to too much", token.line);
    const auto found = token.kind == Token::Kind::name && !token.is_final ? macros_.find(token.text) : macros_.end();
    if (found == macros_.end()) {
      out.push_back(token);
      continue;
    }
    Macro& macro = found->second;
    if (macro.is_active) {
      token.is_final = true;
      out.push_back(token);
      continue;
    }
    std::vector<std::vector<Token>> arguments;
    if (macro.is_function) {
      next = peek(streams);
      if (!next || !next->is("(")) {
        out.push_back(token);
        continue;
      }
      ++streams.back().at;
      arguments.emplace_back();
      for (int depth = 1; depth > 0;) {
        next = peek(streams);
        if (!next) throw InternalError("line {} of a kernel: the arguments of {} do not end", token.line, token.text);
        const Token each = *next;
        ++streams.back().at;
        if (each.is("(")) ++depth;
        if (each.is(")") && --depth == 0) break;
        if (each.is(",") && depth == 1)
          arguments.emplace_back();
        else
          arguments.back().push_back(each);
      }
      if (macro.parameters.empty() && arguments.size() == 1 && arguments[0].empty()) arguments.clear();
      if (arguments.size() != macro.parameters.size())
        throw InternalError("line {} of a kernel: {} takes {} arguments, here are {}", token.line, token.text, macro.parameters.size(),
                            arguments.size());
    }
    std::vector<Token>& body = expansions_.emplace_back();
    substitute(macro, arguments, body);
    for (Token& each : body) each.line = token.line;
    macro.is_active = true;
    streams.push_back({body.data(), body.data() + body.size(), &macro});
  }
}

void Preprocessor::substitute(Macro& macro, std::span<const std::vector<Token>> arguments, std::vector<Token>& out) {
  std::vector<std::vector<Token>> expanded(arguments.size());
  std::vector<uint8_t> is_expanded(arguments.size());
  bool pastes = false;  // the next piece is joined to the last token
  size_t before_paste = 0;
  for (size_t i = 0; i < macro.body.size(); ++i) {
    if (macro.body[i].is("##") && i > 0) {
      pastes = true;
      continue;
    }
    const bool pastes_next = i + 1 < macro.body.size() && macro.body[i + 1].is("##");
    std::span<const Token> piece(&macro.body[i], 1);
    if (const int parameter = macro.parameter_of[i]; parameter >= 0) {
      const size_t index = static_cast<size_t>(parameter);
      piece = arguments[index];
      if (!pastes && !pastes_next) {
        if (!is_expanded[index]) expand(arguments[index], expanded[index]);
        is_expanded[index] = 1;
        piece = expanded[index];
      }
    }
    if (pastes && !piece.empty() && out.size() > before_paste) {
      out.back() = paste(out.back(), piece[0]);
      piece = piece.subspan(1);
    }
    if (!pastes) before_paste = out.size();
    pastes = false;
    out.insert(out.end(), piece.begin(), piece.end());
  }
}

Token Preprocessor::paste(const Token& a, const Token& b) {
  const std::string& text = pasted_.emplace_back(std::string(a.text) + std::string(b.text));
  return {a.kind == Token::Kind::punctuator ? b.kind : a.kind, false, a.line, text};
}

}  // namespace minnow::gpu
