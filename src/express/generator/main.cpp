// SPDX-License-Identifier: Apache-2.0
// Writes the operator functions of <minnow/operators.h> and their definitions from the operators' own definitions:
//   generate_operators HEADER SOURCE PYTHON
// and the same functions for Python, in the module minnow.expr.
// It is built and run while Minnow is built; see src/CMakeLists.txt.
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "express/generator/documentation.h"
#include "ops/operator.h"

namespace minnow {
namespace {

/// Words of C++ that an operator or one of its inputs is called by.
const std::set<std::string> kKeywords = {"and",      "or",       "not",  "xor",    "if",    "for",    "while", "default",
                                         "operator", "template", "bool", "int",    "float", "double", "auto",  "switch",
                                         "case",     "return",   "new",  "delete", "this",  "class",  "union"};

/// "Conv" -> "conv", "GlobalAveragePool" -> "global_average_pool", "LSTM" -> "lstm", "minnow.FusedConv" -> "fused_conv", "And" ->
/// "logical_and".
std::string function_name(std::string_view op) {
  const size_t dot = op.rfind('.');
  std::string name(dot == std::string_view::npos ? op : op.substr(dot + 1)), result;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto is = [&](size_t at, auto test) { return at < name.size() && test(static_cast<unsigned char>(name[at])) != 0; };
    const bool upper = is(i, [](int c) { return std::isupper(c); });
    const bool after_lower = i > 0 && !is(i - 1, [](int c) { return std::isupper(c); }) && name[i - 1] != '_';
    const bool before_lower = i > 0 && is(i - 1, [](int c) { return std::isupper(c); }) && is(i + 1, [](int c) { return std::islower(c); });
    if (upper && (after_lower || before_lower)) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  constexpr std::pair<std::string_view, std::string_view> kWritten[] = {
      {"mat_mul", "matmul"}, {"is_na_n", "isnan"}, {"is_inf", "isinf"}, {"p_relu", "prelu"}};
  for (const auto& [from, to] : kWritten)
    if (const size_t at = result.find(from); at != std::string::npos) result.replace(at, from.size(), to);
  return kKeywords.contains(result) ? "logical_" + result : result;
}

/// The name of a parameter or a member: lower case, and no word of C++.
std::string identifier(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  return kKeywords.contains(result) ? result + "_" : result;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string number(double value, bool real) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  std::string result = text.str();
  if (real && result.find_first_of(".e") == std::string::npos) result += ".0";
  return real ? result + "f" : result;
}

/// Lines of a comment of at most `width` characters.
std::string comment(std::string_view text, size_t width = 140) {
  std::istringstream words{std::string(text)};
  std::string line = "///", result, word;
  while (words >> word) {
    if (line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line = "///";
    }
    line += " " + word;
  }
  return line == "///" ? result : result + line + "\n";
}

bool is_dtype(const Operator& op, const AttributeSpec& attribute) {
  if (attribute.kind != AttributeKind::integer) return false;
  for (const OutputSpec& output : op.outputs)
    if (output.dtype.kind == DTypeRule::Kind::attribute && output.dtype.name == attribute.name) return true;
  return false;
}

/// The type of an attribute in the options (or of a parameter) and how its default is written.
struct Form {
  std::string type, fallback;
  bool compare = false;  // the default is left out of the node
};
Form form_of(const Operator& op, const AttributeSpec& attribute) {
  const bool has = attribute.has_default;
  if (is_dtype(op, attribute)) {
    if (has && attribute.default_number > 0) return {"DType", "static_cast<DType>(" + number(attribute.default_number, false) + ")", true};
    return {"DType", "DType::undefined", true};
  }
  switch (attribute.kind) {
    case AttributeKind::integer:
      if (has) return {"int64_t", number(attribute.default_number, false), true};
      return {attribute.required ? "int64_t" : "std::optional<int64_t>", ""};
    case AttributeKind::real:
      if (has) return {"float", number(attribute.default_number, true), true};
      return {attribute.required ? "float" : "std::optional<float>", ""};
    case AttributeKind::text:
      return {"std::string", has && !attribute.default_text.empty() ? in_quotes(attribute.default_text) : "", true};
    case AttributeKind::tensor:
      return {"Tensor", ""};
    case AttributeKind::integers:
      return {"std::vector<int64_t>", ""};
    case AttributeKind::reals:
      return {"std::vector<float>", ""};
    case AttributeKind::texts:
      return {"std::vector<std::string>", ""};
    case AttributeKind::graph:
    case AttributeKind::type:
      break;
  }
  return {};
}

/// The argument of Call::option() for an option, which is set only if it differs from its default or is present.
std::string as_option(const Form& form, const std::string& value) {
  if (form.type == "std::string") return value + ", " + (form.fallback.empty() ? "\"\"" : form.fallback);
  return form.fallback.empty() ? value : value + ", " + form.fallback;
}

// Python.

const std::set<std::string> kPythonKeywords = {"and",   "or",   "not",  "if",    "else",   "for",   "while",  "in",     "is",     "from",
                                               "def",   "as",   "pass", "with",  "global", "del",   "raise",  "return", "lambda", "try",
                                               "yield", "None", "True", "False", "class",  "break", "import", "except", "assert"};

std::string python_identifier(std::string_view name) {
  std::string result;
  for (const char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  return kPythonKeywords.contains(result) ? result + "_" : result;
}

/// The type of an attribute and its default, as Python writes them.
std::pair<std::string, std::string> python_form(const Operator& op, const AttributeSpec& attribute) {
  const bool has = attribute.has_default;
  if (is_dtype(op, attribute)) return {"DTypeLike | None", "None"};
  switch (attribute.kind) {
    case AttributeKind::integer:
      if (has) return {"int", number(attribute.default_number, false)};
      return {"int | None", "None"};
    case AttributeKind::real: {
      if (!has) return {"float | None", "None"};
      std::string text = number(attribute.default_number, true);
      return {"float", text.substr(0, text.size() - 1)};
    }
    case AttributeKind::text:
      if (has) return {"str", in_quotes(attribute.default_text)};
      return {"str | None", "None"};
    case AttributeKind::tensor:
      return {"VarLike | None", "None"};
    case AttributeKind::integers:
      return {"Sequence[int] | None", "None"};
    case AttributeKind::reals:
      return {"Sequence[float] | None", "None"};
    default:
      return {"Sequence[str] | None", "None"};
  }
}

/// A text for a docstring, in lines of at most `width` characters.
std::string python_text(std::string_view text, const std::string& indent, size_t width = 120) {
  std::istringstream words{std::string(text)};
  std::string line = indent, result, word;
  while (words >> word) {
    for (size_t at = 0; (at = word.find('\\', at)) != std::string::npos; at += 2) word.insert(at, 1, '\\');
    if (line.size() + word.size() > width && line != indent) {
      line.pop_back();
      result += line + "\n";
      line = indent;
    }
    line += word + " ";
  }
  if (line == indent) return result;
  line.pop_back();
  return result + line + "\n";
}

const char* dtype_name(DType dtype) {
  constexpr std::pair<DType, const char*> kNames[] = {{DType::boolean, "bool"},
                                                      {DType::i8, "int8"},
                                                      {DType::i16, "int16"},
                                                      {DType::i32, "int32"},
                                                      {DType::i64, "int64"},
                                                      {DType::u8, "uint8"},
                                                      {DType::u16, "uint16"},
                                                      {DType::u32, "uint32"},
                                                      {DType::u64, "uint64"},
                                                      {DType::f16, "float16"},
                                                      {DType::bf16, "bfloat16"},
                                                      {DType::f32, "float32"},
                                                      {DType::f64, "float64"},
                                                      {DType::complex64, "complex64"},
                                                      {DType::complex128, "complex128"},
                                                      {DType::f8e4m3fn, "float8_e4m3fn"},
                                                      {DType::f8e5m2, "float8_e5m2"},
                                                      {DType::f8e4m3fnuz, "float8_e4m3fnuz"},
                                                      {DType::f8e5m2fnuz, "float8_e5m2fnuz"},
                                                      {DType::f8e8m0, "float8_e8m0fnu"},
                                                      {DType::f4e2m1, "float4_e2m1fn"},
                                                      {DType::i4, "int4"},
                                                      {DType::u4, "uint4"},
                                                      {DType::i2, "int2"},
                                                      {DType::u2, "uint2"},
                                                      {DType::string, "str"}};
  for (const auto& [known, name] : kNames)
    if (known == dtype) return name;
  return "a dtype of its own";
}

/// "floating or integer", "int32 or int64", "any dtype".
std::string dtypes_text(DTypes set) {
  if ((set & kAny) == kAny) return "any dtype";
  std::vector<std::string> parts;
  const auto take = [&](DTypes group, const char* name) {
    if ((set & group) != group) return;
    parts.emplace_back(name);
    set &= ~group;
  };
  take(kFloats, "floating");
  take(kInts, "integer");
  take(kSigned, "signed integer");
  take(kUnsigned, "unsigned integer");
  take(kFloat8, "small floating (4 and 8 bits)");
  take(kSubByte, "small integer (2 and 4 bits)");
  const bool groups = set == 0;
  for (int i = 0; i < 32; ++i)
    if (contains(set, static_cast<DType>(i))) parts.emplace_back(dtype_name(static_cast<DType>(i)));
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
  return groups ? (text.starts_with("integer") ? "an " : "a ") + text + " dtype" : text;
}

std::string input_text(const InputSpec& input) {
  if (input.kinds == kSequences) return "a sequence";
  std::string text =
      !input.like.empty() && input.like != input.name ? "the dtype of " + python_identifier(input.like) : dtypes_text(input.dtypes);
  if (input.kinds & kSequences) text += ", or a sequence";
  if (input.kinds & kOptionals) text += ", or an optional";
  if (input.arity == Arity::variadic) text = "a list of arrays, " + (input.like == input.name ? text + ", all of one dtype" : text);
  return text + (input.arity == Arity::optional ? "; may be left out" : "");
}

/// Empty if the definition has no simple rule.
std::string output_text(const Operator& op, const OutputSpec& output) {
  if (op.infer) return {};
  const DTypeRule& rule = output.dtype;
  if (rule.kind == DTypeRule::Kind::same_as) return "the dtype of " + python_identifier(rule.name);
  if (rule.kind == DTypeRule::Kind::fixed) return dtype_name(rule.dtype);
  return "the dtype that " + python_identifier(rule.name) + " says";
}

/// Inputs, results and errors, as the definition knows them.
std::string python_contract(const Operator& op, bool many, const std::vector<std::string>& names, const std::string& options) {
  const Documentation& more = documentation_of(op.name);
  std::string text;
  for (size_t i = 0; i < op.inputs.size(); ++i) text += python_text(names[i] + ": " + input_text(op.inputs[i]), "    ");
  text += options;
  std::string shape(more.shape);
  if (shape.empty() && op.elementwise)
    shape =
        op.inputs.size() == 1 && op.inputs[0].arity == Arity::required ? "that of " + names[0] : "those of the inputs, broadcast together";
  std::string dtypes;
  for (size_t i = 0; i < (many ? op.outputs.size() : 1) && op.outputs[i].arity != Arity::kept; ++i)
    if (const std::string dtype = output_text(op, op.outputs[i]); !dtype.empty())
      dtypes += (dtypes.empty() ? "" : "; ") + (many ? python_identifier(op.outputs[i].name) + ": " : "") + dtype;
  if (!dtypes.empty() || !shape.empty()) text += "\n";
  if (!dtypes.empty()) text += python_text("Dtype: " + dtypes + ".", "    ");
  if (!shape.empty()) text += python_text("Shape: " + shape + ".", "    ");
  std::string raises = "Raises InvalidModel (a ValueError) for dtypes and shapes that do not fit, InvalidType (a TypeError) for ";
  raises += op.attributes.empty() ? "what is no array" : "what is no array and for options of another type";
  if (!more.error.empty()) raises += ", and InvalidArgument (a ValueError), when the result is read, where " + std::string(more.error);
  text += "\n" + python_text(raises + ".", "    ");
  return text;
}

/// The stub of a function for type checkers: Vars for Vars, arrays of NumPy for arrays of NumPy (minnow._functions), Vars for both.
std::string python_stub(const std::string& name, std::string_view parameters, bool many) {
  std::string text;
  const auto overload = [&](std::string_view array, std::string_view made) {
    constexpr std::string_view kAny = "VarLike";
    text += "@overload\ndef " + name + "(";
    size_t from = 0;
    for (size_t at; (at = parameters.find(kAny, from)) != std::string_view::npos; from = at + kAny.size())
      text.append(parameters.substr(from, at - from)).append(array);
    text.append(parameters.substr(from)).append(") -> ").append(many ? "list[" : "").append(made).append(many ? "]: ...\n" : ": ...\n");
  };
  overload("_Vars", "Var");
  overload("_Arrays", "NDArray[Any]");
  overload("VarLike", "Var");
  return text;
}

/// The function of an operator for Python: as in C++, with the options as keywords; `stub` becomes its stub.
std::string python_function(const Operator& op, const std::string& name, bool many, bool counted, size_t outputs, std::string& stub) {
  std::set<std::string> taken{"outputs"};
  const auto fresh = [&](std::string id) {
    while (!taken.insert(id).second) id += "_";
    return id;
  };
  size_t needed = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.inputs[i].arity != Arity::optional) needed = i + 1;
  std::vector<std::string> parameters;
  std::string inputs, described;
  std::vector<std::string> names;
  for (const InputSpec& input : op.inputs) names.push_back(fresh(python_identifier(input.name)));
  const auto add_input = [&](size_t i) {
    const bool list = op.inputs[i].arity == Arity::variadic;
    parameters.push_back(names[i] +
                         (list                                                   ? ": Sequence[VarLike]"
                          : i >= needed || op.inputs[i].arity == Arity::optional ? ": VarLike | None"
                                                                                 : ": VarLike") +
                         (i >= needed ? " = None" : ""));
  };
  if (counted) parameters.push_back("outputs: int");
  for (size_t i = 0; i < needed; ++i) add_input(i);
  std::string attributes;
  std::vector<std::string> options;
  for (const AttributeSpec& attribute : op.attributes) {
    const std::string id = fresh(python_identifier(attribute.name));
    auto [type, fallback] = python_form(op, attribute);
    if (attribute.required && type.ends_with(" | None")) type.resize(type.size() - 7);
    (attribute.required ? parameters : options).push_back(id + ": " + type + (attribute.required ? "" : " = " + fallback));
    attributes += (attributes.empty() ? "" : ", ") + in_quotes(attribute.name) + ": " + id;
    if (!attribute.doc.empty()) described += python_text(id + ": " + std::string(attribute.doc), "    ");
  }
  for (size_t i = needed; i < op.inputs.size(); ++i) add_input(i);
  for (size_t i = 0; i < op.inputs.size(); ++i) inputs += (op.inputs[i].arity == Arity::variadic ? "*" : "") + names[i] + ", ";
  std::string signature;
  for (const std::string& parameter : parameters) signature += (signature.empty() ? "" : ", ") + parameter;
  if (!options.empty()) {
    signature += signature.empty() ? "*" : ", *";
    for (const std::string& option : options) signature += ", " + option;
  }
  const bool takes_arrays = signature.find("VarLike") != std::string::npos;
  stub = takes_arrays ? python_stub(name, signature, many)
                      : "def " + name + "(" + signature + ") -> " + (many ? "list[Var]" : "Var") + ": ...\n";
  std::string text = "\n\ndef " + name + "(" + signature;
  text += many ? ") -> list[Var]:\n" : ") -> Var:\n";
  // The source stands on a line of its own.
  const Documentation& more = documentation_of(op.name);
  std::string_view meaning = op.doc, source = more.source;
  if (const size_t at = meaning.find(" Source: "); at != std::string_view::npos && meaning.find(". ", at) == std::string_view::npos) {
    source = meaning.substr(at + 9);
    meaning = meaning.substr(0, at);
  }
  std::string doc = python_text(std::string(meaning) + " (" + std::string(op.name) + ")", "    ");
  doc += "\n" + python_contract(op, many, names, described);
  if (!source.empty() && meaning.find("Source:") == std::string_view::npos)
    doc += "\n" + python_text("Source: " + std::string(source) + (source.ends_with(".") ? "" : "."), "    ");
  if (!counted && !more.examples.empty()) {
    doc += "\n";
    for (const Example& example : more.examples) {
      std::string output(example.output);
      for (size_t at = 0; (at = output.find('\n', at)) != std::string::npos; at += 5) output.insert(at + 1, "    ");
      doc += "    >>> " + std::string(example.code) + "\n" + (output.empty() ? "" : "    " + output + "\n");
    }
  }
  text += "    r\"\"\"" + doc.substr(4) + "    \"\"\"\n";
  text += std::string("    return ") + (many ? "_ops(" : "_op(") + in_quotes(op.name) + ", (" + inputs + ")" +
          (many ? ", " + (counted ? std::string("outputs") : std::to_string(outputs)) : "") +
          (attributes.empty() ? "" : ", {" + attributes + "}") + ")\n";
  return text;
}

class Writer {
 public:
  void add(const Operator& op) {
    if (op.name == "Constant") return;  // constant(), which takes any tensor
    for (const AttributeSpec& attribute : op.attributes)
      if (attribute.kind == AttributeKind::graph || attribute.kind == AttributeKind::type)
        return;  // cond, while_loop, scan; Optional's type
    std::string name = function_name(op.name);
    if (!names_.insert(name).second) throw InvalidArgument("two operators have the function name \"{}\"", name);
    std::string options = name + "_options";
    options[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(options[0])));
    for (size_t at; (at = options.find('_')) != std::string::npos;) {
      options.erase(at, 1);
      options[at] = static_cast<char>(std::toupper(static_cast<unsigned char>(options[at])));
    }

    // Parameters: inputs and required attributes that must be given, inputs that may be left out, options, number of outputs.
    struct Parameter {
      std::string type, name, fallback;
    };
    std::vector<Parameter> parameters;
    std::set<std::string> taken{"options", "outputs"};
    const auto fresh = [&](std::string id) {
      while (!taken.insert(id).second) id += "_";
      return id;
    };
    size_t needed = 0;  // inputs up to the last one that is required
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i].arity != Arity::optional) needed = i + 1;
    std::vector<std::string> inputs;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      inputs.push_back(fresh(identifier(op.inputs[i].name)));
    }
    const auto add_input = [&](size_t i) {
      const bool many = op.inputs[i].arity == Arity::variadic;
      parameters.push_back({many ? "Vars" : "Var", inputs[i], i >= needed ? " = {}" : ""});
    };
    for (size_t i = 0; i < needed; ++i) add_input(i);
    std::string set, members;
    for (const AttributeSpec& attribute : op.attributes) {
      const Form form = form_of(op, attribute);
      std::string id = identifier(attribute.name);
      if (attribute.required) {
        id = fresh(id);
        const bool plain = form.type == "int64_t" || form.type == "float" || form.type == "DType";
        parameters.push_back({plain ? form.type : "const " + form.type + "&", id, ""});
        set += "  call.set(" + in_quotes(attribute.name) + ", " + id + ");\n";
        continue;
      }
      std::string doc = comment(attribute.doc, 136);
      for (size_t at = 0; (at = doc.find("///", at)) != std::string::npos; at += 5) doc.insert(at, "  ");
      members += doc + "  " + form.type + " " + id + (form.fallback.empty() ? "" : " = " + form.fallback) +
                 (form.type.starts_with("std::optional") || !form.fallback.empty() ? "" : " = {}") + ";\n";
      set += "  call.option(" + in_quotes(attribute.name) + ", " + as_option(form, "options." + id) + ");\n";
    }
    for (size_t i = needed; i < op.inputs.size(); ++i) add_input(i);
    if (!members.empty()) {
      header_ << "/// Options of " << name << "().\nstruct " << options << " {\n" << members << "};\n";
      parameters.push_back({"const " + options + "&", "options", " = {}"});
    }

    // With one required output and optional others, the function returns the first, and NAME_outputs returns as many as requested.
    size_t required_outputs = 0;
    bool variadic_outputs = false;
    for (const OutputSpec& output : op.outputs) {
      required_outputs += output.arity == Arity::required;
      variadic_outputs |= output.arity == Arity::variadic;
    }
    size_t all = op.outputs.size();
    while (all > 0 && op.outputs[all - 1].arity == Arity::kept) --all;
    const auto signature = [&](bool defaults, const std::string& result, const std::string& function, bool count) {
      std::string text = result + " " + function + "(";
      bool first = true;
      if (count) text += "size_t outputs", first = false;
      for (const Parameter& parameter : parameters) {
        text += (first ? "" : ", ") + parameter.type + " " + parameter.name + (defaults ? parameter.fallback : "");
        first = false;
      }
      return text + ")";
    };
    std::string body = "  static constinit express::Site site{nullptr};\n  express::Call call(site, " + in_quotes(op.name) + ");\n" + set;
    for (const std::string& input : inputs) body += "  call.add(std::move(" + input + "));\n";
    const std::string doc = comment(std::string(op.doc) + " (" + std::string(op.name) + ")");
    bool plain = set.empty();  // nothing but tensors
    for (const InputSpec& input : op.inputs) plain &= input.arity != Arity::variadic;
    std::string plain_body =
        "  static constinit express::Site site{nullptr};\n  return express::call_of(site, " + in_quotes(op.name) + ", {";
    for (const std::string& input : inputs) plain_body += (&input == inputs.data() ? "&" : ", &") + input;
    plain_body += "});";
    const auto write = [&](const std::string& result, const std::string& function, bool count, const std::string& end) {
      std::string stub;
      python_ << python_function(op, function, result == "Vars", count, all, stub);
      stubs_ << stub;
      python_names_ += "    \"" + function + "\",\n";
      header_ << doc << "MINNOW_API " << signature(true, result, function, count) << ";\n";
      const bool whole = plain && result == "Var";  // call_of() does all of it
      source_ << signature(false, result, function, count) << (whole ? " {\n" : " try {\n") << (whole ? plain_body : body + "  " + end)
              << (whole ? "\n}\n" : "\n} catch (...) {\n  throw_as_error();\n}\n");
    };
    const bool single = required_outputs == 1 && !variadic_outputs && (all == 1 || op.outputs[0].arity == Arity::required);
    if (single) {
      write("Var", name, false, "return call.one();");
      if (all > 1) write("Vars", name + "_outputs", true, "return call.many(outputs);");
    } else if (variadic_outputs) {
      write("Vars", name, true, "return call.many(outputs);");
    } else {
      write("Vars", name, false, "return call.many(" + std::to_string(all) + ");");
    }
    header_ << "\n";
    source_ << "\n";
    ++count_;
  }

  void save(const char* header, const char* source, const char* python) const {
    std::ofstream h(header), s(source), p(python);
    h << "// SPDX-License-Identifier: Apache-2.0\n// A function for each operator, made from the operators' definitions while Minnow was "
         "built.\n"
         "// Inputs come first, then what must be said; `Var()` leaves an optional input out.\n"
         "#pragma once\n#include <minnow/express.h>\n\nnamespace minnow::expr {\n\n"
      << header_.str() << "}  // namespace minnow::expr\n";
    s << "// SPDX-License-Identifier: Apache-2.0\n#include <minnow/express.h>\n\n#include \"base/no_memory.h\"\n#include "
         "\"express/call.h\"\n\nnamespace minnow::expr "
         "{\n\n"
      << source_.str() << "}  // namespace minnow::expr\n";
    p << "# SPDX-License-Identifier: Apache-2.0\n\"\"\"A function for each operator, made from the operators' definitions while Minnow was "
         "built.\n\nInputs come first, then what must be said, then optional inputs; options are keywords.\n\"\"\"\n"
         "from __future__ import annotations\n\nfrom typing import Sequence\n\nfrom minnow._minnow import Var, op as _op, ops as _ops\n"
         "from minnow._typing import DTypeLike, VarLike\n\n__all__ = [\n"
      << python_names_ << "]\n"
      << python_.str();
    std::ofstream t(std::string(python) + "i", std::ios::binary);
    t << "# SPDX-License-Identifier: Apache-2.0\nfrom typing import Any, Sequence, Union, overload\n\nimport numpy\nfrom numpy.typing "
         "import "
         "NDArray\n\nfrom minnow._minnow import Var\nfrom minnow._typing import DTypeLike, VarLike\n\n"
         "_Vars = Union[Var, complex, Sequence[\"_Vars\"]]\n"
         "_Arrays = Union[NDArray[Any], numpy.inexact[Any], complex, Sequence[\"_Arrays\"]]\n\n__all__ = [\n"
      << python_names_ << "]\n\n"
      << stubs_.str();
    if (!h.flush() || !s.flush() || !p.flush() || !t.flush())
      throw InvalidArgument("{}, {} or {} cannot be written", header, source, python);
  }

 private:
  std::ostringstream header_, source_, python_, stubs_;
  std::string python_names_;
  std::set<std::string> names_{"op",      "ops",  "constant", "placeholder", "trainable", "evaluate",   "clone",
                               "replace", "load", "save",     "apply",       "cond",      "while_loop", "scan"};
  size_t count_ = 0;
};

}  // namespace
}  // namespace minnow

int main(int argc, char** argv) try {
  if (argc != 4) return std::fputs("usage: generate_operators HEADER SOURCE PYTHON\n", stderr), 2;
  minnow::Writer writer;
  for (const minnow::Operator* op : minnow::OperatorSet::builtin().list()) writer.add(*op);
  writer.save(argv[1], argv[2], argv[3]);
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
