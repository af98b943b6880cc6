// SPDX-License-Identifier: Apache-2.0
// Kernels as trees: what the parser makes of tokens.
#pragma once
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "backends/gpu/shaders/preprocessor.h"

namespace minnow::gpu {

/// `boolean` is the type of comparisons alone; it becomes i32 where a number is needed. The order is that of C's conversions.
enum class Scalar : uint8_t { none, boolean, i8, u8, i16, u16, i32, u32, i64, u64, f32 };

constexpr bool is_signed(Scalar s) { return s == Scalar::i8 || s == Scalar::i16 || s == Scalar::i32 || s == Scalar::i64; }
constexpr bool is_long(Scalar s) { return s == Scalar::i64 || s == Scalar::u64; }
constexpr uint32_t bytes_of(Scalar s) {
  return s == Scalar::i8 || s == Scalar::u8 ? 1 : s == Scalar::i16 || s == Scalar::u16 ? 2 : is_long(s) ? 8 : 4;
}
/// The type that arithmetic on a value has.
constexpr Scalar promoted(Scalar s) { return s < Scalar::i32 ? Scalar::i32 : s; }
constexpr Scalar joined(Scalar a, Scalar b) { return std::max(promoted(a), promoted(b)); }

enum class Op : uint8_t {
  none,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  negate,
  bit_not,
  logical_not,
  dereference
};
constexpr bool compares(Op op) { return op >= Op::equal && op <= Op::greater_equal; }

struct Expr {
  enum class Kind : uint8_t { integer, real, name, unary, step, binary, assign, choice, call, index, cast, comma, list };
  Kind kind;
  Op op = Op::none;            // of unary, binary; of assign: the operation of `a op= b`; of step: add or subtract
  bool is_prefix = false;      // of step
  bool to_pointer = false;     // of cast
  Scalar type = Scalar::none;  // of literals and casts; of all others what was found out
  bool is_typed = false;
  uint32_t line = 0, depth = 0;
  std::string_view name = {};  // also of the called function
  uint64_t bits = 0;           // of literals
  std::vector<Expr*> operands = {};
};

struct Declarator {
  std::string_view name;
  bool is_pointer = false;
  std::vector<Expr*> dims;
  Expr* start = nullptr;
};

struct Stmt {
  enum class Kind : uint8_t { block, expression, declaration, branch, loop, loop_after, leave, next, give };
  Kind kind;
  uint32_t line = 0;
  bool unrolls = false, is_shared = false, is_const = false;
  Scalar type = Scalar::none;  // of a declaration
  std::vector<Declarator> declarators = {};
  Stmt* first = nullptr;      // of a loop: what happens before
  Expr* condition = nullptr;  // also: the expression, the result
  Expr* step = nullptr;
  std::vector<Stmt*> body = {};  // of a branch: then, else
};

struct Parameter {
  enum class Access : uint8_t { none, read, update, write };
  std::string_view name;
  Scalar type = Scalar::none;
  bool is_pointer = false;
  Access access = Access::none;  // of a kernel's buffers
};

struct FunctionTree {
  std::string_view name;
  bool is_kernel = false;
  Scalar result = Scalar::none;  // none: void
  std::vector<Parameter> parameters;
  size_t begin = 0;  // of the body among the tokens; it is parsed when the function is first called
  Stmt* body = nullptr;
};

/// Finds functions and parses their bodies.
class Parser {
 public:
  /// Throws InternalError with the line, as body_of() does.
  explicit Parser(std::vector<Token> tokens);
  FunctionTree* find(std::string_view name);
  Stmt& body_of(FunctionTree& function);

 private:
  struct Nesting;
  [[noreturn]] void fail(std::string_view expected) const;
  const Token& token(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool take(std::string_view text);
  void need(std::string_view text);
  std::string_view need_name();
  bool take_type(Scalar& type);
  void take_qualifiers();
  void function();
  Stmt* statement();
  Stmt* declaration(Scalar type, bool is_shared, bool is_const);
  Stmt* simple(bool may_declare);
  Expr* expression();
  Expr* assignment();
  Expr* choice();
  Expr* binary(int lowest);
  Expr* unary();
  Expr* primary();
  Expr* literal(const Token& token);
  Expr* make(Expr::Kind kind, std::vector<Expr*> operands = {}, Op op = Op::none);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  bool is_const_ = false;
  std::deque<Expr> expressions_;
  std::deque<Stmt> statements_;
  std::deque<FunctionTree> functions_;
  std::unordered_map<std::string_view, FunctionTree*> by_name_;
};

}  // namespace minnow::gpu
