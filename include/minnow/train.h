// SPDX-License-Identifier: Apache-2.0
// Training: a step that computes a loss and its gradients and updates the parameters, all in one plan. The library is Minnow::train.
//
//   using namespace minnow;
//   const Var w = expr::trainable(Tensor(DType::f32, {4, 1}), "w");
//   TrainingStep step([&](const Vars& batch) -> Vars {
//     const Var error = expr::matmul(batch[0], w) - batch[1];
//     return {expr::reduce_mean(error * error)};
//   }, {{"w", w}}, Optimizer::create({.name = "adamw", .settings = {{"lr", 0.01}}}));
//   for (...) const float loss = step({x, y})[0].data<float>()[0];
//
// Functions throw Error.
#pragma once
#include <minnow/express.h>
#include <minnow/optimizer.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace minnow {

/// A step is recorded once for each dtype and shape of a batch: the loss function is called with placeholders, its result is
/// differentiated, and one plan is made. Later steps run that plan. Where the optimizer takes gradients one at a time, each is applied as
/// soon as it is there, so that they never exist together; a step allocates nothing then. Other values that the function reads, beside the
/// batch, the parameters and buffers (nn::read_buffer), stay as they were when it was recorded.
///
/// Parameters are updated in their memory, unless somebody else holds it: then they move to memory of their own first. A step that fails
/// before the update changes nothing; one that is stopped during the run may have updated some parameters.
class MINNOW_API TrainingStep {
 public:
  /// Gives the loss, one float, and any values that the step returns behind it.
  using Loss = std::function<Vars(const Vars& batch)>;
  struct Options {
    uint64_t seed = 0;  // of nn::random_key()
    /// Bytes for values between operators, activations and gradients. Activations that would exceed it are computed again in the backward
    /// pass, those first that save most for their time; where that is not enough, kernels are those of SessionOptions::memory "low". 0: all
    /// are kept. A step that still needs more is an error, OutOfMemory.
    size_t memory = 0;
    /// Estimates of the curvature for optimizers that take them (Optimizer::wants_curvature). Empty: Hutchinson's, u times the Hessian's
    /// product with u of random signs, for which all operators of the loss need second derivatives. Otherwise Gauss, Newton and Bartlett's:
    /// this function of the batch gives the mean loss for targets drawn from what the model predicts, and the estimate is the square of its
    /// gradient times the length of the batch's first axis. Liu et al. 2023, arXiv:2305.14342.
    Loss curvature = {};
  };
  /// `parameters`: expr::trainable()s with the names that the optimizer's groups and state go by. Threads,
  /// precision and memory are those of the expr::Scope in which a step is recorded. Throws InvalidArgument for values that are not
  /// trainable.
  TrainingStep(Loss loss, std::vector<std::pair<std::string, Var>> parameters, std::shared_ptr<Optimizer> optimizer,
               const Options& options);
  TrainingStep(Loss loss, std::vector<std::pair<std::string, Var>> parameters, std::shared_ptr<Optimizer> optimizer)
      : TrainingStep(std::move(loss), std::move(parameters), std::move(optimizer), Options()) {}
  ~TrainingStep();
  TrainingStep(TrainingStep&&) noexcept;
  TrainingStep& operator=(TrainingStep&&) noexcept;

  /// One step. The results stay until the next. Throws InvalidArgument where the loss is no float of one element, does not depend on a
  /// parameter, or is infinite or NaN: then nothing was updated, and the error names the first value that is not finite. Throws
  /// Unsupported, with the operator, where one has no gradient.
  std::span<const Tensor> run(std::span<const TensorView> batch);
  std::span<const Tensor> operator()(std::initializer_list<Tensor> batch);
  /// Records and plans a step for such batches, without data.
  void prepare(std::span<const std::pair<DType, Shape>> batch);
  /// Whether a step for such batches is recorded.
  bool is_prepared(std::span<const TensorView> batch) const noexcept;
  /// Forgets what was recorded, for a loss that now computes something else.
  void reset();

  /// Steps that were run; the random numbers of a step depend on it.
  int64_t calls() const noexcept;
  void set_calls(int64_t calls) noexcept;
  /// Bytes for values between operators: activations and gradients, of the largest batch so far.
  size_t arena_bytes() const noexcept;
  /// The backend in whose memory parameters, gradients and the optimizer's state stay from step to step, as in "opencl"; empty: the host's
  /// memory, or nothing is recorded yet. They are copied to the host when somebody reads them.
  std::string_view device() const noexcept;
  /// Why the last step that was recorded for a device updates parameters on the host even so; empty: it does not.
  std::string_view why_not_on_device() const noexcept;
  Optimizer& optimizer() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

namespace nn {

// For layers that keep values from step to step, such as running means, in buffers: Vars that hold computed tensors.

/// The value of a buffer for a computation; while a TrainingStep is recorded, a value that each step takes from the buffer.
MINNOW_API Var read_buffer(const Var& buffer);
/// Gives a buffer another value of its dtype and shape: at once, or, while a TrainingStep is recorded, at the end of each step. Throws
/// InvalidArgument for another dtype or shape.
MINNOW_API void update_buffer(const Var& buffer, const Var& value);
/// A key, u32[2], for operators that draw random numbers. Each call gives another one; in a TrainingStep each step does, too.
MINNOW_API Var random_key();
/// Sets the sequence of keys outside of steps.
MINNOW_API void seed(uint64_t seed) noexcept;

}  // namespace nn
}  // namespace minnow
