// SPDX-License-Identifier: Apache-2.0
// Expressions: values that are computed when they are read; operators on few elements are computed at once.
//
//   using namespace minnow;
//   Var x = Tensor::of_f32({2, 2}, pixels);
//   Var y = expr::softmax(expr::matmul(x, x) * 0.5 + 1);
//   const float* p = y.data<float>();
//
// An operator on computed tensors of at most 4,096 elements runs at once. Others wait: when y is read, one plan computes all pending parts
// of its expression, and is kept for later expressions of this form. Operators on parameters and placeholders always wait.
//
// <minnow/operators.h> has a function for every operator; it is generated from their definitions. Functions take Vars by value: nobody else
// holds a temporary, so intermediate results are not kept.
//
// Threads: Vars whose expressions share pending parts belong to one thread at a time. Different expressions may be computed on different
// threads, and share plans. A loaded Module may be called by any number of threads.
#pragma once
#include <minnow/minnow.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace minnow {

namespace express {
struct Cell;
struct LazyNode;
struct Access;  // the implementation's access to a Var
}  // namespace express

/// A number beside a Var. As in NumPy 2 it takes the Var's dtype if possible: an integer takes any numeric dtype, a float any floating one
/// (beside integers and bool the result is f64).
class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, real };
  template <class T>
  requires std::integral<T> || std::floating_point<T>
  constexpr Scalar(T value)  // NOLINT: numbers are written as such
      : kind_(std::same_as<T, bool>    ? Kind::boolean
              : std::floating_point<T> ? Kind::real
                                       : Kind::integer),
        is_large_(std::unsigned_integral<T> && !std::same_as<T, bool> && value > static_cast<T>(INT64_MAX)),
        integer_(std::floating_point<T> ? 0 : static_cast<int64_t>(value)),
        real_(static_cast<double>(value)) {}
  constexpr Kind kind() const noexcept { return kind_; }
  /// The number; its bits if only u64 can hold it (is_large).
  constexpr int64_t integer() const noexcept { return integer_; }
  constexpr bool is_large() const noexcept { return is_large_; }
  constexpr double real() const noexcept { return real_; }

 private:
  Kind kind_;
  bool is_large_;
  int64_t integer_;
  double real_;
};

/// One place in the brackets of basic slicing, as in NumPy: a number, a range, `kEllipsis`, `kNewAxis`, `kAll`.
class Index {
 public:
  enum class Kind : uint8_t { at, range, ellipsis, new_axis };
  template <std::integral T>
  constexpr Index(T at) : kind_(Kind::at), start_(static_cast<int64_t>(at)) {}  // NOLINT
  /// start:stop:step, with NumPy's defaults.
  static constexpr Index range(std::optional<int64_t> start, std::optional<int64_t> stop = {}, int64_t step = 1) {
    Index index(Kind::range);
    index.start_ = start, index.stop_ = stop, index.step_ = step;
    return index;
  }
  static constexpr Index special(Kind kind) { return Index(kind); }
  constexpr Kind kind() const noexcept { return kind_; }
  constexpr std::optional<int64_t> start() const noexcept { return start_; }
  constexpr std::optional<int64_t> stop() const noexcept { return stop_; }
  constexpr int64_t step() const noexcept { return step_; }

 private:
  explicit constexpr Index(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::optional<int64_t> start_, stop_;
  int64_t step_ = 1;
};
inline constexpr Index kAll = Index::range({}, {});
inline constexpr Index kEllipsis = Index::special(Index::Kind::ellipsis);
inline constexpr Index kNewAxis = Index::special(Index::Kind::new_axis);

/// A value of an expression: a constant, a placeholder, a parameter, or the result of an operator. A copy of a Var refers to the same
/// variable; clone() makes another variable.
class MINNOW_API Var {
 public:
  /// No value: an optional input that is left out.
  Var() = default;
  /// A constant, which shares the tensor's memory.
  Var(Tensor tensor);                            // NOLINT
  Var(std::initializer_list<int64_t> integers);  // an i64 vector, for shapes, axes, pads ...
  /// A constant of one element.
  static Var scalar(Scalar value, DType dtype);

  bool has_value() const noexcept { return cell_ != nullptr; }
  /// Comparisons are by element: write `(x < y).item()`, or has_value().
  explicit operator bool() const = delete;

  DType dtype() const;
  /// Computes the expression if the shape depends on data. Throws InvalidArgument if it depends on a placeholder without a value; dims()
  /// works without one.
  Shape shape() const;
  /// The number of dimensions; computes the expression only if that is not known without.
  size_t rank() const;
  /// The dimensions that are known without computing and hold for all values of placeholders; -1: open. Empty if the rank is open too.
  ///
  std::optional<std::vector<int64_t>> dims() const;
  int64_t elements() const { return shape().elements(); }
  bool is_tensor() const;  // else a sequence or an optional
  /// The shape if it is known without computing.
  std::optional<Shape> known_shape() const;

  /// Computes all pending parts of the expression. Throws InvalidArgument for a placeholder without a value, and the errors of planning and
  /// running. Intermediate results that another Var still refers to are kept.
  const Tensor& tensor() const;
  /// The elements of tensor(). Throws InvalidArgument unless T matches the dtype in memory: float, double, bool, integers of its width
  /// (uint16_t also for f16 and bf16), the parts of complex numbers, or a type of as many bytes.
  template <class T>
  const T* data() const {
    return tensor_read_as(sizeof(T), std::floating_point<T>, std::integral<T>).template data<T>();
  }
  Datum datum() const;  // of any kind
  /// The one element of a tensor of one.
  double item() const;
  bool is_computed() const noexcept;

  /// Gives the variable another value. A placeholder is fed, and dependent expressions are computed again at their next read. A view writes
  /// through to its base as in NumPy (the value is broadcast and cast to the base's dtype). Any other variable is rebound. Expressions keep
  /// the value that the variable had when they were made, except for placeholders.
  void assign(const Var& value) const;
  void assign(Scalar value) const;

  /// Basic slicing: a view. Reading it reads the base's value at that time; assigning to it writes to the base.
  Var operator[](std::initializer_list<Index> indices) const { return view(std::vector<Index>(indices)); }
  Var operator[](Index index) const { return view({index}); }
  Var view(const std::vector<Index>& indices) const;
  /// True if this is a view of another variable.
  bool is_view() const noexcept;

  // x[0] = y writes through the view; x = y lets the name stand for another variable.
  Var(const Var&) = default;
  Var(Var&&) noexcept = default;
  Var& operator=(const Var&) & = default;
  Var& operator=(Var&&) & noexcept = default;
  void operator=(const Var& value) && { assign(value); }
  void operator=(Scalar value) && { assign(value); }

  /// Names are kept in saved models, and errors and profiles show them.
  const std::string& name() const;
  const Var& set_name(std::string name) const;
  /// Another variable of the same value.
  Var clone() const;
  Var astype(DType dtype) const;

  bool is_placeholder() const noexcept;
  bool is_trainable() const noexcept;
  void set_trainable(bool trainable) const;

 private:
  friend struct express::Access;
  explicit Var(std::shared_ptr<express::Cell> cell) : cell_(std::move(cell)) {}
  const Tensor& tensor_read_as(size_t bytes, bool is_real, bool is_integer) const;
  std::shared_ptr<express::Cell> cell_;
};
using Vars = std::vector<Var>;

/// dtype, shape and the elements, those in the middle of larger tensors left out. Computes the expression.
MINNOW_API std::string to_string(const Var& x);

/// NumPy 2's result_type of two tensors' dtypes; bf16 beside f16 gives f32. Throws InvalidArgument for dtypes outside bool, integers, f16,
/// bf16, f32 and f64.
MINNOW_API DType promote(DType a, DType b);
MINNOW_API DType promote(DType a, Scalar b);

// Arithmetic with NumPy's broadcasting and promotion. Integers wrap around; `/` of integers gives f64; `%` has the sign of the divisor;
// of bool, + is or, * is and; ~ and the bitwise operators take integers and bool. Comparisons are by element and give bool.
#define MINNOW_DECLARE_BINARY(symbol)              \
  MINNOW_API Var operator symbol(Var a, Var b);    \
  MINNOW_API Var operator symbol(Var a, Scalar b); \
  MINNOW_API Var operator symbol(Scalar a, Var b);
MINNOW_DECLARE_BINARY(+)
MINNOW_DECLARE_BINARY(-)
MINNOW_DECLARE_BINARY(*)
MINNOW_DECLARE_BINARY(/)
MINNOW_DECLARE_BINARY(%)
MINNOW_DECLARE_BINARY(&)
MINNOW_DECLARE_BINARY(|)
MINNOW_DECLARE_BINARY(^)
MINNOW_DECLARE_BINARY(==)
MINNOW_DECLARE_BINARY(!=)
MINNOW_DECLARE_BINARY(<)
MINNOW_DECLARE_BINARY(<=)
MINNOW_DECLARE_BINARY(>)
MINNOW_DECLARE_BINARY(>=)
#undef MINNOW_DECLARE_BINARY
MINNOW_API Var operator-(Var x);
MINNOW_API Var operator~(Var x);
// x += y writes into the variable, as in NumPy: through a view into its base, and the dtype stays.
MINNOW_API const Var& operator+=(const Var& x, const Var& y);
MINNOW_API const Var& operator-=(const Var& x, const Var& y);
MINNOW_API const Var& operator*=(const Var& x, const Var& y);
MINNOW_API const Var& operator/=(const Var& x, const Var& y);

namespace expr {

/// An attribute of an operator: a number, a text, a tensor, or a list.
using Attribute = std::variant<int64_t, float, std::string, Tensor, std::vector<int64_t>, std::vector<float>, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// An operator by its name ("Conv", "minnow.Svd", or of a custom operator "com.example.Swish"). `outputs`: how many are wanted. Throws
/// Unsupported for a name that there is not, with the nearest ones; InvalidArgument for an attribute that the operator has not;
/// InvalidModel for inputs that do not fit.
MINNOW_API Vars ops(std::string_view name, Vars inputs, size_t outputs, const Attributes& attributes = {});
/// The same with one output.
MINNOW_API Var op(std::string_view name, Vars inputs, const Attributes& attributes = {});

MINNOW_API Var constant(Tensor tensor);
MINNOW_API Var constant(std::initializer_list<float> values, const Shape& shape);
/// A value that is given later, by assign(). Dimensions of -1 may differ from one value to the next.
MINNOW_API Var placeholder(std::string name, DType dtype, const std::vector<int64_t>& dims);
/// The same of any rank.
MINNOW_API Var placeholder(std::string name, DType dtype);
/// A parameter: a constant that training changes and that a saved model marks.
MINNOW_API Var trainable(Tensor initial, std::string name = {});

/// Computes several values in one plan.
MINNOW_API void evaluate(const Vars& values);

/// How expressions are computed on this thread while the object lives (threads, precision, backends, memory, isa, memory_limit); the inner
/// scope counts. The other options are of sessions, and InvalidArgument here.
class MINNOW_API Scope {
 public:
  explicit Scope(const SessionOptions& options);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<const void> before_;
};

/// Makes these operators (see load_operators) available to op() on all threads of the process, beside the built-in ones; null: only the
/// built-in ones.
MINNOW_API void use_operators(std::shared_ptr<const OperatorSet> operators);

/// Counts of the plan cache of this process.
struct CacheCounts {
  uint64_t hits = 0, misses = 0;  // evaluations that found their form planned for, and those that did not
  size_t forms = 0;               // kept now
};
MINNOW_API CacheCounts cache_counts();
/// Forgets all forms, and gives back the memory that is kept for the next values.
MINNOW_API void clear_cache();

// Whole expressions.

/// Copies of the expressions with placeholders, parameters and states of their own.
MINNOW_API Vars clone(const Vars& outputs);
/// The expressions with `from` replaced by `to` wherever they are made of it. `to` may be made of `from`.
MINNOW_API Vars replace(const Vars& outputs, const std::vector<std::pair<Var, Var>>& from_to);
/// The placeholders (the parameters) that the expressions are made of, in the order in which they are first used.
MINNOW_API Vars placeholders(const Vars& outputs);
MINNOW_API Vars trainables(const Vars& outputs);
/// A state: a value that expressions read and that a step() replaces, kept from one to the next.
MINNOW_API Var state(Tensor initial, std::string name = {});
/// Returns the results again. Computing the returned Vars also gives each state its next value, in one plan, once for each assignment of
/// placeholders; so read them instead of `results`. Throws InvalidArgument for a Var that is no state, and for a wrong dtype or shape.
///
///   const Var sum = expr::state(Tensor(DType::f32, {3}), "sum"), added = sum + x;
///   const Var mean = expr::step({added / n}, {{sum, added}})[0];
MINNOW_API Vars step(const Vars& results, const std::vector<std::pair<Var, Var>>& next);
/// The states on which the expressions depend, including those of models. Reading one gives its current value; assigning to it changes it.
MINNOW_API Vars states(const Vars& outputs);
/// Puts the initial values of these states back.
MINNOW_API void reset_states(const Vars& outputs);

/// The expression as a model: placeholders are its inputs. `inputs` orders them; by default as placeholders() does.
MINNOW_API Model to_model(const Vars& outputs, const Vars& inputs = {});
/// Writes that model as a .minnow file.
MINNOW_API void save(const Vars& outputs, const std::string& path, const Vars& inputs = {});

/// A model as expressions: its inputs are placeholders. States are kept: computing outputs changes them, once for each value that the
/// placeholders are given; reading another value does not.
struct Loaded {
  Vars inputs, outputs;
  std::map<std::string, Var> values;  // all, by name
  /// Throws InvalidArgument with the nearest names if there is none of that name.
  MINNOW_API const Var& at(const std::string& name) const;
};
MINNOW_API Loaded load(const std::string& path);
MINNOW_API Loaded load(const Model& model);
/// The outputs of the model for these inputs, as part of the expression that they belong to; with states of its own.
MINNOW_API Vars apply(const Model& model, const Vars& inputs);

/// A parameter for each constant of floats whose name fits one of the patterns (`*`: any characters, `?`: one), with its name and value;
/// "*" leaves out those without effect on results of floats. Constants inside subgraphs stay constants. Convert models that will be
/// trained with Optimize::train. Throws InvalidArgument if a pattern fits no name.
MINNOW_API std::map<std::string, Var> parameters_of(const Model& model, const std::vector<std::string>& patterns = {"*"});
struct ApplyOptions {
  std::map<std::string, Var> constants = {};  // stand for the model's constants of these names
  /// Dropout drops. A BatchNormalization whose scale or bias is trainable takes the batch's means and variances; a frozen one stays as it
  /// is.
  bool training = false;
  std::map<std::string, Var>* next = nullptr;  // gets the running means and variances after this batch, by the names of the constants
  /// The result of Dropout in training, for its input and its ratio (Var() for 1/2), as nn::Dropout computes it, whose numbers a key
  /// decides. Without it, and where the mask is read, Dropout draws other numbers in each run.
  std::function<Var(const Var&, const Var&)> dropout = {};
};
/// The same with parameters, and as in training. Throws InvalidArgument, with the nearest names, for a name that no constant has.
MINNOW_API Vars apply(const Model& model, const Vars& inputs, const ApplyOptions& options);

/// The gradients of the inputs of the operator that made `outputs` (all of them, or some), given the gradients of these outputs. Outputs
/// without a gradient, or with Var(), are ignored. Returns one Var for each input, of its dtype and shape, or Var() if no gradient flows.
/// Computes nothing yet. Throws Unsupported if the operator has no gradient; InvalidArgument for outputs of no operator or of several, for
/// gradients that do not fit, and for computed values that depend on no placeholder, parameter or state, because these keep no expression.
/// Custom operators name the operator that computes their gradients (<minnow/custom_op.h>).
MINNOW_API Vars gradient_of(const Vars& outputs, const Vars& output_gradients);

/// The gradients of a loss, one float, with respect to parameters: values that it is made of (trainable(), placeholders, or results on the
/// way). One Var each, of the parameter's dtype and shape; nothing is computed yet. Every operator on the way is differentiated by its
/// rule, through its decomposition, or through where its elements come from; second derivatives are gradients of gradients. Throws
/// Unsupported, with the operator and the node, where one has no gradient, and InvalidArgument where the loss does not depend on a
/// parameter. Reverse mode: Griewank, Walther 2008, "Evaluating derivatives".
MINNOW_API Vars gradients(const Var& loss, const Vars& parameters);

/// Takes the gradients of outputs (Var() where there is none) and gives one for each input, or Var().
using GradientFunction = std::function<Vars(const Vars&)>;
/// The outputs again, which were computed from the inputs in any way. gradients() asks `gradient` instead of differentiating that
/// computation; other values that the outputs are made of count as constants. gradients() throws InvalidArgument if `gradient` gives
/// another number of Vars, or other dtypes or shapes. Files of the expression do not have the function.
MINNOW_API Vars custom_gradient(const Vars& inputs, const Vars& outputs, GradientFunction gradient);
/// x, whose gradient goes through the function on its way back: to scale, clip or look at it. Var() leaves it as it is.
MINNOW_API Var with_gradient_hook(const Var& x, std::function<Var(const Var&)> hook);

// Control flow. Each function is called once, to record its expression; outer values that it reads are captured.

using Body = std::function<Vars(const Vars&)>;
/// function(inputs), whose intermediate values are computed again for the gradient rather than kept (Chen and others 2016, "Training deep
/// nets with sublinear memory cost"). The function is called once; parameters that it reads have gradients, too.
MINNOW_API Vars checkpoint(const Body& function, const Vars& inputs);
/// The values of `then_branch` if the bool is true, else those of `else_branch`, in equal number and dtypes. Only one branch is computed.
MINNOW_API Vars cond(const Var& condition, const std::function<Vars()>& then_branch, const std::function<Vars()>& else_branch);
/// Repeats carried = body(carried) while condition(carried) is true, at most `most` times (-1: any number).
MINNOW_API Vars while_loop(const std::function<Var(const Vars&)>& condition, const Body& body, const Vars& initial, int64_t most = -1);
/// Walks along axis 0 of `sequences`: body(carried..., elements...) gives carried..., outputs...; the result is the last carried values and
/// the outputs, each stacked along axis 0.
MINNOW_API Vars scan(const Body& body, const Vars& initial, const Vars& sequences);

}  // namespace expr

/// A function on Vars with parameters, loaded from a file or written as a derived class, possibly with submodules.
///
///   struct Dense : Module {
///     Var w, b;
///     Dense(int64_t in, int64_t out) : w(parameter("w", Tensor(DType::f32, {in, out}))), b(parameter("b", Tensor(DType::f32, {out}))) {}
///     Vars forward(const Vars& x) override { return {expr::relu(expr::matmul(x[0], w) + b)}; }
///   };
///
/// Threads: any number of threads may call a module from load_module() at once; each call uses a session of its own that shares the
/// weights. If the model has states, which calls change, calls wait for each other; once such a module is part of an expression, call it
/// only on the expression's thread. A derived class is called by one thread at a time; give each thread a clone.
class MINNOW_API Module {
 public:
  Module() = default;
  virtual ~Module();
  Module(const Module&) = default;
  Module& operator=(const Module&) = delete;

  virtual Vars forward(const Vars& inputs) = 0;
  Vars operator()(const Vars& inputs) { return forward(inputs); }
  /// For one input and one output; throws InvalidArgument if the module returns another number of outputs.
  Var operator()(const Var& input);

  /// Another module that shares the weights; its states are its own and begin with their initial values. Derived classes return a copy:
  /// `return std::make_shared<Dense>(*this)`.
  virtual std::shared_ptr<Module> clone() const;
  /// The parameters of this module and its submodules: "w", "encoder.w".
  std::vector<std::pair<std::string, Var>> parameters() const;
  /// Gives parameters their values. Throws InvalidArgument for a name that there is not, with the nearest ones, and for a wrong shape.
  void load_parameters(const std::map<std::string, Tensor>& values);
  /// Puts the initial values of states back, of the submodules too.
  virtual void reset_states();
  /// Whether forward() computes as in training (derived classes decide what changes); applies to submodules too.
  void set_training(bool on) noexcept;
  bool is_training() const noexcept { return training_; }

 protected:
  Var parameter(std::string name, Tensor initial);
  template <class M>
  std::shared_ptr<M> submodule(std::string name, std::shared_ptr<M> module) {
    submodules_.emplace_back(std::move(name), module);
    return module;
  }

 private:
  std::vector<std::pair<std::string, Var>> parameters_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> submodules_;
  bool training_ = false;
};

/// The part of a .minnow file between these inputs and outputs, any named values of it; without names the model's own. Inputs of any shape
/// that the model takes; shapes that were seen before are planned for. Throws IoError, InvalidModel, and InvalidArgument for names that
/// there are not, with the nearest ones.
MINNOW_API std::shared_ptr<Module> load_module(const std::string& path, const std::vector<std::string>& inputs = {},
                                               const std::vector<std::string>& outputs = {}, const SessionOptions& options = {});
/// The same of a model that is loaded or converted already.
MINNOW_API std::shared_ptr<Module> load_module(const Model& model, const std::vector<std::string>& inputs = {},
                                               const std::vector<std::string>& outputs = {}, const SessionOptions& options = {});

}  // namespace minnow

#include <minnow/operators.h>
