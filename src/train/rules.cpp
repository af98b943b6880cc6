// SPDX-License-Identifier: Apache-2.0
// The table of optimizers. A row says what is particular to it; lr, weight_decay, decoupled_weight_decay and maximize are settings of all.
// In formulas w are the weights, g the gradient, a the learning rate lr, d weight_decay, t the number of the step from 1.
#include "train/families.h"
#include "train/products.h"

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
      {.name = "adamax",
       .formula = "m as adam; u = max(beta2 u, |g| + eps); w -= a m / ((1 - beta1^t) u). Kingma, Ba 2014, arXiv:1412.6980",
       .lr = 2e-3,
       .settings = {beta("beta1", 0.9), fraction("beta2", 0.999, "decay of the largest gradient"), eps(1e-8)},
       .states = {{"m"}, {"u"}},
       .phases = {{coefficients::adamax, {"adamax"}}}},
      {.name = "nadam",
       .formula = "adam with Nesterov's momentum, whose decay rises to beta1. Dozat 2016, \"Incorporating Nesterov Momentum into Adam\"",
       .lr = 2e-3,
       .settings = {beta("beta1", 0.9), beta2(0.999), eps(1e-8), number("momentum_decay", 4e-3, "how fast the momentum rises")},
       .states = {{"m"}, {"v"}},
       .phases = {{coefficients::nadam, {"nadam"}}},
       .scalars = {"mu_product"}},
      {.name = "radam",
       .formula = "adam times the rectification of the variance of v, and momentum alone while that is not defined. Liu et al. 2019, "
                  "arXiv:1908.03265",
       .settings = {beta("beta1", 0.9), beta2(0.999), eps(1e-8)},
       .states = {{"m"}, {"v"}},
       .phases = {{coefficients::radam, {"radam"}}}},
      {.name = "yogi",
       .formula = "adam with v -= (1 - beta2) sign(v - g^2) g^2. Zaheer et al. 2018, \"Adaptive Methods for Nonconvex Optimization\"",
       .settings = {beta("beta1", 0.9), beta2(0.999), eps(1e-3), number("initial_accumulator", 1e-6, "m and v at first")},
       .states = {{"m", "", "initial_accumulator"}, {"v", "", "initial_accumulator"}},
       .phases = {{coefficients::yogi, {"yogi"}}}},
      {.name = "adabelief",
       .formula = "adam with v = beta2 v + (1 - beta2) (g - m)^2 + eps_root. Zhuang et al. 2020, arXiv:2010.07468",
       .settings = {beta("beta1", 0.9), beta2(0.999), eps(1e-16), number("eps_root", 1e-16, "added to v")},
       .states = {{"m"}, {"v"}},
       .phases = {{coefficients::adabelief, {"adabelief"}}}},
      {.name = "adan",
       .formula =
           "m, n averages of g and of its change D = g - g_before; v of (g + (1 - beta2) D)^2; w -= a (m' + (1 - beta2) n') / (sqrt(v' + "
           "eps_root) + eps). Xie et al. 2022, arXiv:2208.06677",
       .decay = Decay::decoupled,
       .settings = {beta("beta1", 0.98), beta("beta2", 0.92), fraction("beta3", 0.99, "decay of the average of squares"), eps(1e-8),
                    eps_root(1e-8)},
       .states = {{"m"}, {"n"}, {"v"}, {"gradient"}},
       .phases = {{coefficients::adan, {"adan"}}}},
      {.name = "ademamix",
       .formula =
           "adamw with m' + alpha m_slow in place of m', where m_slow has the decay beta3. Pagliardini et al. 2024, arXiv:2409.03137",
       .decay = Decay::decoupled,
       .settings = {beta("beta1", 0.9), beta2(0.999), beta("beta3", 0.9999), number("alpha", 5, "weight of the slow average"), eps(1e-8),
                    eps_root(0)},
       .states = {{"m"}, {"m_slow"}, {"v"}},
       .phases = {{coefficients::ademamix, {"ademamix"}}}},
      {.name = "adopt",
       .formula = "m = beta1 m + (1 - beta1) clip(g / max(sqrt(v), eps), (t - 1)^0.25) with v before this step; w -= a m; the first step "
                  "only sets v. "
                  "Taniguchi et al. 2024, arXiv:2411.02853",
       .settings = {beta("beta1", 0.9), beta2(0.9999), number("eps", 1e-6, "least denominator"), flag("clip", true, "clip quotients")},
       .states = {{"m"}, {"v"}},
       .phases = {{coefficients::adopt, {"adopt"}}}},
      {.name = "sophia",
       .formula = "w -= a (clip(m' / max(gamma h, eps), +-clip) + d w), then h = beta2 h + (1 - beta2) curvature in steps that have one. "
                  "Liu et al. 2023, "
                  "arXiv:2305.14342",
       .decay = Decay::decoupled,
       .weight_decay = 1e-4,
       .settings = {beta("beta1", 0.965), fraction("beta2", 0.99, "decay of the average of curvatures"),
                    number("eps", 1e-8, "least denominator"), number("gamma", 0.01, "of the curvature"),
                    number("clip", 1, "longest step in units of lr"),
                    integer("curvature_every", 10, "steps for each estimate of the curvature, in a TrainingStep")},
       .states = {{"m"}, {"h"}, {"", "", "", Size::curvature}},
       .phases = {{coefficients::sophia, {"sophia"}}}},
      {.name = "adagrad",
       .formula = "s += g^2; w -= a / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). Duchi et al. 2011, \"Adaptive Subgradient Methods\"",
       .lr = 1e-2,
       .settings = {number("lr_decay", 0, "of lr with t"), number("initial_accumulator", 0, "s at first"), eps(1e-10),
                    flag("eps_inside", false, "eps below the root")},
       .states = {{"s", "", "initial_accumulator"}},
       .phases = {{coefficients::adagrad, {"adagrad"}}}},
      {.name = "adadelta",
       .formula = "s = rho s + (1 - rho) g^2; x = sqrt(u + eps) / sqrt(s + eps) g; u = rho u + (1 - rho) x^2; w -= a x. Zeiler 2012, "
                  "arXiv:1212.5701",
       .lr = 1,
       .settings = {fraction("rho", 0.9, "decay of the averages"), eps(1e-6)},
       .states = {{"s"}, {"u"}},
       .phases = {{coefficients::adadelta, {"adadelta"}}}},
      {.name = "rmsprop",
       .formula = "s = alpha s + (1 - alpha) g^2, centered less the square of the average of g; w -= a g / (sqrt(s) + eps), with momentum "
                  "summed up. "
                  "Hinton 2012, lecture 6; Graves 2013, arXiv:1308.0850",
       .lr = 1e-2,
       .settings = {fraction("alpha", 0.99, "decay of the averages"), eps(1e-8), flag("eps_inside", false, "eps below the root"),
                    flag("centered", false, "divide by the deviation"), fraction("momentum", 0, "0: none")},
       .switches = {"centered", "momentum"},
       .states = {{"s"}, {"mean", "centered"}, {"m", "momentum"}},
       .phases = {{coefficients::rmsprop, {"rmsprop", "rmsprop_centered", "rmsprop_momentum", "rmsprop_centered_momentum"}}}},
      {.name = "rprop",
       .formula = "a step of its own for each weight, longer where the sign of g stays and shorter where it changes; w -= step sign(g). "
                  "Riedmiller, "
                  "Braun 1993",
       .lr = 1e-2,
       .settings = {fraction("eta_minus", 0.5, "factor of a change"), number("eta_plus", 1.2, "factor of the same sign", 1),
                    number("least", 1e-6, "shortest step"), number("most", 50, "longest step")},
       .states = {{"gradient"}, {"size", "", "lr"}},
       .phases = {{coefficients::rprop, {"rprop"}}}},
      {.name = "asgd",
       .formula = "w = (1 - lambda e) w - e g with e = a / (1 + lambda a t)^alpha; \"average\" is that of w from step t0 on. Polyak, "
                  "Juditsky 1992",
       .lr = 1e-2,
       .settings = {number("lambda", 1e-4, "of the decay"), number("alpha", 0.75, "power of the decay"),
                    number("t0", 1e6, "where the average begins")},
       .states = {{"average"}},
       .phases = {{coefficients::asgd, {"asgd"}}},
       .scalars = {"eta", "mu"}},
      {.name = "lion",
       .formula = "w -= a (sign(beta1 m + (1 - beta1) g) + d w); m = beta2 m + (1 - beta2) g. Chen et al. 2023, arXiv:2302.06675",
       .lr = 1e-4,
       .decay = Decay::decoupled,
       .settings = {beta("beta1", 0.9), beta("beta2", 0.99), flag("bytes", false, "8-bit state")},
       .switches = {"bytes"},
       .states = {{"m", "!bytes"}, {"m_codes", "bytes", "", Size::bytes}, {"m_scales", "bytes", "", Size::blocks}},
       .phases = {{coefficients::lion, {"lion", "lion_bytes"}}}},
      {.name = "lamb",
       .formula = "r = m' / (sqrt(v' + eps_root) + eps) + d w; w -= a |w| / |r| r for each tensor, a r where a norm is 0. You et al. 2019, "
                  "arXiv:1904.00962",
       .decay = Decay::own,
       .settings = {beta("beta1", 0.9), beta2(0.999), eps(1e-6), eps_root(0)},
       .states = {{"m"}, {"v"}},
       .phases = {{coefficients::lamb_norms, {"lamb_norms"}}, {coefficients::lamb, {"lamb"}}}},
      {.name = "lars",
       .formula = "r = g + d w; m = momentum m + a trust |w| / (|r| + eps) r for each tensor; w -= m. You et al. 2017, arXiv:1708.03888",
       .decay = Decay::own,
       .settings = {fraction("momentum", 0.9, "of the steps"), number("trust", 0.001, "length of a step in units of |w|"), eps(0),
                    flag("nesterov", false, "look ahead along the momentum"), flag("separate_norms", false, "|g| + d |w| in place of |r|")},
       .states = {{"m"}},
       .phases = {{coefficients::lars_norms, {"lars_norms"}}, {coefficients::lars, {"lars"}}}},
      {.name = "novograd",
       .formula = "v = beta2 v + (1 - beta2) |g|^2 for each tensor, first |g|^2; m = beta1 m + g / (sqrt(v + eps_root) + eps) + d w; w -= "
                  "a m. Ginsburg et al. "
                  "2019, arXiv:1905.11286",
       .decay = Decay::own,
       .settings = {beta("beta1", 0.9), beta2(0.25), eps(1e-6), eps_root(0)},
       .states = {{"m"}},
       .phases = {{coefficients::novograd_norm, {"square_sum"}}, {coefficients::novograd, {"novograd"}}},
       .scalars = {"v"}},
      {.name = "prodigy",
       .formula =
           "adamw with lr times d, an estimate of the distance to the solution that only rises. Mishchenko, Defazio 2023, arXiv:2306.06101",
       .lr = 1,
       .decay = Decay::own,
       .settings = {beta("beta1", 0.9), beta2(0.999), fraction("beta3", 0, "decay of the estimate; 0: the root of beta2"), eps(1e-8),
                    number("d0", 1e-6, "first estimate", 1e-300), number("growth", 1, "factor of the estimate"),
                    flag("safeguard", false, "for warm-up of lr")},
       .states = {{"m"}, {"v"}, {"sum"}, {"begin", "", "weights"}},
       .phases = {{coefficients::prodigy_estimate, {"prodigy_estimate"}}, {coefficients::prodigy, {"prodigy"}}},
       .scalars = {"d", "numerator", "rate"},
       .joint = true},
      {.name = "schedule_free",
       .formula = "gradients at y = beta1 x + (1 - beta1) z; z descends as adamw without momentum (adam) or sgd; x is the average of z, "
                  "which evaluate() shows. "
                  "Defazio et al. 2024, arXiv:2405.15682",
       .decay = Decay::own,
       .settings = {flag("adam", true, "divide by the root of v"), number("beta1", 0.9, "between z and x", 1e-3, 1), beta2(0.999),
                    eps(1e-8), number("power", 2, "of lr in the average")},
       .switches = {"adam"},
       .states = {{"z", "", "weights"}, {"v", "adam"}},
       .phases = {{coefficients::schedule_free, {"schedule_free_sgd", "schedule_free_adam"}}},
       .scalars = {"largest_lr", "weights"}},
      {.name = "adafactor",
       .formula = "v of a matrix is row col / mean(row), averages with 1 - beta2 = t^-decay; u = g / sqrt(v); w -= min(a, 1 / sqrt(t)) "
                  "max(least_rms, RMS(w)) u / "
                  "max(1, RMS(u) / clip). Shazeer, Stern 2018, arXiv:1804.04235, as torch has it",
       .lr = 1e-2,
       .decay = Decay::own,
       .settings = {number("decay", 0.8, "how fast averages become longer"), number("eps", 0, "least mean of rows; 0: the dtype's epsilon"),
                    number("least_rms", 1e-3, "of weights"), number("clip", 1, "largest RMS of a step", 1e-300)},
       .states = {{"rows", "", "", Size::rows, Of::matrices},
                  {"columns", "", "", Size::columns, Of::matrices},
                  {"v", "", "", Size::elements, Of::vectors}},
       .phases = {{coefficients::adafactor}},
       .whole = "adafactor",
       .whole_operations = [](const Shape& shape) { return 20.0 * static_cast<double>(shape.elements()); }},
      {.name = "sm3",
       .formula = "s = g^2 + the least of the bounds of its row, column ...; bounds are the largest s; m = beta1 m + (1 - beta1) g / "
                  "sqrt(s + eps); w -= a m. "
                  "Anil et al. 2019, arXiv:1901.11150",
       .lr = 0.1,
       .settings = {beta("beta1", 0.9), eps(1e-8)},
       .states = {{"bounds", "", "", Size::axes}, {"m"}},
       .phases = {{coefficients::sm3}},
       .whole = "sm3",
       .whole_operations = [](const Shape& shape) { return 20.0 * static_cast<double>(shape.elements()); },
       .scratch =
           [](const Shape& shape) {
             size_t sum = 0;
             for (const int64_t dim : shape) sum += static_cast<size_t>(dim);
             return std::max<size_t>(sum, 1);
           }},
      {.name = "lbfgs",
       .formula = "w -= a H g, where H follows from the last changes of w and g; the first step is min(1, 1 / |g|_1) as long. One "
                  "iteration for each step. Liu, Nocedal 1989, as torch has it with max_iter=1",
       .lr = 1,
       .settings = {integer("history", 10, "changes that are kept", 1, kMostHistory),
                    number("least_gradient", 1e-7, "no step below this size"), number("least_slope", 1e-9, "no step along a smaller one"),
                    flag("line_search", false, "on_minimize() looks for a point of the strong Wolfe conditions, as torch's strong_wolfe")},
       .states =
           {{"y", "", "", Size::histories}, {"s", "", "", Size::histories}, {"rho", "", "", Size::history}, {"gradient"}, {"direction"}},
       .scalars = {"pairs", "next", "scale", "length"},
       .together = lbfgs,
       .search = lbfgs_search,
       .whole_operations = [](const Shape& shape) { return 90.0 * static_cast<double>(shape.elements()); }},
      {.name = "muon",
       .formula = "matrices (axes after the first are one): m += (1 - momentum) (g - m), made orthogonal by Newton-Schulz steps, times "
                  "sqrt(max(1, rows / "
                  "columns)); vectors as adamw. Jordan et al. 2024, \"Muon\"; arXiv:2502.16982",
       .decay = Decay::decoupled,
       .weight_decay = 0.1,
       .settings = {fraction("momentum", 0.95, "of matrices"), flag("nesterov", true, "look ahead along the momentum"),
                    integer("steps", 5, "of the iteration", 1, 100), number("eps", 1e-7, "least norm of a matrix"), beta("beta1", 0.9),
                    beta2(0.999), number("adam_eps", 1e-8, "vectors: added to the denominator")},
       .states = {{"momentum", "", "", Size::elements, Of::matrices},
                  {"m", "", "", Size::elements, Of::vectors},
                  {"v", "", "", Size::elements, Of::vectors}},
       .phases = {{coefficients::muon}},
       .whole = "muon",
       .whole_operations =
           [](const Shape& shape) {
             const double count = static_cast<double>(shape.elements());
             if (shape.rank() < 2 || count == 0) return 20 * count;
             const double rows = static_cast<double>(shape[0]), n = std::min(rows, count / rows);
             return 15 * count + 5 * (count * n + n * n * n + 2 * count * n);
           },
       .scratch =
           [](const Shape& shape) {
             const size_t count = static_cast<size_t>(shape.elements());
             if (shape.rank() < 2 || count == 0) return size_t{1};
             const size_t rows = static_cast<size_t>(shape[0]), n = std::min(rows, count / rows);
             return whole_lines(count) + orthogonalize_floats(n, count / n);
           }},
  };
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule>& made = *new std::vector<Rule>(table());
  return made;
}

const Loop& loop_named(std::string_view name) {
  for (const Family& family :
       {common_family(), descent_family(), adam_family(), moments_family(), adagrad_family(), sign_family(), layer_family()})
    for (const Loop& loop : family.loops)
      if (loop.name == name) return loop;
  throw InternalError("there is no loop \"{}\"", name);
}

const WholeLoop& whole_named(std::string_view name) {
  for (const Family& family : {factored_family(), muon_family()})
    for (const WholeLoop& loop : family.wholes)
      if (loop.name == name) return loop;
  throw InternalError("there is no loop \"{}\" over whole tensors", name);
}

}  // namespace minnow::train
