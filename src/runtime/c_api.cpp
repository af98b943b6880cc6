// SPDX-License-Identifier: Apache-2.0
// <minnow/minnow_c.h> over the C++ API: handles, and conversions between checked C structs and C++ types.
#include <minnow/minnow.h>
#include <minnow/minnow_c.h>
#include <minnow/tune.h>

#include <atomic>
#include <cstddef>
#include <optional>

#include "base/c_status.h"

using namespace minnow;

struct minnow_model {
  Model model;
};

struct minnow_session {
  minnow_session(const Model& model, const SessionOptions& options)
      : session(model, options), input_count(model.inputs().size()), output_count(model.outputs().size()) {}
  Session session;
  const size_t input_count, output_count;
  std::atomic<bool> busy = false;
  // Buffers of the last run, kept so that the next run allocates nothing.
  std::vector<TensorView> inputs;
  std::vector<MutableTensorView> outputs;
  std::vector<Tensor> results;  // where the memory is the session's
};

namespace {

// Sizes of the first version of each struct: the end of its last member then.
#define MINNOW_END_OF(type, member) (offsetof(type, member) + sizeof(type::member))
constexpr size_t kFirstModelOptions = MINNOW_END_OF(minnow_model_options, operator_libraries);
constexpr size_t kFirstValue = MINNOW_END_OF(minnow_value, symbols);
constexpr size_t kFirstSessionOptions = MINNOW_END_OF(minnow_session_options, time_limit);

/// One call at a time.
class Alone {
 public:
  explicit Alone(minnow_session& session) : busy_(session.busy) {
    if (busy_.exchange(true, std::memory_order_acquire))
      throw InvalidArgument("the session is in a call of another thread; give each thread its own");
  }
  ~Alone() { busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& busy_;
};

DType dtype_of(int32_t dtype) noexcept {
  const DType made = dtype > 0 && dtype < 256 ? static_cast<DType>(dtype) : DType::undefined;
  return size_of(made) ? made : DType::undefined;
}

MutableTensorView view_of(const minnow_tensor& tensor, std::string_view what, size_t i) {
  const DType dtype = dtype_of(tensor.dtype);
  if (dtype == DType::undefined) throw InvalidArgument("dtype of {}[{}] is {}, which is no element type", what, i, tensor.dtype);
  if (tensor.rank < 0 || tensor.rank > MINNOW_MAX_RANK)
    throw InvalidArgument("rank of {}[{}] is {}, it should be 0 to {}", what, i, tensor.rank, MINNOW_MAX_RANK);
  const Shape shape(std::span<const int64_t>(tensor.dims, static_cast<size_t>(tensor.rank)));
  for (const int64_t dim : shape)
    if (dim < 0) throw InvalidArgument("dims of {}[{}] are {}, which no tensor has", what, i, shape);
  return {dtype, shape, tensor.data};
}

std::span<const minnow_tensor> all(const minnow_tensor* tensors, size_t count, std::string_view what) {
  if (count) given(tensors, what);
  return {tensors, count};
}

void bind_inputs(minnow_session& session, std::span<const minnow_tensor> inputs) {
  session.inputs.clear();
  for (size_t i = 0; i < inputs.size(); ++i) session.inputs.push_back(view_of(inputs[i], "inputs", i));
}

void give(const TensorView& from, minnow_tensor& to) {
  if (from.rank() > MINNOW_MAX_RANK) throw Unsupported("an output has {} dimensions, more than {}", from.rank(), MINNOW_MAX_RANK);
  to.dtype = static_cast<int32_t>(from.dtype());
  to.rank = static_cast<int32_t>(from.rank());
  for (size_t axis = 0; axis < MINNOW_MAX_RANK; ++axis) to.dims[axis] = axis < from.rank() ? from.dim(axis) : 0;
  to.data = const_cast<void*>(from.data());
}

std::shared_ptr<const OperatorSet> operators_of(const minnow_model_options* from) {
  const auto options = sized(from, kFirstModelOptions, "minnow_model_options");
  if (options.operator_library_count == 0) return nullptr;
  const char* const* paths = &given(options.operator_libraries, "operator_libraries");
  std::vector<std::string> libraries;
  for (uint32_t i = 0; i < options.operator_library_count; ++i) libraries.emplace_back(&given(paths[i], "a path of operator_libraries"));
  return load_operators(libraries);
}

void describe(const std::vector<ValueDescription>& values, size_t i, minnow_value* to) {
  given(to, "value");
  if (i >= values.size()) throw InvalidArgument("the model has {} of these, number {} is asked for", values.size(), i);
  const ValueDescription& from = values[i];
  if (from.dims.size() > MINNOW_MAX_RANK)
    throw Unsupported("\"{}\" has {} dimensions, more than {}", from.name, from.dims.size(), MINNOW_MAX_RANK);
  sized(to, kFirstValue, "minnow_value");
  minnow_value value{};
  value.struct_size = to->struct_size;
  value.dtype = from.is_tensor ? static_cast<int32_t>(from.dtype) : 0;
  value.rank = from.has_rank ? static_cast<int32_t>(from.dims.size()) : -1;
  value.name = from.name.c_str();
  value.type = from.type.c_str();
  for (size_t axis = 0; axis < MINNOW_MAX_RANK; ++axis) {
    value.dims[axis] = axis < from.dims.size() ? from.dims[axis] : 0;
    value.symbols[axis] = axis < from.dims.size() ? from.symbols[axis].c_str() : "";
  }
  std::memcpy(to, &value, std::min<size_t>(value.struct_size, sizeof value));
}

/// Converts the options for a session of this model. Throws Unsupported for models that the C API cannot serve.
SessionOptions options_for(const Model& model, const minnow_session_options* options, std::string& tuning) {
  for (const auto* values : {&model.inputs(), &model.outputs()})
    for (const ValueDescription& value : *values)
      if (!value.is_tensor) throw Unsupported("\"{}\" is {}; the C API takes and gives tensors alone", value.name, value.type);
  const auto from = sized(options, kFirstSessionOptions, "minnow_session_options");
  SessionOptions made;
  made.threads = from.threads;
  if (from.precision) made.precision = from.precision;
  if (from.memory) made.memory = from.memory;
  made.memory_limit = static_cast<size_t>(from.memory_limit);
  made.time_limit = from.time_limit;
  if (from.tuning) tuning = from.tuning;
  if (from.weight_cache) made.weight_cache = from.weight_cache;
  if (from.power) made.power = from.power;
  if (from.backend) made.backends = {from.backend};
  if (from.kernel_cache) made.kernel_cache = from.kernel_cache;
  made.fallback = from.fallback != 0;
  return made;
}

}  // namespace

extern "C" {

const char* minnow_version(void) { return version(); }
size_t minnow_dtype_size(int32_t dtype) { return size_of(dtype_of(dtype)); }
const char* minnow_dtype_name(int32_t dtype) { return name_of(dtype_of(dtype)).data(); }

minnow_status minnow_model_load(const char* path, const minnow_model_options* options, minnow_model** model) {
  return c_status([&] {
    minnow_model*& place = given(model, "model");
    place = new minnow_model{Model::load(&given(path, "path"), operators_of(options))};
  });
}

minnow_status minnow_model_load_memory(const void* bytes, size_t size, const minnow_model_options* options, minnow_model** model) {
  return c_status([&] {
    minnow_model*& place = given(model, "model");
    const std::byte* data = &given(static_cast<const std::byte*>(bytes), "bytes");
    place = new minnow_model{Model::from_memory({data, size}, nullptr, operators_of(options))};
  });
}

void minnow_model_free(minnow_model* model) { delete model; }

size_t minnow_model_input_count(const minnow_model* model) { return model ? model->model.inputs().size() : 0; }
size_t minnow_model_output_count(const minnow_model* model) { return model ? model->model.outputs().size() : 0; }
minnow_status minnow_model_input(const minnow_model* model, size_t i, minnow_value* value) {
  return c_status([&] { describe(given(model, "model").model.inputs(), i, value); });
}
minnow_status minnow_model_output(const minnow_model* model, size_t i, minnow_value* value) {
  return c_status([&] { describe(given(model, "model").model.outputs(), i, value); });
}

minnow_status minnow_session_create(const minnow_model* model, const minnow_session_options* options, minnow_session** session) {
  return c_status([&] {
    const Model& of = given(model, "model").model;
    minnow_session*& place = given(session, "session");
    std::string tuning;
    const SessionOptions made = options_for(of, options, tuning);
    place = new minnow_session(of, tuning.empty() ? made : tuned(of, made, tuning));
  });
}

minnow_status minnow_model_tune(const minnow_model* model, const minnow_session_options* options, const minnow_tensor* inputs,
                                size_t input_count, double seconds, const char* file) {
  return c_status([&] {
    const Model& of = given(model, "model").model;
    const std::string path = &given(file, "file");
    if (!(seconds > 0)) throw InvalidArgument("seconds is {}, it should be above 0", seconds);
    std::string unused;
    SessionOptions made = options_for(of, options, unused);
    made.time_limit = 0;
    check_tuning_file(path);
    std::vector<TensorView> views;
    for (size_t i = 0; i < all(inputs, input_count, "inputs").size(); ++i) views.push_back(view_of(inputs[i], "inputs", i));
    save_tuning(path, of, made, tune(of, made, views, seconds));
  });
}

void minnow_session_free(minnow_session* session) { delete session; }

minnow_status minnow_session_run(minnow_session* handle, const minnow_tensor* inputs, size_t input_count, minnow_tensor* outputs,
                                 size_t output_count) {
  return c_status([&] {
    minnow_session& session = given(handle, "session");
    const Alone alone(session);
    // Before the arrays are looked at: who is wrong about the model has others.
    if (input_count != session.input_count)
      throw InvalidArgument("the model takes {} inputs, {} were given", session.input_count, input_count);
    if (output_count != session.output_count)
      throw InvalidArgument("the model has {} outputs, {} were given", session.output_count, output_count);
    bind_inputs(session, all(inputs, input_count, "inputs"));
    all(outputs, output_count, "outputs");
    size_t with_memory = 0;
    for (size_t i = 0; i < output_count; ++i) with_memory += outputs[i].data != nullptr;
    if (with_memory) {
      if (with_memory != output_count)
        throw InvalidArgument("data of {} of {} outputs is NULL, of all or none it may be", output_count - with_memory, output_count);
      session.outputs.clear();
      for (size_t i = 0; i < output_count; ++i) session.outputs.push_back(view_of(outputs[i], "outputs", i));
      session.session.run(session.inputs, session.outputs);
      return;
    }
    std::vector<Tensor> results = session.session.run(session.inputs);
    session.results = std::move(results);
    for (size_t i = 0; i < output_count; ++i) give(session.results[i], outputs[i]);
  });
}

minnow_status minnow_session_prepare(minnow_session* handle, const minnow_tensor* inputs, size_t input_count) {
  return c_status([&] {
    minnow_session& session = given(handle, "session");
    const Alone alone(session);
    std::vector<Shape> shapes;
    for (size_t i = 0; i < all(inputs, input_count, "inputs").size(); ++i) shapes.push_back(view_of(inputs[i], "inputs", i).shape());
    session.session.prepare(shapes);
  });
}

minnow_status minnow_session_reset_states(minnow_session* handle) {
  return c_status([&] {
    minnow_session& session = given(handle, "session");
    const Alone alone(session);
    session.session.reset_states();
  });
}

minnow_status minnow_session_cancel(minnow_session* session) {
  return c_status([&] { given(session, "session").session.cancel(); });
}

}  // extern "C"
