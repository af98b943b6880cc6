// SPDX-License-Identifier: Apache-2.0
#if MINNOW_COMPRESS
#include "cli/samples.h"

#include <minnow/data.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/limits.h"
#include "base/nearest.h"
#include "base/numeric.h"
#include "base/os.h"
#include "data/npy.h"

namespace minnow::cli {
namespace {

using Arrays = std::vector<std::pair<std::string, Tensor>>;

bool ends_with(const std::string& path, std::string_view end) {
  if (path.size() < end.size()) return false;
  return std::equal(end.rbegin(), end.rend(), path.rbegin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b); });
}

/// How an array goes to an input: whole, or in parts along its first axis.
struct Parts {
  Tensor array;
  size_t count = 1;
  Shape shape;  // of a part
  Tensor part(size_t i) const {
    const size_t bytes = array.bytes() / count;
    return Tensor(array.dtype(), shape, static_cast<const char*>(array.data()) + i * bytes, array.owner());
  }
};

/// Floats of another width become those of the input: NumPy makes f64 unless it is told otherwise.
Tensor converted(const Tensor& given, DType wanted) {
  const Tensor tensor = adapt(given, wanted);
  const auto is_real = [](DType dtype) {
    return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
  };
  if (tensor.dtype() == wanted || !is_real(tensor.dtype()) || !is_real(wanted) || tensor.elements() == 0) return tensor;
  std::vector<double> values(static_cast<size_t>(tensor.elements()));
  widen(tensor.dtype(), tensor.data(), values.size(), values.data());
  Tensor result(wanted, tensor.shape());
  narrow(wanted, values.data(), values.size(), result.writable().data());
  return result;
}

/// `whole`: the array is one sample whatever its first axis is.
Parts parts_of(const Tensor& given, const ValueDescription& input, const std::string& where, bool whole) {
  const auto fail = [&] {
    throw InvalidArgument("{}: the array for input \"{}\", which is {}, is {}{}", where, input.name, input.type, given.dtype(),
                          given.shape());
  };
  Parts parts{converted(given, input.dtype), 1, given.shape()};
  if (input.dtype != DType::undefined && parts.array.dtype() != input.dtype) fail();
  if (given.elements() == 0) throw InvalidArgument("{}: the array for input \"{}\" is empty", where, input.name);
  if (!input.has_rank) return parts;
  const auto fits = [&](std::span<const int64_t> dims, size_t from) {
    bool same = dims.size() == input.dims.size();
    for (size_t axis = from; same && axis < dims.size(); ++axis) same = input.dims[axis] < 0 || input.dims[axis] == dims[axis];
    return same;
  };
  const auto dims = given.shape().dims();
  if (whole) {
    if (!fits(dims, 0)) fail();
    return parts;
  }
  if (dims.size() == input.dims.size() + 1 && fits(dims.subspan(1), 0)) {  // samples before the input's own axes
    parts.count = static_cast<size_t>(dims[0]);
    parts.shape = Shape(dims.subspan(1));
  } else if (!input.dims.empty() && fits(dims, 1)) {  // the axis of the batch counts them
    const int64_t each = input.dims[0] < 0 ? 1 : input.dims[0];
    if (dims[0] % each) fail();
    parts.count = static_cast<size_t>(dims[0] / each);
    parts.shape[0] = each;
  } else if (!fits(dims, 0)) {
    fail();
  }
  return parts;
}

/// The inputs of all samples in one file.
std::vector<Parts> inputs_of(const Model& model, const Arrays& arrays, const std::string& where, bool whole = false) {
  const auto& inputs = model.inputs();
  if (arrays.empty()) throw InvalidArgument("{}: holds no arrays", where);
  std::vector<Parts> found(inputs.size());
  std::vector<std::string> names;
  for (const ValueDescription& input : inputs) names.push_back(input.name);
  for (const auto& [name, tensor] : arrays) {
    size_t i = static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    // A .npy file gives no name, numpy.savez(file, x) the name arr_0.
    if (i == names.size() && inputs.size() == 1 && arrays.size() == 1 && (name.empty() || name == "arr_0")) i = 0;
    if (i == names.size()) throw InvalidArgument("{}: the model has no input \"{}\"{}", where, name, nearest(name, names));
    if (found[i].array) throw InvalidArgument("{}: holds two arrays for input \"{}\"", where, names[i]);
    found[i] = parts_of(tensor, inputs[i], where, whole);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!found[i].array) throw InvalidArgument("{}: holds no array for input \"{}\" ({})", where, inputs[i].name, inputs[i].type);
    if (found[i].count != found[0].count)
      throw InvalidArgument(
          "{}: holds {} samples for input \"{}\" and {} for \"{}\"; if the first axis does not count samples, give each array one in front",
          where, found[0].count, inputs[0].name, found[i].count, inputs[i].name);
  }
  return found;
}

/// Numbers between spaces.
Tensor numbers_in(const std::string& path, DType dtype, const Shape& shape) {
  const auto file = os::MappedFile::open(path);
  const char *at = reinterpret_cast<const char*>(file->bytes().data()), *const last = at + file->bytes().size();
  std::vector<double> values;
  while (true) {
    while (at != last && std::isspace(static_cast<unsigned char>(*at))) ++at;
    if (at == last) break;
    const auto [end, error] = std::from_chars(at, last, values.emplace_back());
    if (error != std::errc()) throw InvalidArgument("{}: number {} cannot be read", path, values.size() - 1);
    at = end;
  }
  if (static_cast<int64_t>(values.size()) != shape.elements())
    throw InvalidArgument("{}: holds {} numbers, its shape is {}", path, values.size(), shape);
  Tensor tensor(dtype, shape);
  if (is_float(dtype)) {
    if (!values.empty()) narrow(dtype, values.data(), values.size(), tensor.writable().data());
  } else {
    std::vector<int64_t> integers;
    for (const double value : values) {
      if (value != std::floor(value) || std::fabs(value) > 1e15) throw InvalidArgument("{}: holds {}, the input is {}", path, value, dtype);
      integers.push_back(static_cast<int64_t>(value));
    }
    if (!integers.empty()) narrow(dtype, integers.data(), integers.size(), tensor.writable().data());
  }
  return tensor;
}

/// A sample as MNN's tools keep it: a folder with a text file for each input, and their shapes in input.json.
Arrays arrays_of_text(const Model& model, const std::string& folder) {
  const std::string path = folder + "/input.json";
  const auto file = os::MappedFile::open(path);
  const auto* text = reinterpret_cast<const char*>(file->bytes().data());
  constexpr size_t kMost = size_t{1} << 20;
  const Json json = file->bytes().size() > kMost ? Json() : Json::parse(text, text + file->bytes().size(), nullptr, false);
  if (!json.is_object() || !json.contains("inputs") || !json["inputs"].is_array())
    throw InvalidArgument("{}: holds no list \"inputs\"", path);
  Arrays arrays;
  for (const Json& each : json["inputs"]) {
    if (!each.is_object() || !each.contains("name") || !each["name"].is_string()) throw InvalidArgument("{}: an input has no name", path);
    const std::string name = each["name"].get<std::string>();
    const auto& inputs = model.inputs();
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ValueDescription& of) { return of.name == name; });
    if (input == inputs.end() || name.find('/') != name.npos) {
      std::vector<std::string> names;
      for (const ValueDescription& of : inputs) names.push_back(of.name);
      throw InvalidArgument("{}: the model has no input \"{}\"{}", path, name, nearest(name, names));
    }
    Shape shape;
    if (!each.contains("shape") || !each["shape"].is_array()) throw InvalidArgument("{}: input \"{}\" has no shape", path, name);
    for (const Json& dim : each["shape"]) {
      if (!dim.is_number_unsigned() || dim.get<uint64_t>() > kMost * kMost || shape.rank() >= kMaxRank)
        throw InvalidArgument("{}: the shape of input \"{}\" is {}", path, name, each["shape"].dump());
      shape.push_back(dim.get<int64_t>());
      if (shape.elements() > static_cast<int64_t>(kMost * 1024)) throw InvalidArgument("{}: input \"{}\" is {}", path, name, shape);
    }
    arrays.emplace_back(name,
                        numbers_in(folder + "/" + name + ".txt", input->dtype == DType::undefined ? DType::f32 : input->dtype, shape));
  }
  return arrays;
}

/// The files that hold samples, in the order of names. A folder of folders, one for each class, gives one file of each in turn, so that the
/// first ones are of all classes.
std::vector<std::string> files_in(const std::string& folder, int depth = 0) {
  constexpr int kDeepest = 4;
  std::vector<std::string> files;
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, std::filesystem::directory_options::skip_permission_denied, error)) {
    const std::string file = entry.path().string();
    if (std::filesystem::exists(std::filesystem::path(file) / "input.json", error) || ends_with(file, ".npy") || ends_with(file, ".npz") ||
        (entry.is_regular_file(error) && is_picture(os::MappedFile::open(file)->bytes())))
      files.push_back(file);
    else if (entry.is_directory(error) && depth < kDeepest)
      folders.push_back(file);
  }
  std::sort(files.begin(), files.end());
  std::sort(folders.begin(), folders.end());
  std::vector<std::vector<std::string>> within;
  for (const std::string& each : folders) within.push_back(files_in(each, depth + 1));
  for (size_t i = 0, left = within.size(); left != 0; ++i) {
    left = 0;
    for (const std::vector<std::string>& each : within) {
      if (i < each.size()) files.push_back(each[i]);
      left += i + 1 < each.size();
    }
  }
  return files;
}

Arrays arrays_in(const Model& model, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return arrays_of_text(model, path);
  if (ends_with(path, ".npz")) return data::read_npz(path);
  return {{std::string(), data::read_npy(path)}};
}

}  // namespace

compress::Samples read_samples(const Model& model, const std::string& path, const PictureOptions& pictures, size_t most,
                               const std::vector<int64_t>& wanted) {
  if (model.inputs().empty()) throw InvalidArgument("the model has no inputs to calibrate");
  std::vector<std::string> files;
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(path, error);
  if (is_folder) {
    files = files_in(path);
    if (files.empty()) throw InvalidArgument("{}: the folder holds neither pictures nor .npy or .npz files", path);
  } else {
    files.push_back(path);
  }
  // Pictures are read when they are needed; arrays stay in memory.
  struct Place {
    size_t file, part;
  };
  struct Set {
    std::vector<std::string> files;
    std::vector<std::vector<Parts>> arrays;  // of each file; empty for a picture
    std::vector<Place> places;
  };
  auto set = std::make_shared<Set>();
  bool any_picture = false;
  for (const std::string& file : files) {
    if (most && set->places.size() >= most) break;
    set->files.push_back(file);
    set->arrays.emplace_back();
    const bool is_text = std::filesystem::is_directory(file, error);
    if (!is_text && is_picture(os::MappedFile::open(file)->bytes())) {
      any_picture = true;
      if (model.inputs().size() != 1)
        throw InvalidArgument("{}: a picture fills one input, and the model takes {}; give .npz files with an array for each input", file,
                              model.inputs().size());
      set->places.push_back({set->files.size() - 1, 0});
      continue;
    }
    if (!is_text && !ends_with(file, ".npy") && !ends_with(file, ".npz"))
      throw InvalidArgument("{}: is neither a folder, nor a picture, nor a .npy or .npz file", file);
    set->arrays.back() = inputs_of(model, arrays_in(model, file), file, is_text);
    for (size_t i = 0; i < set->arrays.back()[0].count && (!most || set->places.size() < most); ++i)
      set->places.push_back({set->files.size() - 1, i});
  }
  if (!any_picture) pictures.check_not_given("applies to pictures, and the calibration data has none");
  if (!any_picture && !wanted.empty()) throw UsageError("--shape applies to pictures and made-up samples; arrays have shapes of their own");
  return {set->places.size(), [set, model, pictures, wanted](size_t i) {
            const Place place = set->places[i];
            std::vector<Tensor> inputs;
            if (set->arrays[place.file].empty())
              inputs.push_back(read_picture(set->files[place.file], model, 0, wanted, pictures));
            else
              for (const Parts& parts : set->arrays[place.file]) inputs.push_back(parts.part(place.part));
            return inputs;
          }};
}

Tensor input_of(const ValueDescription& input, const Tensor& given) {
  const Tensor tensor = converted(given, input.dtype);
  const auto dims = tensor.shape().dims();
  if (!input.has_rank || dims.size() + 1 != input.dims.size() || input.dims[0] > 1 || tensor.elements() == 0) return tensor;
  Shape shape{1};
  for (const int64_t dim : dims) shape.push_back(dim);
  return Tensor(tensor.dtype(), shape, tensor.data(), tensor.owner());
}

compress::Samples samples_of(const Model& model, const std::vector<std::pair<std::string, Tensor>>& arrays, const std::string& where) {
  const auto parts = std::make_shared<std::vector<Parts>>(inputs_of(model, arrays, where));
  if (parts->empty()) throw InvalidArgument("{}: the model has no inputs to calibrate", where);
  return {(*parts)[0].count, [parts](size_t i) {
            std::vector<Tensor> inputs;
            for (const Parts& each : *parts) inputs.push_back(each.part(i));
            return inputs;
          }};
}

}  // namespace minnow::cli
#endif
