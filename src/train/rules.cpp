// SPDX-License-Identifier: Apache-2.0
// The table of optimizers. A row says what is particular to it; lr, weight_decay, decoupled_weight_decay and maximize are settings of all.
// In formulas w are the weights, g the gradient, a the learning rate lr, d weight_decay, t the number of the step from 1.
#include "train/families.h"

namespace minnow::train {
namespace {

using Size = StateRow::Size;
using Of = StateRow::Of;

SettingRow beta(std::string name, double fallback) { return fraction(std::move(name), fallback, "decay of an average of gradients"); }
SettingRow beta2(double fallback) { return fraction("beta2", fallback, "decay of the average of squared gradients"); }
SettingRow eps(double fallback) { return number("eps", fallback, "added to the denominator"); }
SettingRow eps_root(double fallback) { return number("eps_root", fallback, "added below the root"); }

/// Adam and AdamW.
std::vector<SettingRow> adam_settings() {
  return {beta("beta1", 0.9),
          beta2(0.999),
          eps(1e-8),
          eps_root(0),
          flag("amsgrad", false, "divide by the largest average so far"),
          flag("corrected_maximum", false, "amsgrad: the largest corrected average (optax), not the largest average (torch)"),
          flag("bytes", false, "8-bit state")};
}
const std::vector<StateRow> kAdamStates = {{"m", "!bytes"},
                                           {"v", "!bytes"},
                                           {"v_max", "amsgrad"},
                                           {"m_codes", "bytes", "", Size::bytes},
                                           {"m_scales", "bytes", "", Size::blocks},
                                           {"v_codes", "bytes", "", Size::bytes},
                                           {"v_scales", "bytes", "", Size::blocks}};
const std::vector<Phase> kAdamPhases = {{coefficients::adam, {"adam", "amsgrad", "adam_bytes", ""}}};

std::vector<Rule> table() {
  return {
      {.name = "sgd",
       .formula = "m = momentum m + (1 - dampening) g, in the first step g; w -= a m, with nesterov a (g + momentum m). "
                  "Sutskever et al. 2013, \"On the importance of initialization and momentum in deep learning\"",
       .lr = 1e-3,
       .settings = {fraction("momentum", 0, "0: none"), fraction("dampening", 0, "of the gradient in the momentum"),
                    flag("nesterov", false, "look ahead along the momentum")},
       .switches = {"momentum"},
       .states = {{"m", "momentum"}},
       .phases = {{coefficients::sgd, {"sgd", "momentum"}}}},
      {.name = "adam",
       .formula =
           "m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= a m' / (sqrt(v' + eps_root) + eps) with m' = m / (1 - "
           "beta1^t), v' = v / (1 - beta2^t). Kingma, Ba 2014, arXiv:1412.6980; amsgrad: Reddi et al. 2018, arXiv:1904.09237; bytes: "
           "Dettmers et al. 2022, arXiv:2110.02861",
       .lr = 1e-3,
       .settings = adam_settings(),
       .switches = {"amsgrad", "bytes"},
       .states = kAdamStates,
       .phases = kAdamPhases},
      {.name = "adamw",
       .formula = "w *= 1 - a d, then as adam. Loshchilov, Hutter 2017, arXiv:1711.05101",
       .lr = 1e-3,
       .decay = Decay::decoupled,
       .weight_decay = 0.01,
       .settings = adam_settings(),
       .switches = {"amsgrad", "bytes"},
       .states = kAdamStates,
       .phases = kAdamPhases},
  };
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule>& made = *new std::vector<Rule>(table());
  return made;
}

const Loop& loop_named(std::string_view name) {
  for (const Family& family : {common_family(), descent_family(), adam_family()})
    for (const Loop& loop : family.loops)
      if (loop.name == name) return loop;
  throw InternalError("there is no loop \"{}\"", name);
}

const WholeLoop& whole_named(std::string_view name) {
  for (const Family& family : {common_family()})
    for (const WholeLoop& loop : family.wholes)
      if (loop.name == name) return loop;
  throw InternalError("there is no loop \"{}\" over whole tensors", name);
}

}  // namespace minnow::train
