// SPDX-License-Identifier: Apache-2.0
// Translates the tree of a kernel to instructions of a Target. It folds constants, knows which variable each pointer points into, and
// makes one function of a shader from each function of the source and each set of arrays that it is called with.
#pragma once
#include <memory>

#include "backends/gpu/shaders/target.h"

namespace minnow::gpu {

/// Types that the device has, and that need no emulation.
struct Abilities {
  bool has_i64 = false, has_8bit_storage = false, has_16bit_storage = false;
};

class Translator {
 public:
  Translator(Target& target, const ShaderOptions& options, const Abilities& abilities);
  /// Throws InternalError with the line; Unsupported.
  ShaderInterface translate(std::string_view source, std::string_view function);

 private:
  using Id = Target::Id;
  struct Value {
    Scalar type = Scalar::none;
    Id id = 0;          // 0: known
    uint64_t bits = 0;  // of a known value; integers of all types as i64 or u64
    bool is_known() const { return id == 0; }
  };
  struct Variable {
    Scalar type;
    Id id = 0;
    std::vector<uint32_t> dims = {};
    bool is_shared = false, is_buffer = false, is_emulated = false;
    uint32_t buffer = 0, word = 0;  // of a buffer: its number, and its parameter's
    Id first = 0;                   // in the kernel itself: the parameter's value
  };
  // A variable, or a place among its elements.
  struct Place {
    Variable* variable = nullptr;
    Scalar type = Scalar::none;
    Value index = {Scalar::i32};
    size_t depth = 0;  // dimensions that were indexed
  };
  struct Name {
    std::string_view name;
    Value value;  // if it has no place
    Place place;
  };
  struct Given {
    Value value;
    Place place;  // of a pointer
  };
  struct Loop {
    Expr* step;
    Expr* condition_after;
  };
  struct Made {
    FunctionTree* tree;
    std::vector<Variable*> arrays;   // that pointers point into
    std::vector<uint8_t> has_index;  // which begin elsewhere than at the first element
    Id id;
  };

  // Functions and statements (translator.cpp)
  FunctionTree* find(std::string_view name, Parser*& parser);
  void kernel(FunctionTree& tree, Parser& parser, ShaderInterface& interface);
  Value call_function(const Expr& call);
  Value call_with(std::string_view name, std::span<const Given> given, uint32_t line);
  void make_function(Made& made, Parser& parser);
  bool statement(const Stmt& s);  // false: what follows is not reached
  bool branch(const Stmt& s);
  bool loop(const Stmt& s);
  bool unrolled(const Stmt& s, bool& goes_on);
  void declaration(const Stmt& s);
  void assign_list(const Expr& list, Variable& variable);
  const Name* lookup(std::string_view name) const;
  Value boundary(const Expr& expr);
  [[noreturn]] void fail(uint32_t line, std::string_view reason) const;

  // Expressions (expressions.cpp)
  Scalar type_of(Expr& e);
  Scalar find_type(Expr& e);
  Value value(Expr& e);
  Value binary(Expr& e);
  Value logical(Expr& e);
  Value choice(Expr& e);
  Value assign(Expr& e);
  Value call(Expr& e);
  Value condition(Expr& e);
  Place place_of(Expr& e);
  bool is_pointer(const Expr& e) const;
  uint32_t axis_of(Expr& e);

  // Values (values.cpp)
  Form form_of(Scalar type) const;
  Id id_of(const Value& v);
  Value known(Scalar type, uint64_t bits) const;
  Value convert(Value v, Scalar to);
  Value narrow(Value v, Scalar to);
  Value arithmetic(Op op, Value a, Value b, uint32_t line);
  Value unary(Op op, Value a);
  Value select(const Value& condition, const Value& yes, const Value& no);
  Value is_nan(const Value& v);
  Value is_infinite(const Value& v);
  Value load(const Place& place);
  void store(const Place& place, Value v);
  Id buffer_index(const Place& place);

  Target& target_;
  const ShaderOptions& options_;
  Abilities abilities_;
  Preprocessor preprocessor_;
  std::vector<std::unique_ptr<Parser>> parsers_;
  std::deque<Variable> variables_;
  std::vector<Name> names_;
  size_t function_names_ = 0;  // where the names of the function begin; those of the kernel are hidden within others
  std::vector<Loop> loops_;
  std::vector<Made> made_;
  uint64_t copies_ = 1;  // of the statement, by loops around it that are unrolled
  std::vector<FunctionTree*> active_;
  Scalar result_ = Scalar::none;  // of the function
  bool in_kernel_ = true;
  uint32_t words_ = 0;  // of the parameters
  size_t shared_bytes_ = 0;
};

}  // namespace minnow::gpu
