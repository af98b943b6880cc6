// SPDX-License-Identifier: Apache-2.0
#include "ops/custom.h"
#include "ops/gradient.h"

#include <minnow/minnow_c.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/numeric.h"
#include "base/os.h"

namespace minnow {
namespace {

// Libraries of before schemes and gradients have tables of so many bytes.
constexpr size_t kFirstTableSize = offsetof(minnow_custom_op, schemes);

minnow_tensor describe(const ValueInfo& info, const void* data) {
  minnow_tensor tensor{};
  tensor.dtype = static_cast<int32_t>(info.dtype);
  tensor.rank = info.extent == ValueInfo::Extent::exact ? static_cast<int32_t>(info.shape.rank()) : -1;
  for (size_t i = 0; i < info.shape.rank(); ++i) tensor.dims[i] = info.shape[i];
  tensor.data = const_cast<void*>(data);
  return tensor;
}

template <class T>
const T* attribute(const minnow_op_call* call, const char* name) {
  return call->node->node().attributes.get<T>(name);
}

size_t input_count(const minnow_op_call* call) { return call->inputs.size(); }
size_t output_count(const minnow_op_call* call) { return call->outputs.size(); }
const minnow_tensor* input(const minnow_op_call* call, size_t i) { return i < call->inputs.size() ? &call->inputs[i] : nullptr; }
minnow_tensor* output(minnow_op_call* call, size_t i) { return i < call->outputs.size() ? &call->outputs[i] : nullptr; }

void* allocate_output(minnow_op_call* call, size_t i, int32_t rank, const int64_t* dims) {
  if (!call->args || i >= call->outputs.size() || rank < 0 || rank > MINNOW_MAX_RANK) {
    call->failure = "asks for memory of an output that it cannot have";
    return nullptr;
  }
  try {
    const MutableTensorView view = call->args->allocate_output(i, Shape(std::span<const int64_t>(dims, static_cast<size_t>(rank))));
    static char nothing;
    return view.data() ? view.data() : &nothing;
  } catch (const std::exception& error) {
    call->failure = error.what();
    return nullptr;
  }
}

int attribute_int(const minnow_op_call* call, const char* name, int64_t* value) {
  const int64_t* found = attribute<int64_t>(call, name);
  return found ? (*value = *found, 1) : 0;
}
int attribute_float(const minnow_op_call* call, const char* name, float* value) {
  const float* found = attribute<float>(call, name);
  return found ? (*value = *found, 1) : 0;
}
int attribute_string(const minnow_op_call* call, const char* name, const char** text, size_t* length) {
  const std::string* found = attribute<std::string>(call, name);
  return found ? (*text = found->data(), *length = found->size(), 1) : 0;
}
int attribute_ints(const minnow_op_call* call, const char* name, const int64_t** values, size_t* count) {
  const Ints* found = attribute<Ints>(call, name);
  return found ? (*values = found->data(), *count = found->size(), 1) : 0;
}
int attribute_floats(const minnow_op_call* call, const char* name, const float** values, size_t* count) {
  const Floats* found = attribute<Floats>(call, name);
  return found ? (*values = found->data(), *count = found->size(), 1) : 0;
}
int attribute_tensor(const minnow_op_call* call, const char* name, minnow_tensor* value) {
  const Tensor* found = attribute<Tensor>(call, name);
  if (!found) return 0;
  ValueInfo info;
  info.dtype = found->dtype();
  info.shape = found->shape();
  *value = describe(info, found->data());
  return 1;
}
void need_contents(minnow_op_call* call, size_t i) { call->needed = i; }
void fail(minnow_op_call* call, const char* sentence) {
  if (call->failure.empty()) call->failure = sentence ? sentence : "failed";
}

// For schemes.
int32_t threads(const minnow_op_call* call) { return call->services ? call->services->threads() : 1; }
int32_t precision(const minnow_op_call* call) { return call->services ? call->services->precision() : MINNOW_PRECISION_NORMAL; }
double flop_time(const minnow_op_call* call, double operations, double efficiency) {
  return call->services ? call->services->flop_time(operations, efficiency) : 0;
}
double byte_time(const minnow_op_call* call, double bytes) { return call->services ? call->services->byte_time(bytes) : 0; }
void* scratch(const minnow_op_call* call) { return call->services ? call->services->scratch() : nullptr; }
void parallel_for(minnow_op_call* call, size_t tasks, void (*task)(void* context, size_t i), void* context) {
  if (call->services) return call->services->parallel_for(tasks, [=](size_t i) { task(context, i); });
  for (size_t i = 0; i < tasks; ++i) task(context, i);
}

constexpr minnow_op_api kApi{sizeof(minnow_op_api),
                             input_count,
                             output_count,
                             input,
                             output,
                             allocate_output,
                             attribute_int,
                             attribute_float,
                             attribute_string,
                             attribute_ints,
                             attribute_floats,
                             attribute_tensor,
                             need_contents,
                             fail,
                             threads,
                             precision,
                             flop_time,
                             byte_time,
                             scratch,
                             parallel_for};

const minnow_custom_op& table_of(const NodeView& node) { return custom_op_table(*node.definition()); }

void infer_from_numbers(const NodeView& node, std::span<ValueInfo> outputs) {
  minnow_op_call call{&node};
  for (size_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) {
      call.inputs.push_back({});
      continue;
    }
    const ValueInfo& info = node.input(i);
    if (info.kind != ValueInfo::Kind::tensor) node.fail("input {} is a sequence or an optional, custom operators take tensors", i);
    if (info.extent == ValueInfo::Extent::exact && info.shape.rank() > MINNOW_MAX_RANK)
      node.fail("input {} has {} dimensions, custom operators take up to {}", i, info.shape.rank(), MINNOW_MAX_RANK);
    call.inputs.push_back(describe(info, info.contents.data()));
  }
  call.outputs.resize(outputs.size());
  const int status = table_of(node).infer(&kApi, &call, table_of(node).user);
  if (status != 0 && call.needed < node.input_count() && !node.is_constant(call.needed)) throw NeedsContents{call.needed};
  if (status != 0) node.fail("{}", call.failure.empty() ? std::string("the operator refuses these inputs") : call.failure);
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValueInfo& info = outputs[i];
    if (!node.has_output(i)) {
      info.kind = ValueInfo::Kind::absent;
      continue;
    }
    const minnow_tensor& made = call.outputs[i];
    info.kind = ValueInfo::Kind::tensor;
    info.dtype = static_cast<DType>(made.dtype);
    if (size_of(info.dtype) == 0) node.fail("the operator gives output {} no dtype that can be", i);
    if (made.rank < 0) {
      info.extent = ValueInfo::Extent::unknown;
    } else {
      if (made.rank > MINNOW_MAX_RANK) node.fail("the operator gives output {} a rank of {}", i, made.rank);
      info.extent = ValueInfo::Extent::exact;
      info.shape = Shape(std::span<const int64_t>(made.dims, static_cast<size_t>(made.rank)));
      info.shape.elements();
    }
  }
}

#if MINNOW_SMALL
constexpr auto infer = infer_from_numbers;
#else

/// Numbers for symbols: the first symbol is `first`, each further one `step` more.
struct Numbers {
  int64_t first, step;
};

/// Inputs whose sizes are numbers, in place of a node's.
class Supposed {
 public:
  /// `rank`: of inputs whose rank is not known.
  Supposed(const NodeView& node, Numbers numbers, size_t rank) : node_(node), numbers_(numbers), infos_(node.input_count()) {
    for (size_t i = 0; i < infos_.size(); ++i) {
      if (!node.has_input(i)) {
        pointers_.push_back(nullptr);
        continue;
      }
      infos_[i] = node.input(i);
      pointers_.push_back(&infos_[i]);
      if (infos_[i].kind != ValueInfo::Kind::tensor || infos_[i].extent == ValueInfo::Extent::exact) continue;
      Shape shape;
      if (!node.has_sizes(i))
        shape = Shape::filled(rank, numbers.first);
      else
        for (const Size size : node.input_sizes(i)) shape.push_back(number_of(size));
      infos_[i].set_sizes(shape);
    }
  }

  /// Contents that are asked for and that nobody knows are ones, as most integers can be that a shape depends on; false is returned then.
  bool ask(std::span<ValueInfo> outputs) {
    for (bool knows = true;; knows = false) try {
        infer_from_numbers(NodeView(node_.node(), pointers_, {}, node_.definition()), outputs);
        return knows;
      } catch (const NeedsContents& needs) {
        ValueInfo& info = infos_[needs.input];
        info.contents = Tensor(info.dtype, info.shape);
        const Ints ones(static_cast<size_t>(info.shape.elements()), 1);
        narrow(info.dtype, ones.data(), ones.size(), info.contents.writable().data());
      }
  }

  const std::vector<std::pair<Size, int64_t>>& numbers() const noexcept { return known_; }

 private:
  int64_t number_of(Size size) {
    if (size.is_number()) return size.number();
    const auto number_of_symbol = [this](const std::string& symbol) {
      const auto [found, is_new] = symbols_.try_emplace(symbol, numbers_.first + numbers_.step * static_cast<int64_t>(symbols_.size()));
      return found->second;
    };
    const int64_t number = std::max<int64_t>(evaluate(size, number_of_symbol).value_or(numbers_.first), 0);
    known_.emplace_back(size, number);
    return number;
  }

  const NodeView& node_;
  Numbers numbers_;
  std::vector<ValueInfo> infos_;
  std::vector<const ValueInfo*> pointers_;
  std::map<std::string, int64_t> symbols_;
  std::vector<std::pair<Size, int64_t>> known_;  // sizes that are no numbers, in the order of the inputs
};

/// The size that is `a` where symbols have the numbers of one supposition, and `b` where they have those of another.
Size size_between(const Supposed& first, int64_t a, const Supposed& second, int64_t b) {
  Size found = a == b ? Size(a) : Size::unknown();
  for (size_t i = 0; i < first.numbers().size(); ++i) {
    const auto& [size, number] = first.numbers()[i];
    if (number != a || second.numbers()[i].second != b || size.is_unknown() || equal(size, found)) continue;
    if (!found.is_unknown()) return Size::unknown();
    found = size;
  }
  return found;
}

/// A custom operator computes with numbers, so it is asked twice, for different numbers in place of the symbols; it need not take just any.
/// Kinds, dtypes and ranks are those of an answer, and sizes what both answers agree on. Throws what the operator says first where it takes
/// none.
[[gnu::cold]] void infer_from_symbols(const NodeView& node, std::span<ValueInfo> outputs) {
  bool knows_ranks = true;
  for (size_t i = 0; i < node.input_count(); ++i) knows_ranks &= !node.has_input(i) || node.has_sizes(i);
  constexpr Numbers kNumbers[][2] = {{{11, 6}, {13, 10}}, {{64, 32}, {96, 64}}, {{8, 0}, {16, 0}}, {{1, 0}, {1, 0}}};
  std::exception_ptr refusal;
  for (const size_t rank : {2, 1, 3, 4, 0, 5}) {
    for (const auto& [one, other] : kNumbers) try {
        Supposed first(node, one, rank), second(node, other, rank);
        std::vector<ValueInfo> again(outputs.begin(), outputs.end());
        const bool first_knows = first.ask(outputs), second_knows = second.ask(again);
        const bool is_known = first_knows && second_knows && knows_ranks && one.first != other.first;
        for (size_t i = 0; i < outputs.size(); ++i) {
          ValueInfo &a = outputs[i], &b = again[i];
          if (a.kind != ValueInfo::Kind::tensor || a.extent != ValueInfo::Extent::exact) continue;
          if (!is_known || b.extent != a.extent || b.shape.rank() != a.shape.rank()) {
            a.extent = ValueInfo::Extent::unknown;
            continue;
          }
          Sizes sizes;
          for (size_t k = 0; k < a.shape.rank(); ++k) sizes.push_back(size_between(first, a.shape[k], second, b.shape[k]));
          a.set_sizes(sizes);
        }
        return;
      } catch (const Error&) {
        if (!refusal) refusal = std::current_exception();
      }
    if (knows_ranks) break;
  }
  std::rethrow_exception(refusal);
}

void infer(const NodeView& node, std::span<ValueInfo> outputs) {
  bool is_open = false;
  for (size_t i = 0; i < node.input_count(); ++i) is_open |= node.has_input(i) && node.input(i).extent != ValueInfo::Extent::exact;
  if (!node.is_symbolic()) return infer_from_numbers(node, outputs);
  if (!is_open) try {
      return infer_from_numbers(node, outputs);
    } catch (const NeedsContents&) {}
  infer_from_symbols(node, outputs);
}
#endif

void reference(const NodeView& node, KernelArgs& args) {
  minnow_op_call call{&node, &args};
  for (size_t i = 0; i < args.input_count(); ++i) {
    if (args.has_input(i) && args.input(i).rank() > MINNOW_MAX_RANK)
      args.fail("input {} has {} dimensions, custom operators take up to {}", i, args.input(i).rank(), MINNOW_MAX_RANK);
    call.inputs.push_back(args.has_input(i) ? describe(node.input(i), args.input(i).data()) : minnow_tensor{});
  }
  for (size_t i = 0; i < args.output_count(); ++i) {
    call.outputs.push_back({});
    if (!args.has_output(i)) continue;
    const bool known = node.output(i).extent == ValueInfo::Extent::exact;
    call.outputs.back() = describe(node.output(i), known ? args.output(i).data() : nullptr);
  }
  if (table_of(node).compute(&kApi, &call, table_of(node).user) != 0 || !call.failure.empty())
    args.fail("{}", call.failure.empty() ? std::string("the operator failed") : call.failure);
}

#if MINNOW_GRADIENTS
// The operator that the table names, of the inputs, the outputs and the gradients of the outputs. It gives gradients of floats.
Exprs gradient(const GradientContext& context) {
  std::vector<Value*> inputs;
  for (const Exprs* part : {&context.inputs, &context.outputs, &context.output_gradients})
    for (const Expr& x : *part) inputs.push_back(x.value());
  Exprs gradients(context.inputs.size());
  std::vector<std::string> names(gradients.size());
  GraphBuilder* builder = nullptr;
  for (size_t i = 0; i < names.size(); ++i)
    if (const Expr& x = context.inputs[i]; x && is_float(context.node.input_dtype(i)))
      builder = &x.builder(), names[i] = builder->graph().fresh_name("gradient");
  if (!builder) return gradients;
  const Node& node = context.node.node();
  const Node& made = builder->graph().add_node(table_of(context.node).gradient, inputs, names, node.attributes, node.name());
  for (size_t i = 0; i < names.size(); ++i) gradients[i] = builder->wrap(made.output(i));
  return gradients;
}
#endif

bool is_printable(const char* text) {
  if (!text || !*text) return false;
  for (; *text; ++text)
    if (*text <= ' ' || *text > '~') return false;
  return true;
}

// Why a custom operator's schemes and its gradient cannot be; empty where they can.
std::string fault_of(const Operator& op) {
  const minnow_custom_op& table = custom_op_table(op);
  if (table.struct_size < sizeof(minnow_custom_op)) return {};
  if (table.gradient && !is_printable(table.gradient)) return "its gradient has no name";
  if (table.scheme_count > (table.schemes ? MINNOW_MAX_OP_SCHEMES : 0))
    return format("its list has {} schemes, at most {} are possible", table.scheme_count, MINNOW_MAX_OP_SCHEMES);
  for (size_t i = 0; i < table.scheme_count; ++i) {
    const minnow_op_scheme* scheme = table.schemes[i];
    if (!scheme || scheme->struct_size < sizeof(minnow_op_scheme) || !scheme->estimate || !scheme->run || !is_printable(scheme->name))
      return format("its scheme {} is incomplete", i);
    for (size_t k = 0; k < i; ++k)
      if (std::string_view(scheme->name) == table.schemes[k]->name) return format("scheme {} repeats a name", i);
  }
  return {};
}

struct LoadedSet {
  OperatorSet set;
  std::deque<os::SharedLibrary> libraries;
  std::deque<Operator> operators;

  void add(const minnow_custom_op* table, const std::string& where, size_t place) {
    if (!table || table->struct_size < kFirstTableSize || !is_printable(table->name) || !table->infer || !table->compute)
      throw InvalidArgument("{}: custom operator {} is incomplete", where, place);
    Operator op;
    op.name = table->name;
    op.doc = table->doc ? table->doc : "";
    op.inputs = {{"inputs", kAny, kVariadic}};
    op.outputs = {{"outputs", same_as("inputs"), kVariadic}};
    op.infer = infer;
    op.reference = reference;
    op.custom = table;
    if (const std::string fault = fault_of(op); !fault.empty()) throw InvalidArgument("{}: custom operator {}: {}", where, op.name, fault);
#if MINNOW_GRADIENTS
    if (table->struct_size >= sizeof(minnow_custom_op) && table->gradient) op.gradient = gradient;
#endif
    operators.push_back(std::move(op));
    set.add(operators.back());
  }
};

}  // namespace

const minnow_op_api& custom_op_api() { return kApi; }
const minnow_custom_op& custom_op_table(const Operator& op) { return *static_cast<const minnow_custom_op*>(op.custom); }
std::span<const minnow_op_scheme* const> custom_op_schemes(const Operator& op) {
  const minnow_custom_op& table = custom_op_table(op);
  if (table.struct_size < sizeof(minnow_custom_op)) return {};
  return {table.schemes, table.scheme_count};
}
minnow_tensor describe_for_call(const ValueInfo& info, const void* data) { return describe(info, data); }

std::shared_ptr<const OperatorSet> load_custom_operators(const std::vector<std::string>& libraries,
                                                         std::span<const minnow_custom_op* const> more) {
  auto loaded = std::make_shared<LoadedSet>();
  loaded->set = OperatorSet::builtin();
  for (const std::string& path : libraries) {
    const os::SharedLibrary& library = loaded->libraries.emplace_back(path);
    const auto list = reinterpret_cast<minnow_custom_ops_function>(library.symbol("minnow_custom_ops"));
    if (!list) throw InvalidArgument("{}: exports no minnow_custom_ops; see minnow/custom_op.h", path);
    size_t count = 0;
    const minnow_custom_op* const* tables = list(MINNOW_CUSTOM_OP_ABI, &count);
    if (!tables) throw InvalidArgument("{}: was built for another version of custom operators than {}", path, MINNOW_CUSTOM_OP_ABI);
    for (size_t i = 0; i < count; ++i) loaded->add(tables[i], path, i);
  }
  for (size_t i = 0; i < more.size(); ++i) loaded->add(more[i], "this process", i);
  return std::shared_ptr<const OperatorSet>(loaded, &loaded->set);
}

}  // namespace minnow
