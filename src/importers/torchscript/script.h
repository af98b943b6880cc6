// SPDX-License-Identifier: Apache-2.0
// The source text inside a TorchScript file: a printed intermediate form that looks like Python and is a small part of it. A parser to a
// syntax tree; nothing is run here.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::torchscript {

struct Syntax;
using SyntaxPtr = std::unique_ptr<Syntax>;

/// An expression.
struct Syntax {
  enum class Kind : uint8_t { name, integer, real, text, none, boolean, negative, attribute, index, slice, call, list, tuple, dict };
  Kind kind;
  uint32_t line = 0, height = 0;
  std::string text;  // name; attribute; text
  int64_t integer = 0;
  double real = 0;
  // negative, attribute, index: one or two; slice: object, from, to (null: absent); call: the function, then arguments;
  // list, tuple: items; dict: keys and values alternately.
  std::vector<SyntaxPtr> parts;
  std::vector<std::string> keywords;  // call: the names of the last arguments
};

struct Statement;
using Block = std::vector<Statement>;
struct Function;

struct Statement {
  enum class Kind : uint8_t { assign, expression, give_back, pass, branch, counted, repeated, context, function };
  Kind kind = Kind::pass;
  uint32_t line = 0;
  /// assign: `targets = values`. With `unpacks` the one value is taken apart. context: the name after `as`, if any. counted: the name.
  std::vector<SyntaxPtr> targets, values;  // values also: expression, return, condition, count, context
  bool unpacks = false;
  SyntaxPtr type;      // annotation of an assignment
  Block body, orelse;  // branch, counted, repeated, context
  std::shared_ptr<Function> function;
};

struct Parameter {
  std::string name;
  SyntaxPtr type, fallback;  // null if absent
};

struct Function {
  std::string name;
  uint32_t line = 0;
  std::vector<Parameter> parameters;
  Block body;
};

struct Class {
  std::string name, base;
  std::map<std::string, SyntaxPtr, std::less<>> types;      // of attributes
  std::map<std::string, SyntaxPtr, std::less<>> constants;  // Final, or an enum's
  std::vector<std::string> fields;                          // in the order of the file
  std::map<std::string, std::shared_ptr<Function>, std::less<>> methods;
};

/// One file of the archive's folder code/.
struct Module {
  std::string path;
  std::map<std::string, std::shared_ptr<Class>, std::less<>> classes;
  std::map<std::string, std::shared_ptr<Function>, std::less<>> functions;
};

/// Throws InvalidModel: `place` is the beginning of the sentence, the line follows.
Module parse_module(std::string_view text, const std::string& place);

/// "List[int]", "Optional[Tuple[Tensor, Tensor]]": a type as it was written.
std::string type_text(const Syntax* type);

}  // namespace minnow::torchscript
