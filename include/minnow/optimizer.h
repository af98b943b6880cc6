// SPDX-License-Identifier: Apache-2.0
// Optimizers: they update parameters in place from gradients. They are a library of their own, Minnow::train (option MINNOW_TRAIN).
//
//   using namespace minnow;
//   Optimizer::Config config{.name = "adamw", .settings = {{"lr", 3e-4}, {"weight_decay", 0.05}}};
//   config.groups = {{"*.bias", {{"weight_decay", 0.0}}}};            // by the parameter's name
//   config.schedule = Schedule::create("cosine", {{"steps", 1000}});  // factors on lr (<minnow/schedule.h>)
//   std::unique_ptr<Optimizer> optimizer = Optimizer::create(config);
//   std::vector<Trainable> tensors = {{"layer.weight", weight.writable(), gradient}};
//   for (...) optimizer->on_execute(tensors);                         // one step
//
// Functions throw Error. One optimizer serves one thread at a time; its updates run on the process's threads and do not depend on their
// number.
#pragma once
#include <minnow/schedule.h>
#include <minnow/tensor.h>

#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minnow {

/// A tensor that is trained. Its name chooses its group and names its state.
struct Trainable {
  std::string name;
  MutableTensorView values;   // f32 or f64, updated in place
  TensorView gradient;        // of the same dtype and shape; absent: this step leaves the tensor as it is
  TensorView curvature = {};  // "sophia": an estimate of the diagonal of the Hessian, in steps that have one
};

struct NamedTensor {
  std::string name;
  Tensor value;
};

class MINNOW_API Optimizer {
 public:
  enum class Device : uint8_t { automatic, cpu, gpu, other };
  /// Settings for the parameters whose names fit the pattern, where `*` stands for any characters and `?` for one.
  struct Group {
    std::string pattern;
    Settings settings;
  };
  struct Config {
    std::string name = "adamw";  // one of optimizer_names()
    Settings settings = {};  // describe_optimizer(name) lists them; all optimizers have lr, weight_decay, decoupled_weight_decay, maximize
    std::vector<Group> groups = {};  // of several groups that fit, the first counts
    Schedule schedule = {};          // of the steps before the present one: the factor on every lr

    // Gradients are changed in this order. 0: not at all.
    int accumulate = 1;        // calls whose mean gradient makes one step
    double clip_value = 0;     // each element to [-clip_value, clip_value]
    double clip_norm = 0;      // all together to this Euclidean norm: g *= min(1, clip_norm / (norm + 1e-6))
    double clip_adaptive = 0;  // each row to this share of the norm of its weights (AGC: Brock et al. 2021, arXiv:2102.06171)

    double average = 0;  // decay of a moving average of the weights, a state "NAME.average": a = average a + (1 - average) w
    double sharpness =
        0;  // rho of SAM (Foret et al. 2021, arXiv:2010.01412): every other call moves uphill by rho g / |g|, the next returns and steps

    // Where updates are computed. The state stays in memory; clipping, accumulation and averages are the processor's. Not for rules that
    // look at whole tensors, nor for 8-bit state: Unsupported. Device::gpu: the first GPU that can be used, or Unsupported; Device::other:
    // by `backend`.
    Device device = Device::automatic;
    std::string backend = {};  // of a session ("opencl"), which then computes in place of the loops that the processor has for it
    int threads = 0;           // at most so many; 0: all cores where the tensors are worth it
  };

  /// The cost of one step.
  struct Cost {
    double compute = 0;  // MFLOP: additions, multiplications, divisions, roots, comparisons
    double memory = 0;   // MB (10^6 bytes) of state that the optimizer holds
  };

  /// One array of n > 0 floats, all 0 at first, aligned to 64 bytes.
  class MINNOW_API Parameters {
   public:
    explicit Parameters(int64_t n);
    virtual ~Parameters();
    Parameters(Parameters&& other) noexcept;
    Parameters& operator=(Parameters&& other) noexcept;
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;
    float* get() const noexcept { return data_.get(); }
    int64_t size() const noexcept { return size_; }

   private:
    std::shared_ptr<float> data_;
    int64_t size_ = 0;
  };

  /// Never null. An unknown name or setting is an error that names the nearest ones.
  static std::unique_ptr<Optimizer> create(const Config& config);
  /// The place of the configuration (device, threads, rule ...) whose step over these tensors is estimated to take the least time, among
  /// those whose state takes at most `most_memory` MB and whose device has updates in this build. Throws InvalidArgument if none fits, and
  /// the errors of create() but Unsupported.
  static size_t choose(std::span<const Config> candidates, std::span<const Trainable> tensors,
                       double most_memory = std::numeric_limits<double>::infinity());
  virtual ~Optimizer() = default;

  /// The f32 state for these tensors, made now where there is none yet. Steps that follow take the same names, shapes and dtypes in the
  /// same order, and allocate nothing.
  virtual const Parameters& on_get_parameters(std::span<const Trainable> tensors) = 0;
  /// The cost of a step over these tensors. Allocates no state; gradients are not looked at.
  virtual Cost on_measure(std::span<const Trainable> tensors) const = 0;
  /// One step. Makes the state at the first call.
  virtual void on_execute(std::span<const Trainable> tensors) = 0;

  /// One step with a loss: `loss` computes it, and the gradients that the tensors view, with the weights as they are. Returns the loss
  /// before the step. "lbfgs" with line_search calls it up to 26 times, others once; on_execute() refuses a line_search.
  virtual double on_minimize(std::span<const Trainable> tensors, const std::function<double()>& loss);

  /// The same step with gradients that come one at a time: begin(), update() of each tensor once, in any order, end(). Only where
  /// takes_one_at_a_time(): not with clip_norm, sharpness, or rules that look at all tensors together.
  virtual bool takes_one_at_a_time() const noexcept { return false; }
  virtual void begin(std::span<const Trainable> tensors);
  virtual void update(size_t tensor, const TensorView& gradient);
  virtual void end();

  /// Everything that the next step depends on beside weights and gradients, under names such as "layer.weight.m". The tensors are copies.
  virtual std::vector<NamedTensor> state() const = 0;
  /// Goes on from a state. The first time, before or after on_get_parameters(). InvalidArgument where names, dtypes or shapes differ.
  virtual void set_state(std::span<const NamedTensor> state) = 0;
  /// Steps that were made.
  virtual int64_t steps() const noexcept = 0;
  /// The Euclidean norm of all gradients of the last step before it was clipped; NaN unless clip_norm is set.
  virtual double gradient_norm() const noexcept;
  /// Whether the next step takes estimates of the curvature, Trainable::curvature: "sophia", each `curvature_every` steps.
  virtual bool wants_curvature() const noexcept { return false; }
  /// With sharpness: whether the last call moved the weights uphill, so that the next one returns.
  virtual bool is_uphill() const noexcept { return false; }
  /// The first tensor whose gradient had a number that is not finite in the last step, which has updated it; empty where there is none.
  /// Valid until the next step.
  virtual std::string_view not_finite() const noexcept { return {}; }
  /// The schedule of Config, for plateau's observe().
  virtual Schedule& schedule() = 0;
  /// Changes a setting of all groups that do not set it themselves.
  virtual void set(std::string_view setting, const Setting& value) = 0;
  /// For "schedule_free": puts the averaged weights into the tensors, for evaluation, or those that train back. Others change nothing.
  virtual void evaluate(std::span<const Trainable> tensors, bool on);
};

/// A setting of an optimizer, for documentation.
struct OptimizerSetting {
  std::string name;
  Setting fallback;
  std::string meaning;
};
struct OptimizerDescription {
  std::string name, formula;  // the update rule and its source
  std::vector<OptimizerSetting> settings;
};

/// All that create() knows, in alphabetical order.
MINNOW_API std::vector<std::string> optimizer_names();
MINNOW_API OptimizerDescription describe_optimizer(std::string_view name);

using OptimizerFactory = std::function<std::unique_ptr<Optimizer>(const Optimizer::Config& config)>;
/// Makes a name known to create(). InvalidArgument for a name that is taken, unless it was registered before: then the new factory counts.
MINNOW_API void register_optimizer(const std::string& name, OptimizerFactory factory);
/// Registers the optimizers of a shared library (<minnow/optimizer_c.h>), which stays loaded; returns their names.
MINNOW_API std::vector<std::string> load_optimizers(const std::string& path);

}  // namespace minnow
