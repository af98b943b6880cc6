// SPDX-License-Identifier: Apache-2.0
// The inputs of a model: from files, or random.
#include <minnow/data.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/nearest.h"
#include "base/numeric.h"
#include "base/os.h"
#include "base/placeholder.h"
#include "cli/commands.h"
#include "data/npy.h"

namespace minnow::cli {

NamedShape parse_shape(const std::string& text) {
  NamedShape shape;
  const size_t equals = text.rfind('=');
  if (equals != text.npos) shape.name = text.substr(0, equals);
  const std::string dims = equals == text.npos ? text : text.substr(equals + 1);
  for (size_t at = 0; at <= dims.size() && !dims.empty();) {
    const size_t end = std::min(dims.find_first_of("x,", at), dims.size());
    const std::string part = dims.substr(at, end - at);
    int64_t dim = -1;
    if (part != "?" && part != "-1") {
      const auto [next, error] = std::from_chars(part.data(), part.data() + part.size(), dim);
      if (error != std::errc() || next != part.data() + part.size() || dim < 0)
        throw UsageError("--shape {}: \"{}\" is not a dimension; write name=1x3x224x224", text, part);
    }
    shape.dims.push_back(dim);
    at = end + 1;
  }
  return shape;
}

InputArgument parse_input(const std::string& text) {
  if (text.empty()) throw UsageError("--input needs a file");
  if (os::file_exists(text)) return {{}, text};
  const size_t first = text.find('=');
  if (first == text.npos) return {{}, text};
  // Names and paths may hold "=" themselves: the parts are those that leave a file.
  for (size_t equals = first; equals != text.npos; equals = text.find('=', equals + 1))
    if (os::file_exists(text.substr(equals + 1))) return {text.substr(0, equals), text.substr(equals + 1)};
  if (first + 1 == text.size()) throw UsageError("--input {}: a file is missing behind \"=\"", text);
  return {text.substr(0, first), text.substr(first + 1)};
}

// Elements that NumPy has no type for arrive under another name: the model knows better.
Tensor adapt(Tensor tensor, DType wanted) {
  if (tensor.dtype() == wanted || wanted == DType::undefined) return tensor;
  const bool nameless = (tensor.dtype() == DType::bf16 && size_of(wanted) == 2) ||
                        (tensor.dtype() == DType::u8 && size_of(wanted) == 1 && is_float(wanted)) ||
                        (tensor.dtype() == DType::u8 && is_unsigned(wanted) && size_of(wanted) == 1) ||
                        (tensor.dtype() == DType::i8 && is_signed(wanted) && size_of(wanted) == 1);
  return nameless ? Tensor(wanted, tensor.shape(), tensor.data(), tensor.owner()) : tensor;
}

namespace {

Tensor random_tensor(DType dtype, const Shape& shape, uint64_t seed) {
  Tensor tensor(dtype, shape);
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  char* out = static_cast<char*>(tensor.writable().data());
  const auto fill = [&](auto next) {
    std::array<decltype(next()), 1024> values;
    for (size_t count = static_cast<size_t>(tensor.elements()); count != 0;) {
      const size_t some = std::min(count, values.size());
      std::generate_n(values.begin(), some, next);
      narrow(dtype, values.data(), some, out);
      out += some * size_of(dtype);
      count -= some;
    }
  };
  if (is_float(dtype))
    fill([&] { return normal(generator); });
  else
    fill([&] { return static_cast<int64_t>(generator() & 1); });
  return tensor;
}

bool is_npy(std::span<const std::byte> bytes) { return bytes.size() >= 6 && std::memcmp(bytes.data(), "\x93NUMPY", 6) == 0; }
bool is_zip(std::span<const std::byte> bytes) { return bytes.size() >= 4 && std::memcmp(bytes.data(), "PK", 2) == 0; }

}  // namespace

std::vector<Tensor> make_inputs(const Model& model, const std::vector<std::string>& files, const std::vector<std::string>& shapes,
                                bool fill_random, std::vector<std::string>* open, const PictureOptions& pictures, const char* otherwise) {
  const std::vector<ValueDescription>& inputs = model.inputs();
  std::vector<Tensor> tensors(inputs.size());
  const auto find = [&](const std::string& name) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == name) return i;
    std::vector<std::string> names;
    for (const ValueDescription& input : inputs) names.push_back(input.name);
    throw UsageError("the model has no input \"{}\"{}", name, nearest(name, names));
  };
  // A value without a name belongs to the first input that has none yet.
  const auto next = [&](const auto& is_taken, const char* option, size_t values) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!is_taken(i)) return i;
    throw UsageError("{}: {} values are given, the model takes {} input{}", option, values, inputs.size(), inputs.size() == 1 ? "" : "s");
  };
  const auto described = [&](size_t i) { return format("input \"{}\"", inputs[i].name); };
  std::map<size_t, std::vector<int64_t>> given;
  for (const std::string& text : shapes) {
    const NamedShape shape = parse_shape(text);
    const size_t i =
        shape.name.empty() ? next([&](size_t place) { return given.contains(place); }, "--shape", shapes.size()) : find(shape.name);
    if (!given.emplace(i, shape.dims).second) throw UsageError("--shape: {} is given twice", described(i));
  }
  const auto put = [&](const std::string& name, const std::string& file, const auto& read) {
    const size_t i =
        name.empty() ? next([&](size_t place) { return static_cast<bool>(tensors[place]); }, "--input", files.size()) : find(name);
    if (tensors[i]) throw UsageError("--input: {} is given twice", described(i));
    tensors[i] = read(i);
    const auto shape = given.find(i);
    if (shape == given.end() || shape->second.empty()) return;
    const Shape& found = tensors[i].shape();
    bool fits = shape->second.size() == found.rank();
    for (size_t axis = 0; fits && axis < found.rank(); ++axis) fits = shape->second[axis] < 0 || shape->second[axis] == found[axis];
    if (!fits) throw UsageError("--shape gives {} another shape than {}, which is {}", described(i), file, found);
  };
  bool has_picture = false;
  for (const std::string& text : files) {
    const InputArgument argument = parse_input(text);
    const auto file = os::MappedFile::open(argument.file);
    const auto take = [&](const Tensor& tensor) { return [&](size_t i) { return adapt(tensor, inputs[i].dtype); }; };
    if (is_picture(file->bytes())) {
      has_picture = true;
      put(argument.name, argument.file, [&](size_t i) {
        const auto wanted = given.find(i);
        return read_picture(argument.file, model, i, wanted == given.end() ? std::span<const int64_t>() : wanted->second, pictures);
      });
    } else if (is_zip(file->bytes())) {
      const auto arrays = data::read_npz(argument.file);
      if (arrays.empty()) throw InvalidArgument("{}: holds no arrays", argument.file);
      const bool named = std::any_of(arrays.begin(), arrays.end(), [&](const auto& array) {
        return std::any_of(inputs.begin(), inputs.end(), [&](const ValueDescription& input) { return input.name == array.first; });
      });
      if (!argument.name.empty() && arrays.size() != 1)
        throw UsageError("--input {}: the file holds {} arrays; give it without a name, and arrays go to inputs by their own names", text,
                         arrays.size());
      for (const auto& [name, tensor] : arrays)
        put(!argument.name.empty() ? argument.name : named ? name : std::string(), argument.file, take(tensor));
    } else {
      if (placeholder(file->bytes()).empty() && !is_npy(file->bytes()))
        throw InvalidArgument("{}: is none of .npy, .npz, JPEG, PNG, WebP, BMP and PNM, which inputs come from", argument.file);
      put(argument.name, argument.file, take(data::parse_npy(file->bytes(), argument.file)));
    }
  }
  if (!has_picture) pictures.check_not_given("applies to pictures, and no input is one: pass a picture file to --input");
  // Inputs that share a symbol share its size.
  std::map<std::string, int64_t> sizes;
  const auto note_sizes = [&](const ValueDescription& input, std::span<const int64_t> dims) {
    for (size_t axis = 0; input.has_rank && axis < dims.size() && axis < input.symbols.size(); ++axis)
      if (dims[axis] >= 0 && !input.symbols[axis].empty()) sizes.emplace(input.symbols[axis], dims[axis]);
  };
  for (size_t i = 0; i < inputs.size(); ++i)
    if (tensors[i]) note_sizes(inputs[i], tensors[i].shape().dims());
  for (const auto& each : given) note_sizes(inputs[each.first], each.second);
  const auto size_of_dim = [&](const ValueDescription& input, size_t axis) -> int64_t {
    const auto found = axis < input.symbols.size() ? sizes.find(input.symbols[axis]) : sizes.end();
    if (found != sizes.end()) return found->second;
    if (open && (open->empty() || open->back() != input.name)) open->push_back(input.name);
    return 1;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (tensors[i]) continue;
    if (!fill_random)
      throw UsageError("input \"{}\" ({}) is not given; use --input {}=FILE{}", inputs[i].name, inputs[i].type, inputs[i].name, otherwise);
    if (!inputs[i].is_tensor) throw InvalidArgument("input \"{}\" is {}, which cannot be made up", inputs[i].name, inputs[i].type);
    std::vector<int64_t> dims = inputs[i].dims;
    if (const auto found = given.find(i); found != given.end()) {
      if (inputs[i].has_rank && found->second.size() != dims.size())
        throw UsageError("--shape: input \"{}\" is {}, a shape of {} dimensions is given", inputs[i].name, inputs[i].type,
                         found->second.size());
      dims = found->second;
    }
    Shape shape;
    for (size_t axis = 0; axis < dims.size(); ++axis) shape.push_back(dims[axis] < 0 ? size_of_dim(inputs[i], axis) : dims[axis]);
    tensors[i] = random_tensor(inputs[i].dtype == DType::undefined ? DType::f32 : inputs[i].dtype, shape, 7 + i);
  }
  return tensors;
}

void run_with_open(const std::vector<std::string>& open, const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    if (open.empty()) throw;
    std::string names;
    for (size_t i = 0; i < open.size() && i < 3; ++i) names += format("{}\"{}\"", i ? ", " : "", open[i]);
    throw Error(error.kind(),
                format("{}; dimensions of input {} are open and were taken as 1: use --shape {}=...", error.what(), names, open[0]));
  }
}

}  // namespace minnow::cli
