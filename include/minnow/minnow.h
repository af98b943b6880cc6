// SPDX-License-Identifier: Apache-2.0
// Loading and running models.
//
//   minnow::Model model = minnow::Model::load("mobilenet.minnow");
//   minnow::Session session(model);
//   std::vector<minnow::Tensor> outputs = session.run({{minnow::DType::f32, {1, 3, 224, 224}, pixels}});
//
// Threads: a Model is immutable and may be shared. A Session runs one call at a time; give each thread its own (they share the model's
// weights). All sessions share one pool of threads; a call that finds the pool busy runs on its own thread only.
#pragma once
#include <minnow/error.h>
#include <minnow/tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace minnow {

class Graph;
class OperatorSet;

/// An input, output or state as the model declares it.
struct ValueDescription {
  std::string name;
  std::string type;                // "f32[batch, 3, 224, 224]", "seq(i64)"
  DType dtype = DType::undefined;  // of a tensor
  bool is_tensor = true;
  bool has_rank = false;
  std::vector<int64_t> dims;         // -1 where not fixed
  std::vector<std::string> symbols;  // the name of each dimension that is not fixed; empty if it has none
};

class MINNOW_API Model {
 public:
  /// A .minnow file; its weights are used in place from the mapped file. Throws IoError, InvalidModel.
  static Model load(const std::string& path, std::shared_ptr<const OperatorSet> operators = nullptr);
  /// Loads a model from the bytes of such a file. They are copied unless `owner` keeps them alive.
  static Model from_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr,
                           std::shared_ptr<const OperatorSet> operators = nullptr);
  /// A graph that was built or imported in this process.
  static Model from_graph(std::unique_ptr<Graph> graph, std::shared_ptr<const OperatorSet> operators = nullptr);

  const std::vector<ValueDescription>& inputs() const noexcept;
  const std::vector<ValueDescription>& outputs() const noexcept;
  const std::vector<ValueDescription>& states() const noexcept;
  const std::vector<std::string>& labels() const noexcept;
  const std::map<std::string, std::string>& properties() const noexcept;
  size_t weight_bytes() const noexcept;

  /// The part of the model that computes `outputs` from `inputs`, any named values of it. Shares the weights.
  Model between(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) const;

  const Graph& graph() const noexcept;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const noexcept { return impl_; }

 private:
  explicit Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

/// The time of a scheme for one node, estimated or measured.
struct SchemeTime {
  std::string node, scheme;  // names as in PlanRow
  double seconds = 0;
};

struct SessionOptions {
  int threads = 0;                   // 0: all cores
  std::string precision = "normal";  // "high", "normal", "tf32" (GPUs may round the factors of products to TF32), "low"
  std::string memory = "normal";     // "low": weights and scratch take the least memory, at the price of time
  bool pin_threads = false;          // each thread of the process's pool stays on one core (the caller's own thread is left alone)
  /// "performance", "balanced", "efficient": when a session is made, replaces the defaults of threads, pin_threads, cores and active_wait,
  /// as with_power() does (minnow/tune.h). "": nothing.
  std::string power = {};
  /// Numbers of the cores that the pool's threads use, and the caller's while it is in a run; empty: all that the process may use. The
  /// pool is the process's: the session that was made last decides. InvalidArgument for a core that the process may not use.
  std::vector<int> cores = {};
  double active_wait = -1;  // seconds, at most 1, for which the pool's threads wait actively before they sleep; -1: unchanged
  /// "cpu", "cuda", "opencl", "vulkan", "gles" or "reference", as far as build and machine have them. Each operator gets the one that is
  /// estimated to be fastest, copies included. Behind a device, the processor serves what these cannot; the reference serves the rest.
  /// "auto" stands for the first device that can be used, if there is one, and the processor.
  std::vector<std::string> backends = {"cpu"};
  std::string isa = {};  // cap of the instruction set: "", "sse4", "avx2", "avx3", "neon"
  /// Bytes that runs of the session may hold: values between operators, scratch, and memory of operators without a scheme. Weights, inputs,
  /// outputs and states do not count. 0: physical memory.
  size_t memory_limit = 0;
  double time_limit = 0;               // seconds that a run, planning included, may take; 0: none
  std::vector<SchemeTime> times = {};  // used instead of the planner's estimates for the named nodes and schemes
  bool explain = false;                // keep why schemes were refused, for plan_report()
  /// A file in which processes share the packed forms of this model's weights; "": none. The model's first session that names a file maps
  /// it; a run or prepare that had to pack rewrites it. A damaged file, or one of another model, machine or build, is ignored and replaced,
  /// with one message to the log hook; a failure to write also causes one. For a file of another kind, InvalidArgument is thrown.
  std::string weight_cache = {};
  /// A file in which processes keep the compiled kernels of devices; "": none. A plan that had to compile rewrites it. A damaged file, or
  /// one of another build, is ignored and replaced, with one message to the log hook; a failure to write also causes one. For a file of
  /// another kind, InvalidArgument is thrown.
  std::string kernel_cache = {};
  /// If a named device cannot be used, fails, or has no memory left, the session goes on with the processor, which repeats the run; the log
  /// hook gets one message. Otherwise that is an error: Unsupported or OutOfMemory.
  bool fallback = false;
};

/// One node of a run, as callbacks see it.
class MINNOW_API NodeEvent {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string_view op() const = 0;
  virtual std::string_view scheme() const = 0;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  /// The tensor's name in the graph; empty if the node has no such input or output.
  virtual std::string_view input_name(size_t i) const = 0;
  virtual std::string_view output_name(size_t i) const = 0;

  // Tensors are copied, in the plain (row-major) layout. All four throw InvalidArgument for tensors that do not exist, for sequences and
  // optionals, and at the wrong time: inputs are visible before the node, which may overwrite them, outputs after it.

  /// Before the node.
  virtual Tensor input(size_t i) const = 0;
  /// Before the node: makes only this node, in this run, read `value` instead. The original tensor, which other nodes and the caller may
  /// read, does not change. dtype and shape must be the same. Throws InvalidArgument for inputs on which the plan depends: constants (the
  /// kernel may use only their packed form), and inputs whose contents determine a shape.
  virtual void replace_input(size_t i, const TensorView& value) = 0;
  /// After the node.
  virtual Tensor output(size_t i) const = 0;
  /// After the node: all that read the tensor later, in this run, see `value`. dtype and shape must be the same.
  virtual void replace_output(size_t i, const TensorView& value) = 0;

 protected:
  ~NodeEvent() = default;
};
/// Return false to stop the run, which then throws Error of kind cancelled.
using NodeCallback = std::function<bool(NodeEvent& event)>;

/// A plan's decision for one node, and its time if it was measured. Nodes inside If, Loop, Scan and SequenceMap get rows after they have
/// run in a profiled session. These rows follow the row of the outer node; each sums up all calls and shapes of a run. The time of a node
/// includes that of the nodes inside.
struct PlanRow {
  std::string node, op, scheme, backend, shape, layout;
  std::string owner;  // of a node in a subgraph: "loop.body", "loop.body/if.then_branch"; empty for the model's own nodes
  size_t depth = 0;   // of the subgraph; 0: the model's own nodes
  size_t output_bytes = 0, scratch_bytes = 0;
  double operations = 0;  // arithmetic operations of one run, a multiply-add counting two
  double estimated_seconds = 0;
  double measured_seconds = 0, best_seconds = 0, start_seconds = 0;  // the last run's, the least of all runs, when the last run's began
  uint64_t runs = 0, calls = 0;                                      // that were measured; calls in the last of them
  bool on_device = false;                                            // it runs beside the processor, whose time it does not take
  int threads = 0;                                                   // that the node runs on; 0: not found yet (the first runs try)
  std::vector<std::string> refused;                                  // "conv.winograd_f4: kernel 1x1 is not 3x3"
  std::vector<SchemeTime> candidates;                                // all schemes that could serve, with their estimates
};
struct PlanReport {
  std::vector<PlanRow> rows;
  size_t arena_bytes = 0, arena_lower_bound = 0;
  bool cut = false;         // shapes after the last row depend on data
  int64_t batch_parts = 1;  // a large batch is computed in so many parts, the rows tell of one
};

class MINNOW_API Session {
 public:
  explicit Session(const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs the model on inputs in the model's order and in the plain (row-major) layout. Throws InvalidArgument for a wrong number, dtype or
  /// shape of inputs, the errors of planning, and errors that depend on data. The session stays usable.
  std::vector<Tensor> run(std::span<const TensorView> inputs);
  std::vector<Tensor> run(std::initializer_list<TensorView> inputs) {
    return run(std::span<const TensorView>(inputs.begin(), inputs.size()));
  }
  /// The same into memory of the caller, whose dtypes and shapes must be the outputs' own. Allocates nothing for shapes that were planned
  /// before.
  void run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs);
  /// The same for sequences and optionals.
  std::vector<Datum> run_any(std::span<const Datum> inputs);

  /// Plans for these input shapes now, so that the first run does not have to.
  void prepare(std::span<const Shape> input_shapes);

  /// States, by the model's order. reset() puts the initial values back.
  void reset_states();
  const Tensor& state(size_t i) const;
  void set_state(size_t i, const TensorView& value);

  /// Stops the run that another thread is in (or the next one), within a node too; that run throws Error of kind cancelled.
  void cancel() noexcept;
  void set_callbacks(NodeCallback before, NodeCallback after);
  /// Measures every node from now on.
  void set_profiling(bool on) noexcept;
  /// The plan that ran (or was prepared) last.
  PlanReport plan_report() const;
  /// Bytes that this session holds for the values between operators.
  size_t arena_bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The built-in operators and those of these shared libraries (see <minnow/custom_op.h>), for Model::load and convert(). The libraries stay
/// loaded while the set, or a model that uses it, lives. Throws IoError, InvalidArgument.
MINNOW_API std::shared_ptr<const OperatorSet> load_operators(const std::vector<std::string>& libraries);

/// The last run of a profiled session, node by node, in the trace-event format of chrome://tracing and Perfetto (JSON). Nodes of subgraphs
/// are drawn below their outer node, one after another, each with the total time of its calls.
MINNOW_API std::string chrome_trace(const PlanReport& report);

/// "0.1.0"
MINNOW_API const char* version() noexcept;
/// Messages for people, such as warnings of importers; discarded by default. A run calls the hook only if a layer overflowed.
using LogHook = std::function<void(std::string_view message)>;
MINNOW_API void set_log_hook(LogHook hook);

}  // namespace minnow
