#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/train/answers.txt: weights after 100 steps of torch's and optax's optimizers in f64, for the tests of Minnow's.

    python scripts/make_optimizer_answers.py        # needs torch 2.15.0, optax 0.2.8 and jax

A case is a few lines: Minnow's configuration, and the weights. Weights and gradients before that are made by a formula that the tests know.
"""
import fnmatch
import inspect
import sys
from pathlib import Path

import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import optax
import torch
from optax import contrib

torch.set_default_dtype(torch.float64)  # of what optimizers of torch keep for a tensor

STEPS = 100
SHAPES = {"layer.weight": (4, 6), "layer.bias": (4,), "conv.weight": (3, 2, 2, 2), "out.bias": (1,)}


def noise(tensor, step, count):
    """Numbers in [-1, 1) with 16 bits: the same in f32 and f64."""
    x = (np.arange(count, dtype=np.uint64) * 104729 + tensor * 7919 + step * 1299709 + 12345) & 0xffffffff
    for shift, factor in ((16, 0x85ebca6b), (13, 0xc2b2ae35), (16, 1)):
        x = ((x ^ (x >> shift)) * factor) & 0xffffffff
    return (x >> 16).astype(np.float64) / 32768 - 1


def weights():
    return {name: noise(i, 1000, int(np.prod(shape))).reshape(shape) for i, (name, shape) in enumerate(SHAPES.items())}


def gradients(step, values, kind):
    """Those of step 0, 1 ...: noise around a direction, or of a sum of squares."""
    result = {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        count = int(np.prod(shape))
        if kind == "squares":
            curvature = 1 + 0.5 * noise(i, 3000, count).reshape(shape)
            result[name] = curvature * (values[name] - 0.25 * noise(i, 2000, count).reshape(shape))
        else:
            result[name] = (0.5 * noise(i, step, count) + 0.25 * noise(i, 2000, count)).reshape(shape)
    return result


def loss_of(values, targets):
    """A valley whose sides grow steeper, for line searches: the loss, and its gradients."""
    loss, result = 0.0, {}
    for i, (name, shape) in enumerate(SHAPES.items()):
        curvature, away = 1 + 0.5 * noise(i, 3000, int(np.prod(shape))).reshape(shape), values[name] - targets[name]
        loss += float(np.sum(curvature * away * away / 2 + 2 * away ** 4))
        result[name] = curvature * away + 8 * away ** 3
    return loss, result


def curvatures(step):
    return {name: np.abs(noise(i, step + 5000, int(np.prod(shape)))).reshape(shape) for i, (name, shape) in enumerate(SHAPES.items())}


CASES = []  # (name, library, lines of the configuration, weights)


def config_lines(optimizer, settings, groups, options, schedule):
    def text(value):
        if isinstance(value, (list, tuple)):
            return "[" + ",".join(repr(float(x)) for x in value) + "]"
        return str(value).lower() if isinstance(value, bool) else repr(value)
    lines = [f"optimizer {optimizer}", *(f"set {name} {text(value)}" for name, value in settings.items())]
    lines += [f"group {pattern} {name} {text(value)}" for pattern, values in groups for name, value in values.items()]
    lines += [f"{name} {text(value) if not isinstance(value, str) else value}" for name, value in options.items()]
    if schedule:
        lines.append("schedule " + schedule[0] + "".join(f" {name} {text(value)}" for name, value in schedule[1].items()))
    return lines


def add(name, library, optimizer, settings, values, groups=(), options=None, schedule=None):
    CASES.append((name, library, config_lines(optimizer, settings, groups, options or {}, schedule), values))


def torch_case(name, optimizer, settings, make, *, groups=(), theirs_groups=(), options=None, schedule=None, scheduler=None, kind="noise",
               before=None, steps=STEPS, average=None):
    """`make(param_groups)`: torch's optimizer; before(parameters): what is done with gradients; scheduler(optimizer): torch's."""
    parameters = {key: torch.nn.Parameter(torch.tensor(value)) for key, value in weights().items()}
    made, rest = [], dict(parameters)
    for pattern, keywords in theirs_groups:
        chosen = [rest.pop(key) for key in list(rest) if fnmatch.fnmatch(key, pattern)]
        made.append({"params": chosen, **keywords})
    made.append({"params": list(rest.values())})
    theirs = make(made)
    plan = scheduler(theirs) if scheduler else None
    means = {key: value.detach().clone() for key, value in parameters.items()}
    accumulate = (options or {}).get("accumulate", 1)
    for step in range(steps):
        given = gradients(step, {key: value.detach().numpy() for key, value in parameters.items()}, kind)
        for key, value in parameters.items():
            more = torch.tensor(given[key]) / accumulate
            value.grad = more if step % accumulate == 0 else value.grad + more
        if (step + 1) % accumulate:
            continue
        if before:
            before(parameters)
        theirs.step(lambda: torch.tensor(1.0))
        if plan:
            plan.step()
        if average:
            means = {key: average * means[key] + (1 - average) * parameters[key].detach() for key in means}
    values = {key: value.detach().numpy() for key, value in (means if average else parameters).items()}
    more = ({"kind": kind} if kind != "noise" else {}) | ({"steps": steps} if steps != STEPS else {})
    add(name, "torch", optimizer, settings, values, groups, {**(options or {}), **more}, schedule)


def optax_case(name, optimizer, settings, theirs, *, options=None, schedule=None, kind="noise", matrices=None, steps=STEPS, evaluate=None, curvature=False):
    """matrices: names of tensors that optax sees transposed."""
    turn = lambda values: {key: value.T if key in (matrices or ()) else value for key, value in values.items()}
    parameters = {key: jnp.asarray(value) for key, value in turn(weights()).items()}
    state = theirs.init(parameters)

    @jax.jit
    def one(given, state, parameters):
        updates, state = theirs.update(given, state, parameters)
        return optax.apply_updates(parameters, updates), state

    for step in range(steps):
        given = {key: jnp.asarray(value) for key, value in turn(gradients(step, turn({key: np.asarray(value) for key, value in parameters.items()}), kind)).items()}
        if curvature:
            CURVATURE.clear()
            CURVATURE.update({key: jnp.asarray(value) for key, value in curvatures(step).items()})
            updates, state = theirs.update(given, state, parameters)
            parameters = optax.apply_updates(parameters, updates)
        else:
            parameters, state = one(given, state, parameters)
    if evaluate:
        parameters = evaluate(state, parameters)
    values = turn({key: np.asarray(value) for key, value in parameters.items()})
    more = {"kind": kind} if kind != "noise" else {}
    more |= {"curvature": "given"} if curvature else {}
    more |= {"evaluate": "true"} if evaluate else {}
    add(name, "optax", optimizer, settings, values, (), {**(options or {}), **more}, schedule)


CURVATURE = {}


def same(cls, names=(), **fixed):
    """A case of torch whose settings have the same names there."""
    return lambda settings: lambda groups: cls(groups, foreach=False, **{names.get(key, key) if names else key: value for key, value in settings.items()}, **fixed)


def sgd_cases():
    t = torch.optim
    for name, settings in {"sgd": {"lr": 0.1}, "sgd_decay": {"lr": 0.1, "weight_decay": 0.05}, "sgd_momentum": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
                           "sgd_dampening": {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}, "sgd_maximize": {"lr": 0.02, "momentum": 0.5, "maximize": True},
                           "sgd_nesterov": {"lr": 0.1, "momentum": 0.9, "nesterov": True}}.items():
        torch_case(name, "sgd", settings, lambda groups, s=settings: t.SGD(groups, **s))
    groups = [("*.bias", {"weight_decay": 0.0, "lr": 0.05}), ("conv.*", {"momentum": 0.5})]
    torch_case("sgd_groups", "sgd", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, lambda g: t.SGD(g, lr=0.1, momentum=0.9, weight_decay=0.1), groups=groups, theirs_groups=groups)
    clip = lambda most: lambda parameters: torch.nn.utils.clip_grad_norm_(list(parameters.values()), most)
    torch_case("sgd_clip_norm", "sgd", {"lr": 0.1, "momentum": 0.9}, lambda g: t.SGD(g, lr=0.1, momentum=0.9), options={"clip_norm": 1.0}, before=clip(1.0))
    torch_case("sgd_clip_value", "sgd", {"lr": 0.1}, lambda g: t.SGD(g, lr=0.1), options={"clip_value": 0.25},
               before=lambda parameters: torch.nn.utils.clip_grad_value_(list(parameters.values()), 0.25))
    torch_case("sgd_accumulate", "sgd", {"lr": 0.1, "momentum": 0.9}, lambda g: t.SGD(g, lr=0.1, momentum=0.9), options={"accumulate": 4})
    torch_case("sgd_average", "sgd", {"lr": 0.1}, lambda g: t.SGD(g, lr=0.1), options={"average": 0.95}, average=0.95)
    axes = {"layer.weight": 1, "layer.bias": None, "conv.weight": (1, 2, 3), "out.bias": None}
    agc = optax.chain(optax.partition({key: optax.adaptive_grad_clip(0.1, axis=axis) for key, axis in axes.items()}, {key: key for key in axes}), optax.sgd(0.1))
    optax_case("sgd_clip_adaptive", "sgd", {"lr": 0.1}, agc, options={"clip_adaptive": 0.1})
    sam = contrib.sam(optax.sgd(0.1, momentum=0.9), optax.chain(contrib.normalize(), optax.sgd(0.05)), sync_period=2)
    optax_case("sgd_sharpness", "sgd", {"lr": 0.1, "momentum": 0.9}, sam, options={"sharpness": 0.05}, kind="squares")


def schedule_cases():
    t, s = torch.optim, torch.optim.lr_scheduler
    def case(name, ours, theirs):
        torch_case(f"schedule_{name}", "sgd", {"lr": 0.1, "momentum": 0.9}, lambda g: t.SGD(g, lr=0.1, momentum=0.9), schedule=ours, scheduler=theirs)
    case("constant", ("constant", {"factor": 0.5, "steps": 40}), lambda o: s.ConstantLR(o, 0.5, 40))
    case("linear", ("linear", {"start": 0.25, "end": 0.75, "steps": 60}), lambda o: s.LinearLR(o, 0.25, 0.75, 60))
    case("step", ("step", {"every": 30, "gamma": 0.3}), lambda o: s.StepLR(o, 30, 0.3))
    case("multi_step", ("multi_step", {"milestones": [20, 50, 55], "gamma": 0.3}), lambda o: s.MultiStepLR(o, [20, 50, 55], 0.3))
    case("exponential", ("exponential", {"gamma": 0.97}), lambda o: s.ExponentialLR(o, 0.97))
    case("polynomial", ("polynomial", {"steps": 80, "power": 2.0}), lambda o: s.PolynomialLR(o, 80, 2.0))
    case("cosine", ("cosine", {"steps": 100, "end": 0.1}), lambda o: s.CosineAnnealingLR(o, 100, 0.01))
    case("warm_restarts", ("warm_restarts", {"steps": 15, "multiple": 2, "end": 0.1}), lambda o: s.CosineAnnealingWarmRestarts(o, 15, 2, 0.01))
    case("warm_restarts_same", ("warm_restarts", {"steps": 15}), lambda o: s.CosineAnnealingWarmRestarts(o, 15, 1))
    for i, mode in enumerate(("triangular", "triangular2", "exp_range")):
        case(f"cyclic_{mode}", ("cyclic", {"up": 12, "down": 18, "base": 0.1, "mode": i, "gamma": 0.98}),
             lambda o, mode=mode: s.CyclicLR(o, 0.01, 0.1, 12, 18, mode, gamma=0.98, cycle_momentum=False))
    case("one_cycle", ("one_cycle", {"steps": 101, "div": 10.0, "final_div": 100.0}), lambda o: s.OneCycleLR(o, 0.1, 101, div_factor=10, final_div_factor=100, cycle_momentum=False))
    case("one_cycle_lines", ("one_cycle", {"steps": 101, "linear": True, "three_phases": True}),
         lambda o: s.OneCycleLR(o, 0.1, 101, anneal_strategy="linear", three_phase=True, cycle_momentum=False))
    for name, ours, theirs in (("sgd", "sgd", lambda g: t.SGD(g, lr=0.1, momentum=0.9)), ("adam", "adam", lambda g: t.Adam(g, lr=0.1))):
        settings = {"lr": 0.1, "momentum": 0.9} if ours == "sgd" else {"lr": 0.1}
        def cycled(kind, schedule, scheduler):
            torch_case(f"schedule_{kind}_momentum_{name}", ours, settings, theirs, schedule=schedule, scheduler=scheduler)
        cycled("one_cycle", ("one_cycle", {"steps": 101, "cycle_momentum": True}), lambda o: s.OneCycleLR(o, 0.1, 101))
        cycled("one_cycle_lines", ("one_cycle", {"steps": 101, "linear": True, "three_phases": True, "cycle_momentum": True, "base_momentum": 0.7, "max_momentum": 0.99}),
               lambda o: s.OneCycleLR(o, 0.1, 101, anneal_strategy="linear", three_phase=True, base_momentum=0.7, max_momentum=0.99))
        for i, mode in enumerate(("triangular", "triangular2", "exp_range")):
            cycled(f"cyclic_{mode}", ("cyclic", {"up": 12, "down": 18, "base": 0.1, "mode": i, "gamma": 0.98, "cycle_momentum": True}),
                   lambda o, mode=mode: s.CyclicLR(o, 0.01, 0.1, 12, 18, mode, gamma=0.98))
    case("inverse", ("inverse", {"gamma": 0.1, "power": 0.75}), lambda o: s.LambdaLR(o, lambda t: (1 + 0.1 * t) ** -0.75))
    case("warm_up", ("warm_up", {"steps": 30, "start": 0.1}), lambda o: s.LinearLR(o, 0.1, 1.0, 30))


def adam_cases():
    t = torch.optim
    betas = lambda settings: {**{key: value for key, value in settings.items() if key not in ("beta1", "beta2", "decoupled_weight_decay")},
                              **({"betas": (settings["beta1"], settings["beta2"])} if "beta1" in settings else {})}
    def case(name, ours, cls, settings, **more):
        extra = {"decoupled_weight_decay": True} if settings.get("decoupled_weight_decay") and "decoupled_weight_decay" in inspect.signature(cls.__init__).parameters else {}
        torch_case(name, ours, settings, lambda g: cls(g, **betas(settings), **extra), **more)
    case("adam", "adam", t.Adam, {"lr": 0.01})
    case("adam_decay", "adam", t.Adam, {"lr": 0.01, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3, "weight_decay": 0.1})
    case("adamw", "adamw", t.AdamW, {"lr": 0.01, "weight_decay": 0.1})
    case("adamw_amsgrad", "adamw", t.AdamW, {"lr": 0.01, "amsgrad": True, "beta1": 0.9, "beta2": 0.9})
    groups = [("*.bias", {"weight_decay": 0.0})]
    clip = lambda parameters: torch.nn.utils.clip_grad_norm_(list(parameters.values()), 0.5)
    case("adamw_all", "adamw", t.AdamW, {"lr": 0.01, "weight_decay": 0.1, "eps": 1e-3}, groups=groups, theirs_groups=groups, options={"clip_norm": 0.5}, before=clip,
         schedule=("cosine", {"steps": 100}), scheduler=lambda o: t.lr_scheduler.CosineAnnealingLR(o, 100))
    optax_case("adam_eps_root", "adam", {"lr": 0.01, "eps_root": 1e-3}, optax.adam(0.01, eps_root=1e-3))
    optax_case("amsgrad_optax", "adam", {"lr": 0.01, "amsgrad": True, "corrected_maximum": True, "beta2": 0.9}, optax.amsgrad(0.01, b2=0.9))
    optax_case("adamw_optax", "adamw", {"lr": 0.01, "weight_decay": 0.1}, optax.adamw(0.01, weight_decay=0.1))
    if not ALL:
        return
    case("adamax", "adamax", t.Adamax, {"lr": 0.01, "weight_decay": 0.05})
    case("nadam", "nadam", t.NAdam, {"lr": 0.01, "weight_decay": 0.05})
    case("nadam_decoupled", "nadam", t.NAdam, {"lr": 0.01, "weight_decay": 0.05, "decoupled_weight_decay": True})
    case("radam", "radam", t.RAdam, {"lr": 0.01, "weight_decay": 0.05})
    case("radam_decoupled", "radam", t.RAdam, {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.05, "decoupled_weight_decay": True})
    optax_case("yogi", "yogi", {"lr": 0.01}, optax.yogi(0.01))
    optax_case("adabelief", "adabelief", {"lr": 0.01}, optax.adabelief(0.01))


def more_cases():
    t = torch.optim
    for name, settings in {"adagrad": {"lr": 0.1}, "adagrad_decay": {"lr": 0.1, "lr_decay": 0.05, "weight_decay": 0.1, "initial_accumulator": 0.5}}.items():
        theirs = {key.replace("initial_accumulator", "initial_accumulator_value"): value for key, value in settings.items()}
        torch_case(name, "adagrad", settings, lambda g, s=theirs: t.Adagrad(g, **s))
    optax_case("adagrad_optax", "adagrad", {"lr": 0.1, "eps": 1e-7, "initial_accumulator": 0.1, "eps_inside": True}, optax.adagrad(0.1))
    for name, settings in {"adadelta": {"lr": 1.0}, "adadelta_decay": {"lr": 0.5, "rho": 0.8, "eps": 1e-3, "weight_decay": 0.1}}.items():
        torch_case(name, "adadelta", settings, lambda g, s=settings: t.Adadelta(g, **s))
    for name, settings in {"rmsprop": {"lr": 0.01}, "rmsprop_centered": {"lr": 0.01, "centered": True, "alpha": 0.9}, "rmsprop_momentum": {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.05},
                           "rmsprop_both": {"lr": 0.01, "momentum": 0.9, "centered": True, "alpha": 0.95}}.items():
        torch_case(name, "rmsprop", settings, lambda g, s=settings: t.RMSprop(g, **s))
    optax_case("rmsprop_optax", "rmsprop", {"lr": 0.01, "alpha": 0.9, "eps_inside": True}, optax.rmsprop(0.01))
    optax_case("rmsprop_optax_both", "rmsprop", {"lr": 0.01, "alpha": 0.9, "eps_inside": True, "centered": True, "momentum": 0.9}, optax.rmsprop(0.01, centered=True, momentum=0.9))
    torch_case("rprop", "rprop", {"lr": 0.01}, lambda g: t.Rprop(g, lr=0.01))
    torch_case("rprop_bounds", "rprop", {"lr": 0.01, "eta_minus": 0.6, "eta_plus": 1.3, "least": 1e-3, "most": 0.02}, lambda g: t.Rprop(g, lr=0.01, etas=(0.6, 1.3), step_sizes=(1e-3, 0.02)))
    torch_case("asgd", "asgd", {"lr": 0.05, "weight_decay": 0.1}, lambda g: t.ASGD(g, lr=0.05, weight_decay=0.1))
    optax_case("lion", "lion", {"lr": 0.01, "weight_decay": 0.1}, optax.lion(0.01, weight_decay=0.1))
    optax_case("lion_betas", "lion", {"lr": 0.01, "beta1": 0.95, "beta2": 0.98, "weight_decay": 0.0}, optax.lion(0.01, b1=0.95, b2=0.98, weight_decay=0.0))
    optax_case("adan", "adan", {"lr": 0.01, "weight_decay": 0.1}, optax.adan(0.01, weight_decay=0.1))
    optax_case("ademamix", "ademamix", {"lr": 0.01, "beta3": 0.99, "weight_decay": 0.1}, contrib.ademamix(0.01, b3=0.99, weight_decay=0.1))
    optax_case("adopt", "adopt", {"lr": 0.01}, contrib.adopt(0.01))
    optax_case("adopt_unclipped", "adopt", {"lr": 0.01, "beta2": 0.99, "clip": False}, contrib.adopt(0.01, b2=0.99, use_clipping=False))
    optax_case("lamb", "lamb", {"lr": 0.02, "weight_decay": 0.1}, optax.lamb(0.02, weight_decay=0.1))
    optax_case("lars", "lars", {"lr": 0.5, "weight_decay": 0.1, "trust": 0.05}, optax.lars(0.5, weight_decay=0.1, trust_coefficient=0.05))
    optax_case("lars_nesterov", "lars", {"lr": 0.5, "trust": 0.05, "nesterov": True, "momentum": 0.8}, optax.lars(0.5, trust_coefficient=0.05, momentum=0.8, nesterov=True))
    optax_case("novograd", "novograd", {"lr": 0.01, "weight_decay": 0.1}, optax.novograd(0.01, weight_decay=0.1))
    # In f32 the first steps, of 1e-6, are rounded to whole units of the weights, and the estimate follows from them: optax in f32 ends 0.17 away.
    optax_case("prodigy", "prodigy", {"weight_decay": 0.01}, contrib.prodigy(1.0, weight_decay=0.01), options={"f32": 0.05})
    optax_case("prodigy_safe", "prodigy", {"lr": 0.5, "safeguard": True, "d0": 1e-3}, contrib.prodigy(0.5, safeguard_warmup=True, estim_lr0=1e-3))
    estimate = optax.GradientTransformationExtraArgs(lambda params: (), lambda updates, state, params=None, **more: (dict(CURVATURE), state))
    optax_case("sophia", "sophia", {"lr": 0.01, "gamma": 0.5, "weight_decay": 0.1}, contrib.sophia(0.01, gamma=0.5, weight_decay=0.1, update_interval=1, hessian_diagonal_fn=estimate), curvature=True)
    optax_case("schedule_free", "schedule_free", {"lr": 0.05, "adam": False}, contrib.schedule_free(optax.sgd(0.05), 0.05, b1=0.9))
    optax_case("schedule_free_adam", "schedule_free", {"lr": 0.01, "weight_decay": 0.05}, contrib.schedule_free(optax.adamw(0.01, b1=0.0, weight_decay=0.05), 0.01, b1=0.9))
    optax_case("schedule_free_evaluated", "schedule_free", {"lr": 0.05, "adam": False}, contrib.schedule_free(optax.sgd(0.05), 0.05, b1=0.9), evaluate=contrib.schedule_free_eval_params)
    optax_case("sm3", "sm3", {"lr": 0.1}, optax.sm3(0.1))
    torch_case("adafactor", "adafactor", {"lr": 0.02}, lambda g: t.Adafactor(g, lr=0.02))
    torch_case("adafactor_decay", "adafactor", {"lr": 0.05, "decay": 0.5, "clip": 1.25, "eps": 0.01, "least_rms": 0.1, "weight_decay": 0.02},
               lambda g: t.Adafactor(g, lr=0.05, beta2_decay=-0.5, d=1.25, eps=(0.01, 0.1), weight_decay=0.02))
    muon_cases()
    lbfgs_cases()


def muon_cases():
    """torch's, whose matrices are made orthogonal in bf16: here in f64; AdamW takes the vectors."""
    from torch.optim import _muon
    source = inspect.getsource(_muon._zeropower_via_newtonschulz).replace("torch.bfloat16", "torch.float64")
    exec(compile(source, "muon", "exec"), _muon.__dict__)

    class Both:
        def __init__(self, groups, **settings):
            tensors = [tensor for group in groups for tensor in group["params"]]
            self.flat = [(tensor, torch.nn.Parameter(tensor.detach().clone().reshape(tensor.shape[0], -1))) for tensor in tensors if tensor.ndim > 1]
            self.muon = torch.optim.Muon([flat for _, flat in self.flat], **settings)
            self.adam = torch.optim.AdamW([tensor for tensor in tensors if tensor.ndim < 2], lr=settings["lr"], weight_decay=settings["weight_decay"])

        def step(self, closure):
            for tensor, flat in self.flat:
                flat.grad = tensor.grad.reshape(flat.shape)
            self.muon.step()
            self.adam.step()
            for tensor, flat in self.flat:
                tensor.data.copy_(flat.data.reshape(tensor.shape))

    for name, settings in {"muon": {"lr": 0.02, "weight_decay": 0.1}, "muon_plain": {"lr": 0.02, "momentum": 0.9, "nesterov": False, "weight_decay": 0.0}}.items():
        torch_case(name, "muon", settings, lambda g, s=settings: Both(g, **s))


def lbfgs_cases():
    make = lambda **s: lambda g: torch.optim.LBFGS(g[0]["params"], max_iter=1, **s)
    torch_case("lbfgs", "lbfgs", {"lr": 0.5, "history": 5}, make(lr=0.5, history_size=5), kind="squares", steps=12)
    targets = {name: 0.25 * noise(i, 2000, int(np.prod(shape))).reshape(shape) for i, (name, shape) in enumerate(SHAPES.items())}
    for name, lr, steps in (("lbfgs_search", 1.0, 4), ("lbfgs_search_far", 40.0, 6)):
        parameters = {key: torch.nn.Parameter(torch.tensor(value)) for key, value in weights().items()}
        theirs = torch.optim.LBFGS(list(parameters.values()), lr=lr, max_iter=1, max_eval=100, history_size=5, line_search_fn="strong_wolfe")

        def closure():
            loss, given = loss_of({key: value.detach().numpy() for key, value in parameters.items()}, targets)
            for key, value in parameters.items():
                value.grad = torch.tensor(given[key])
            return torch.tensor(loss)
        for _ in range(steps):
            theirs.step(closure)
        add(name, "torch", "lbfgs", {"lr": lr, "history": 5, "line_search": True}, {key: value.detach().numpy() for key, value in parameters.items()},
            (), {"kind": "valley", "steps": steps})
    torch_case("lbfgs_noise", "lbfgs", {"lr": 0.01, "history": 10}, make(lr=0.01, history_size=10), steps=30)


ALL = "--first" not in sys.argv


def main():
    sgd_cases()
    schedule_cases()
    adam_cases()
    if ALL:
        more_cases()
    lines = [f"# Weights after {STEPS} steps, by torch {torch.__version__.split('+')[0]} and optax {optax.__version__}; scripts/make_optimizer_answers.py makes this file."]
    for name, library, config, values in CASES:
        lines += [f"case {name} {library}", *config]
        lines += [f"answer {key} " + " ".join(repr(float(x)) for x in np.ravel(value)) for key, value in values.items()]
    path = Path(__file__).resolve().parent.parent / "tests" / "train" / "answers.txt"
    path.write_text("\n".join(lines) + "\n")
    print(f"{len(CASES)} cases in {path.name}, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
