// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/nearest.h"
#include "base/no_memory.h"
#include "base/numeric.h"
#include "express/evaluate.h"
#include "express/infer.h"
#include "express/state.h"
#include "express/view.h"

namespace minnow {

using namespace express;

namespace express {

LazyValue value_of(Var&& x) {
  const std::shared_ptr<Cell> cell = Access::take(x);
  if (cell) settle(*cell);
  if (cell && !cell->base && cell.use_count() == 1) return std::move(cell->value);
  return value_of(static_cast<const Var&>(Access::var(cell)));
}

LazyValue value_of(const Var& x) {
  const std::shared_ptr<Cell>& cell = Access::cell(x);
  if (!cell) return {};
  settle(*cell);
  if (!cell->base) return cell->value;
  const LazyValue& base = cell->base->value;
  if (!(cell->seen == base)) {
    cell->value = read(base, *cell->region);
    cell->seen = base;
  }
  return cell->value;
}

}  // namespace express

Var::Var(Tensor tensor) try {
  if (!tensor) throw InvalidArgument("a Var is made of an empty Tensor");
  *this = var_of(constant_value(std::move(tensor)));
} catch (...) {
  throw_as_error();
}
Var::Var(std::initializer_list<int64_t> integers) try { *this = var_of(ints_value(Ints(integers))); } catch (...) {
  throw_as_error();
}

namespace {

// The value that stays in the variable's cell.
const LazyValue& held(const Var& x) {
  const std::shared_ptr<Cell>& cell = Access::cell(x);
  if (!cell || cell->base) required_value(x);  // brings a view up to date
  return cell->value;
}

// The shape of a view whose base has the shape that it had, without reading it; null for all else.
const Shape* viewed(const Var& x) {
  const Cell* cell = Access::cell(x).get();
  if (!cell || !cell->base || cell->base->value.node->fed_by_others) return nullptr;
  const Shape* shape = known_shape(cell->base->value);
  return shape && *shape == cell->region->base ? &cell->region->shape : nullptr;
}

}  // namespace

DType Var::dtype() const try {
  if (viewed(*this) && cell_->region->part == 0) {
    const DType dtype = output_of(cell_->base->value).dtype;
    if (dtype != DType::undefined) return dtype;
  }
  const LazyValue& value = held(*this);
  if (output_of(value).dtype == DType::undefined) evaluate(value);
  return output_of(value).dtype;
} catch (...) {
  throw_as_error();
}

std::optional<Shape> Var::known_shape() const try {
  if (const Shape* shape = viewed(*this)) return *shape;
  const Shape* shape = express::known_shape(held(*this));
  return shape ? std::optional<Shape>(*shape) : std::nullopt;
} catch (...) {
  throw_as_error();
}

Shape Var::shape() const try {
  if (const Shape* shape = viewed(*this)) return *shape;
  const LazyValue& value = held(*this);
  if (value.node->is_computed() && output_of(value).tensor) return output_of(value).tensor.shape();
  if (const Shape* shape = express::known_shape(value)) return *shape;
  return tensor_of(value).shape();
} catch (...) {
  throw_as_error();
}

std::optional<std::vector<int64_t>> Var::dims() const try {
  if (const Shape* shape = viewed(*this)) return std::vector<int64_t>(shape->begin(), shape->end());
  const std::optional<std::vector<Dim>> known = open_dims(held(*this));
  if (!known) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Dim& dim : *known) sizes.push_back(dim.known() ? dim.size : -1);
  return sizes;
} catch (...) {
  throw_as_error();
}

size_t Var::rank() const try {
  if (const Shape* shape = viewed(*this)) return shape->rank();
  const LazyValue& value = held(*this);
  if (value.node->is_computed() && output_of(value).tensor) return output_of(value).tensor.shape().rank();
  if (const std::optional<std::vector<Dim>> known = open_dims(value)) return known->size();
  return tensor_of(value).shape().rank();
} catch (...) {
  throw_as_error();
}

bool Var::is_tensor() const { return output_of(required_value(*this)).kind == ValueInfo::Kind::tensor; }

const Tensor& Var::tensor() const try {
  required_value(*this);
  value_of(*this);  // a view is brought up to date; its value stays in the cell
  return tensor_of(cell_->value);
} catch (...) {
  throw_as_error();
}

const Tensor& Var::tensor_read_as(size_t bytes, bool is_real, bool is_integer) const {
  const Tensor& value = tensor();
  const DType dtype = value.dtype();
  const bool pairs = dtype == DType::complex64 || dtype == DType::complex128;  // of real and imaginary parts
  const bool real = dtype == DType::f32 || dtype == DType::f64 || pairs;
  if (bytes * (pairs && is_real ? 2 : 1) != size_of(dtype) || (is_real && !real) || (is_integer && real))
    throw InvalidArgument("the value is {}, it is read as {} of {} bytes; use astype()", dtype,
                          is_real      ? "floating numbers"
                          : is_integer ? "integers"
                                       : "elements",
                          bytes);
  return value;
}

Datum Var::datum() const try {
  const LazyValue value = required_value(*this);
  evaluate(value);
  const Output& output = output_of(value);
  return output.tensor ? Datum(output.tensor) : *output.datum;
} catch (...) {
  throw_as_error();
}

double Var::item() const try {
  const Tensor& x = tensor();
  if (x.elements() != 1) throw InvalidArgument("item() takes a tensor of one element, this one is {}{}", x.dtype(), x.shape());
  double value = 0;
  widen(x.dtype(), x.data(), 1, &value);
  return value;
} catch (...) {
  throw_as_error();
}

bool Var::is_computed() const noexcept { return cell_ && !cell_->base && cell_->value.node->is_computed(); }

void Var::assign(const Var& x) const try {
  const LazyValue value = required_value(x);
  if (!cell_) throw InvalidArgument("a value is assigned to a Var that stands for no variable");
  if (cell_->base) {
    Cell& base = *cell_->base;
    settle(base);
    const Region& region = *cell_->region;
    cell_->value = {}, cell_->seen = {};  // would hold the base's memory
    const bool trainable = base.value.node->trainable;
    const std::string name = output_of(base.value).name;
    if (is_given(*base.value.node))
      throw InvalidArgument("part of the {} \"{}\" is assigned; assign all of it", kind_word(*base.value.node), name);
    LazyValue updated;
    if (trainable) {
      updated = written(constant_value(output_of(base.value).tensor), region, constant_value(tensor_of(value)));
      updated.node->trainable = updated.node->keeps_inputs = true;
      updated.node->variable = cell_->base;
    } else {
      updated = written(base.value, region, value);
    }
    output_of(updated).name = name;
    base.value = std::move(updated);
    return;
  }
  LazyNode& node = *cell_->value.node;
  if (is_given(node)) return give(cell_->value, tensor_of(value));
  if (!node.trainable) {
    cell_->value = value;
    cell_->newer = nullptr;
    return;
  }
  const Tensor& tensor = tensor_of(value);
  const Tensor& before = node.outputs[0].tensor;
  if (tensor.dtype() != before.dtype() || !(tensor.shape() == before.shape()))
    throw InvalidArgument("the parameter \"{}\" is {}{}, it is given {}{}", node.outputs[0].name, before.dtype(), before.shape(),
                          tensor.dtype(), tensor.shape());
  LazyValue updated = constant_value(tensor);
  updated.node->trainable = updated.node->keeps_inputs = true;
  updated.node->variable = cell_;
  output_of(updated).name = node.outputs[0].name;
  cell_->value = std::move(updated);
  cell_->newer = nullptr;
} catch (...) {
  throw_as_error();
}

void Var::assign(Scalar value) const { assign(scalar(value, dtype())); }

Var Var::view(const std::vector<Index>& indices) const try {
  const auto made = [&](const Shape& from) {
    auto cell = std::make_shared<Cell>();
    cell->base = cell_->base ? cell_->base : cell_;
    cell->region = sliced(cell_, from, indices);
    return Var(std::move(cell));
  };
  // A view of a view needs only the shape, so the elements are not read.
  if (const Shape* shape = viewed(*this)) return made(*shape);
  const LazyValue value = required_value(*this);
  if (value.node->fed_by_others && !express::known_shape(value)) return var_of(slice(value, indices));
  return made(shape());
} catch (...) {
  throw_as_error();
}

bool Var::is_view() const noexcept { return cell_ && cell_->base; }

const std::string& Var::name() const try {
  required_value(*this);
  return output_of(cell_->value).name;
} catch (...) {
  throw_as_error();
}

const Var& Var::set_name(std::string name) const try {
  required_value(*this);
  output_of(cell_->value).name = std::move(name);
  return *this;
} catch (...) {
  throw_as_error();
}

Var Var::clone() const try {
  const LazyValue value = required_value(*this);
  const LazyNode& node = *value.node;
  if (node.kind == LazyNode::Kind::call || node.kind == LazyNode::Kind::step) return var_of(value);
  LazyValue copy = constant_value(Datum());
  LazyNode& made = *copy.node;
  made.kind = node.kind;
  made.trainable = node.trainable, made.fed_by_others = node.fed_by_others, made.keeps_inputs = node.keeps_inputs;
  made.dims = node.dims, made.any_rank = node.any_rank;
  if (node.state) made.state = std::make_unique<StateParts>(*node.state);
  made.outputs = node.outputs;
  made.outputs[0].memory_is_ours = false;
  Var result = var_of(std::move(copy));
  if (made.trainable) made.variable = result.cell_;
  return result;
} catch (...) {
  throw_as_error();
}

Var Var::astype(DType dtype) const try { return var_of(cast(required_value(*this), dtype)); } catch (...) {
  throw_as_error();
}

bool Var::is_placeholder() const noexcept { return cell_ && !cell_->base && cell_->value.node->kind == LazyNode::Kind::placeholder; }
bool Var::is_trainable() const noexcept { return cell_ && !cell_->base && cell_->value.node->trainable; }

void Var::set_trainable(bool trainable) const try {
  const LazyValue value = required_value(*this);
  const bool is_result = value.node->kind == LazyNode::Kind::call && value.node->is_computed() && !value.node->keeps_inputs;
  if ((value.node->kind != LazyNode::Kind::constant && !is_result) || cell_->base || !output_of(value).tensor)
    throw InvalidArgument("only a constant tensor can be a parameter");
  if (value.node->trainable == trainable) return;
  // Expressions that were made of it keep the value as it was.
  LazyValue copy = constant_value(output_of(value).tensor);
  copy.node->trainable = copy.node->keeps_inputs = trainable;
  if (trainable) copy.node->variable = cell_;
  output_of(copy).name = output_of(value).name;
  cell_->value = std::move(copy);
} catch (...) {
  throw_as_error();
}

namespace {

constexpr int64_t kMostShown = 6;  // of a longer axis the first and last three

void show(std::string& text, const Tensor& x, size_t axis, int64_t offset) {
  const Shape& shape = x.shape();
  if (axis == shape.rank()) {
    const char* element = x.data<char>() + static_cast<size_t>(offset) * size_of(x.dtype());
    if (x.dtype() == DType::boolean) {
      text += *element ? "true" : "false";
    } else if (is_float(x.dtype())) {
      double value = 0;
      widen(x.dtype(), element, 1, &value);
      text += format("{}", static_cast<float>(value) == value ? static_cast<double>(static_cast<float>(value)) : value);
    } else {
      int64_t value = 0;
      widen(x.dtype(), element, 1, &value);
      text += x.dtype() == DType::u64 ? format("{}", static_cast<uint64_t>(value)) : format("{}", value);
    }
    return;
  }
  text += '[';
  const int64_t inner = shape.product(axis + 1, shape.rank());
  for (int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) text += ", ";
    if (shape[axis] > kMostShown && i == kMostShown / 2) {
      text += "..., ";
      i = shape[axis] - kMostShown / 2;
    }
    show(text, x, axis + 1, offset + i * inner);
  }
  text += ']';
}

}  // namespace

std::string to_string(const Var& x) try {
  if (!x.has_value()) return "(no value)";
  if (!x.is_tensor()) {
    const Datum datum = x.datum();
    if (datum.kind == Datum::Kind::none) return "optional()";
    std::string text = "seq(";
    for (size_t i = 0; i < datum.items.size(); ++i) text += (i ? ", " : "") + to_string(Var(datum.items[i].tensor));
    return text + ")";
  }
  const Tensor& tensor = x.tensor();
  std::string text = format("{}{} ", tensor.dtype(), tensor.shape());
  show(text, tensor, 0, 0);
  return text;
} catch (...) {
  throw_as_error();
}

namespace expr {

Var constant(Tensor tensor) { return Var(std::move(tensor)); }
Var constant(std::initializer_list<float> values, const Shape& shape) try {
  if (shape.elements() != static_cast<int64_t>(values.size()))
    throw InvalidArgument("{} elements are given for a tensor of shape {}", values.size(), shape);
  return Var(Tensor::of_f32(shape, std::span<const float>(values.begin(), values.size())));
} catch (...) {
  throw_as_error();
}

namespace {

Var make_placeholder(std::string name, DType dtype, const std::vector<int64_t>* dims) try {
  if (size_of(dtype) == 0) throw InvalidArgument("a placeholder cannot be {}", dtype);
  if (dims && std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < -1; }))
    throw InvalidArgument("the placeholder \"{}\" has the dimensions {}; each is a size, or -1 where it is open", name, *dims);
  auto node = std::make_shared<LazyNode>();
  node->kind = LazyNode::Kind::placeholder;
  node->fed_by_others = node->keeps_inputs = true;
  node->any_rank = dims == nullptr;
  if (dims) node->dims = *dims;
  node->outputs.resize(1);
  Output& output = node->outputs[0];
  output.name = std::move(name);
  output.kind = ValueInfo::Kind::tensor;
  output.dtype = dtype;
  output.shape_known = dims && std::all_of(dims->begin(), dims->end(), [](int64_t dim) { return dim >= 0; });
  if (output.shape_known) output.shape = Shape(*dims);
  return var_of({std::move(node), 0});
} catch (...) {
  throw_as_error();
}

}  // namespace

Var placeholder(std::string name, DType dtype, const std::vector<int64_t>& dims) { return make_placeholder(std::move(name), dtype, &dims); }
Var placeholder(std::string name, DType dtype) { return make_placeholder(std::move(name), dtype, nullptr); }

Var trainable(Tensor initial, std::string name) try {
  Var made = Var(std::move(initial));
  made.set_trainable(true);
  made.set_name(std::move(name));
  return made;
} catch (...) {
  throw_as_error();
}

void evaluate(const Vars& values) try {
  std::vector<LazyValue> roots;
  for (const Var& x : values)
    if (LazyValue value = required_value(x); !value.node->is_computed()) roots.push_back(std::move(value));
  express::evaluate(roots);
} catch (...) {
  throw_as_error();
}

Vars ops(std::string_view name, Vars inputs, size_t outputs, const Attributes& attributes) {
  CallRequest request;
  for (Var& input : inputs) request.inputs.push_back(value_of(std::move(input)));
  // A custom operator of a model that an input came from is found too.
  for (const LazyValue& input : request.inputs)
    if (input && !request.operators) request.operators = input.node->operators;
  request.op = &find_operator(name, request.operators);
  for (const auto& [key, value] : attributes) {
    const auto is_it = [&k = key](const AttributeSpec& spec) { return spec.name == k; };
    if (!request.op->custom && std::none_of(request.op->attributes.begin(), request.op->attributes.end(), is_it)) {
      std::vector<std::string> names;
      for (const AttributeSpec& spec : request.op->attributes) names.emplace_back(spec.name);
      throw InvalidArgument("{} has no attribute \"{}\"{}", name, key, nearest(key, names));
    }
    request.attributes.set(key, std::visit([](const auto& v) { return AttributeValue(v); }, value));
  }
  request.formal_inputs = request.inputs.size();
  request.wanted.assign(outputs, true);
  const std::shared_ptr<LazyNode> node = call(std::move(request));
  Vars results;
  for (uint32_t i = 0; i < outputs; ++i) results.push_back(var_of({node, i}));
  return results;
}

Var op(std::string_view name, Vars inputs, const Attributes& attributes) { return ops(name, std::move(inputs), 1, attributes)[0]; }

}  // namespace expr
}  // namespace minnow
