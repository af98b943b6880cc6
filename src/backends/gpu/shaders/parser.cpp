// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>

#include "backends/gpu/shaders/syntax.h"
#include "base/error.h"

namespace minnow::gpu {
namespace {

constexpr int kDeepest = 256;  // calls of the parser
constexpr uint32_t kDeepestTree = 512;

struct BinaryOp {
  std::string_view text;
  Op op;
  int level;
};
constexpr BinaryOp kBinary[] = {
    {"||", Op::logical_or, 1},    {"&&", Op::logical_and, 2}, {"|", Op::bit_or, 3},       {"^", Op::bit_xor, 4},     {"&", Op::bit_and, 5},
    {"==", Op::equal, 6},         {"!=", Op::not_equal, 6},   {"<", Op::less, 7},         {"<=", Op::less_equal, 7}, {">", Op::greater, 7},
    {">=", Op::greater_equal, 7}, {"<<", Op::shift_left, 8},  {">>", Op::shift_right, 8}, {"+", Op::add, 9},         {"-", Op::subtract, 9},
    {"*", Op::multiply, 10},      {"/", Op::divide, 10},      {"%", Op::remainder, 10}};

struct TypeName {
  std::string_view text;
  Scalar type;
};
constexpr TypeName kTypes[] = {{"void", Scalar::none}, {"float", Scalar::f32}, {"int", Scalar::i32}, {"f32", Scalar::f32},
                               {"i8", Scalar::i8},     {"u8", Scalar::u8},     {"i16", Scalar::i16}, {"u16", Scalar::u16},
                               {"i32", Scalar::i32},   {"u32", Scalar::u32},   {"i64", Scalar::i64}, {"u64", Scalar::u64}};

}  // namespace

// Guards the stack against deeply nested text.
struct Parser::Nesting {
  explicit Nesting(Parser& parser) : parser(parser) {
    if (++parser.depth_ > kDeepest) throw InternalError("line {} of a kernel: it is nested too deeply", parser.token().line);
  }
  ~Nesting() { --parser.depth_; }
  Parser& parser;
};

Parser::Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  tokens_.push_back({Token::Kind::end, false, tokens_.empty() ? 0 : tokens_.back().line, "the end"});
  while (token().kind != Token::Kind::end) function();
}

FunctionTree* Parser::find(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

Stmt& Parser::body_of(FunctionTree& function) {
  if (!function.body) {
    at_ = function.begin;
    function.body = statement();
  }
  return *function.body;
}

void Parser::fail(std::string_view expected) const {
  throw InternalError("line {} of a kernel: expected {}, found {}", token().line, expected, token().text);
}

bool Parser::take(std::string_view text) {
  if (token().kind == Token::Kind::end || !token().is(text)) return false;
  ++at_;
  return true;
}

void Parser::need(std::string_view text) {
  if (!take(text)) fail(text);
}

std::string_view Parser::need_name() {
  if (token().kind != Token::Kind::name) fail("a name");
  return tokens_[at_++].text;
}

void Parser::take_qualifiers() {
  for (;;) {
    if (take("const"))
      is_const_ = true;
    else if (!take("volatile"))
      return;
  }
}

bool Parser::take_type(Scalar& type) {
  is_const_ = false;
  take_qualifiers();
  bool found = false;
  if (token().kind == Token::Kind::name) {
    for (const TypeName& each : kTypes) {
      if (!token().is(each.text)) continue;
      type = each.type;
      found = true;
      ++at_;
      break;
    }
    if (!found && take("unsigned")) {
      take("int");
      type = Scalar::u32;
      found = true;
    }
  }
  if (found) take_qualifiers();
  if (!found && is_const_) fail("a type");
  return found;
}

void Parser::function() {
  if (take(";")) return;
  FunctionTree made;
  made.is_kernel = take("__kernel");
  if (!take_type(made.result)) fail("a function");
  made.name = need_name();
  need("(");
  while (!take(")")) {
    Parameter parameter;
    using Access = Parameter::Access;
    parameter.access = take("__read") ? Access::read : take("__update") ? Access::update : take("__write") ? Access::write : Access::none;
    if (!take_type(parameter.type)) fail("a parameter's type");
    parameter.is_pointer = take("*");
    take_qualifiers();
    parameter.name = need_name();
    made.parameters.push_back(parameter);
    if (!token().is(")")) need(",");
  }
  made.begin = at_;
  need("{");
  for (int depth = 1; depth > 0; ++at_) {
    if (token().kind == Token::Kind::end) fail("}");
    if (token().is("{")) ++depth;
    if (token().is("}")) --depth;
  }
  by_name_[made.name] = &functions_.emplace_back(std::move(made));
}

Stmt* Parser::statement() {
  const Nesting nesting(*this);
  Stmt made{Stmt::Kind::block, token().line};
  if (take("{")) {
    while (!take("}")) made.body.push_back(statement());
  } else if (take(";")) {
  } else if (take("if")) {
    made.kind = Stmt::Kind::branch;
    need("(");
    made.condition = expression();
    need(")");
    made.body.push_back(statement());
    if (take("else")) made.body.push_back(statement());
  } else if (token().is("__unroll") || token().is("for")) {
    made.kind = Stmt::Kind::loop;
    made.unrolls = take("__unroll");
    need("for");
    need("(");
    made.first = simple(true);
    need(";");
    if (!token().is(";")) made.condition = expression();
    need(";");
    if (!token().is(")")) made.step = expression();
    need(")");
    made.body.push_back(statement());
  } else if (take("while")) {
    made.kind = Stmt::Kind::loop;
    need("(");
    made.condition = expression();
    need(")");
    made.body.push_back(statement());
  } else if (take("do")) {
    made.kind = Stmt::Kind::loop_after;
    made.body.push_back(statement());
    need("while");
    need("(");
    made.condition = expression();
    need(")");
    need(";");
  } else if (take("break")) {
    made.kind = Stmt::Kind::leave;
    need(";");
  } else if (take("continue")) {
    made.kind = Stmt::Kind::next;
    need(";");
  } else if (take("return")) {
    made.kind = Stmt::Kind::give;
    if (!token().is(";")) made.condition = expression();
    need(";");
  } else {
    Stmt* result = simple(true);
    need(";");
    return result;
  }
  return &statements_.emplace_back(std::move(made));
}

// A declaration or an expression, without the semicolon; nothing is an empty block.
Stmt* Parser::simple(bool may_declare) {
  if (token().is(";")) return &statements_.emplace_back(Stmt{Stmt::Kind::block, token().line});
  Scalar type;
  const bool is_shared = take("__local");
  if (may_declare && take_type(type)) return declaration(type, is_shared, is_const_);
  if (is_shared) fail("a type");
  Stmt made{Stmt::Kind::expression, token().line};
  made.condition = expression();
  return &statements_.emplace_back(std::move(made));
}

Stmt* Parser::declaration(Scalar type, bool is_shared, bool is_const) {
  Stmt made{Stmt::Kind::declaration, token().line};
  made.type = type;
  made.is_shared = is_shared;
  made.is_const = is_const;
  do {
    Declarator each;
    each.is_pointer = take("*");
    take_qualifiers();
    each.name = need_name();
    while (take("[")) {
      each.dims.push_back(expression());
      need("]");
    }
    if (take("=")) {
      if (take("{")) {
        each.start = make(Expr::Kind::list);
        while (!take("}")) {
          each.start->operands.push_back(assignment());
          if (!token().is("}")) need(",");
        }
      } else {
        each.start = assignment();
      }
    }
    made.declarators.push_back(std::move(each));
  } while (take(","));
  return &statements_.emplace_back(std::move(made));
}

Expr* Parser::make(Expr::Kind kind, std::vector<Expr*> operands, Op op) {
  Expr& made = expressions_.emplace_back(Expr{kind});
  made.op = op;
  made.line = operands.empty() ? token().line : operands[0]->line;
  made.operands = std::move(operands);
  for (const Expr* operand : made.operands) made.depth = std::max(made.depth, operand->depth + 1);
  if (made.depth > kDeepestTree) throw InternalError("line {} of a kernel: it is nested too deeply", made.line);
  return &made;
}

Expr* Parser::expression() {
  Expr* left = assignment();
  while (take(",")) left = make(Expr::Kind::comma, {left, assignment()});
  return left;
}

Expr* Parser::assignment() {
  const Nesting nesting(*this);
  Expr* left = choice();
  if (take("=")) return make(Expr::Kind::assign, {left, assignment()});
  const std::string_view text = token().text;
  if (token().kind == Token::Kind::punctuator && text.size() > 1 && text.back() == '=')
    for (const BinaryOp& each : kBinary)
      if (each.level >= 3 && !compares(each.op) && each.text == text.substr(0, text.size() - 1)) {
        ++at_;
        return make(Expr::Kind::assign, {left, assignment()}, each.op);
      }
  return left;
}

Expr* Parser::choice() {
  Expr* condition = binary(1);
  if (!take("?")) return condition;
  Expr* yes = expression();
  need(":");
  return make(Expr::Kind::choice, {condition, yes, assignment()});
}

Expr* Parser::binary(int lowest) {
  Expr* left = unary();
  for (;;) {
    const BinaryOp* found = nullptr;
    if (token().kind == Token::Kind::punctuator)
      for (const BinaryOp& each : kBinary)
        if (token().is(each.text)) found = &each;
    if (!found || found->level < lowest) return left;
    ++at_;
    left = make(Expr::Kind::binary, {left, binary(found->level + 1)}, found->op);
  }
}

Expr* Parser::unary() {
  const Nesting nesting(*this);
  if (take("-")) return make(Expr::Kind::unary, {unary()}, Op::negate);
  if (take("+")) return unary();
  if (take("!")) return make(Expr::Kind::unary, {unary()}, Op::logical_not);
  if (take("~")) return make(Expr::Kind::unary, {unary()}, Op::bit_not);
  if (take("*")) return make(Expr::Kind::unary, {unary()}, Op::dereference);
  if (token().is("++") || token().is("--")) {
    const Op op = take("++") ? Op::add : (take("--"), Op::subtract);
    Expr* made = make(Expr::Kind::step, {unary()}, op);
    made->is_prefix = true;
    return made;
  }
  if (token().is("(")) {
    const size_t before = at_++;
    Scalar type;
    if (take_type(type)) {
      const bool to_pointer = take("*");
      need(")");
      Expr* made = make(Expr::Kind::cast, {unary()});
      made->type = type;
      made->to_pointer = to_pointer;
      return made;
    }
    at_ = before;
  }
  Expr* made = primary();
  for (;;) {
    if (take("[")) {
      made = make(Expr::Kind::index, {made, expression()});
      need("]");
    } else if (take("++")) {
      made = make(Expr::Kind::step, {made}, Op::add);
    } else if (take("--")) {
      made = make(Expr::Kind::step, {made}, Op::subtract);
    } else {
      return made;
    }
  }
}

Expr* Parser::primary() {
  if (take("(")) {
    Expr* inner = expression();
    need(")");
    return inner;
  }
  if (token().kind == Token::Kind::number) return literal(tokens_[at_++]);
  if (token().kind != Token::Kind::name) fail("an expression");
  Expr* made = make(Expr::Kind::name);
  made->name = tokens_[at_++].text;
  if (!take("(")) return made;
  made->kind = Expr::Kind::call;
  while (!take(")")) {
    made->operands.push_back(assignment());
    if (!token().is(")")) need(",");
  }
  return made;
}

Expr* Parser::literal(const Token& token) {
  Expr* made = make(Expr::Kind::integer);
  std::string_view text = token.text;
  const bool is_hexadecimal = text.starts_with("0x");
  bool is_unsigned = false;
  const auto not_understood = [&]() { return InternalError("line {} of a kernel: {} is not a number", token.line, text); };
  if (!is_hexadecimal && text.find_first_of(".ef") != std::string_view::npos) {
    if (text.back() == 'f') text.remove_suffix(1);
    float value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) throw not_understood();
    made->kind = Expr::Kind::real;
    made->type = Scalar::f32;
    made->bits = std::bit_cast<uint32_t>(value);
    return made;
  }
  while (!text.empty() && (text.back() == 'u' || text.back() == 'U' || text.back() == 'l' || text.back() == 'L')) {
    is_unsigned = is_unsigned || text.back() == 'u' || text.back() == 'U';
    text.remove_suffix(1);
  }
  if (is_hexadecimal) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), made->bits, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) throw not_understood();
  const uint64_t bits = made->bits;
  if (!is_unsigned && bits <= 0x7fffffff)
    made->type = Scalar::i32;
  else if ((is_unsigned || is_hexadecimal) && bits <= 0xffffffff)
    made->type = Scalar::u32;
  else
    made->type = is_unsigned || bits > 0x7fffffffffffffff ? Scalar::u64 : Scalar::i64;
  return made;
}

}  // namespace minnow::gpu
