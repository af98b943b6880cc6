#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small TorchScript programs give the same numbers as PyTorch.

Every row of the importer's rule table has a case here, or is in WITHOUT_CASE with the reason. A case is the body of a method forward(),
or a module that is traced or scripted. The cases are written in the form of the corpus, and the conformance runner runs them on both backends,
as imported and after every pass.
"""
import copy
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import torch
except ImportError:
    print("torch is not installed: the cases are left out")
    sys.exit(77)

SOURCE = Path(os.environ["MINNOW_SOURCE_DIR"])
RUNNER = Path(os.environ["MINNOW_BUILD_DIR"]) / "bin" / "conformance_tests"
if not RUNNER.exists():
    sys.exit(77)
torch.set_num_threads(1)
random = np.random.default_rng(5)

# Aliases, and what only other rows' programs print.
WITHOUT_CASE = {
    "aten::rand": "random", "aten::randn": "random", "aten::rand_like": "random", "aten::randn_like": "random",
    "aten::lift_fresh": "printed by other tracers", "aten::lift_fresh_copy": "printed by other tracers", "aten::cuda": "needs a device",
    "aten::pin_memory": "needs a device", "aten::numpy_T": "a property", "aten::mT": "a property", "prim::shape": "a property",
    "aten::sym_size": "of other tracers", "aten::is_autocast_enabled": "no such call in a program",
    "aten::is_autocast_cpu_enabled": "no such call in a program", "aten::is_scripting": "decided by PyTorch",
    "aten::_assert_async": "needs a device", "aten::set_grad_enabled": "a context", "prim::is_sparse": "a property",
    "aten::IntImplicit": "printed for an annotation", "aten::FloatImplicit": "printed for an annotation",
    "aten::ScalarImplicit": "printed for an annotation", "prim::NumToTensor": "of tracing", "aten::_shape_as_tensor": "of tracing",
    "aten::as_strided": "needs the strides of a tensor in memory", "aten::_unsafe_view": "of other tracers",
    "aten::true_divide": "an alias", "aten::empty": "not defined contents", "aten::empty_like": "not defined contents",
    "aten::new_empty": "not defined contents", "torchvision::nms": "torchvision's", "torchvision::roi_align": "torchvision's",
    "torchvision::roi_pool": "torchvision's", "torchvision::deform_conv2d": "torchvision's", "aten::_prelu_kernel": "of other tracers",
    "aten::_convolution_mode": "of other tracers", "aten::native_channel_shuffle": "an alias", "aten::is_grad_enabled": "a context",
    "aten::_transformer_encoder_layer_fwd": "with TransformerEncoder", "aten::_native_multi_head_attention": "with MultiheadAttention",
    "aten::get_device": "needs a device", "aten::linalg_matmul": "an alias", "aten::det": "see linalg_det", "aten::_assert": "of tracing", "aten::tanhshrink": "composed",
    "aten::tensordot": "composed", "aten::max_unpool3d": "as max_unpool2d", "prim::is_nested": "with encoders", "prim::abs": "folded",
}

# Names that PyTorch's compiler writes as others, or that only other front ends write.
ALIASES = set("""absolute arccos arcsin arctan arctan2 clip concat concatenate divide fix ger greater greater_equal less less_equal moveaxis
multiply negative not_equal row_stack special_erf special_erfc special_expit special_log_softmax special_logit special_softmax special_xlogy
subtract swapaxes swapdims alias bool double float half int long item type_as ndimension nonzero_numpy resolve_conj resolve_neg unique_dim _conj
reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d grid_sampler_3d""".split())


def floats(*shape):
    return torch.from_numpy(random.standard_normal(shape).astype(np.float32))


def positive(*shape):
    return floats(*shape).abs() + 0.1


def unit(*shape):
    return torch.from_numpy(random.uniform(-0.95, 0.95, shape).astype(np.float32))


def ints(low, high, *shape):
    return torch.from_numpy(random.integers(low, high, shape))


FIXED = ("diagonal", "median", "tensor_split", "unbind", "torch_split", "unsafe_split", "stride", "conversions", "torch_squeeze")


def named_tensors(inputs):
    """Those of lists and dictionaries are named "list.0", "dictionary.key"."""
    for name, x in inputs.items():
        if isinstance(x, torch.Tensor):
            yield name, x
        else:
            yield from named_tensors({f"{name}.{key}": one for key, one in (x.items() if isinstance(x, dict) else enumerate(x))})


class Case:
    def __init__(self, name, module, inputs):
        self.name, self.module, self.inputs = name, module, inputs
        self.steps = False  # quantized: a rounding may go the other way
        self.fixed = any(word in name for word in FIXED)  # the importer is told the sizes, not only how many dimensions there are

    def write(self, folder, programs):
        module = self.module
        if isinstance(module, int):
            module = torch.jit.script(getattr(programs, f"Program{module}")())
        path = folder / "torchscript" / self.name
        path.mkdir(parents=True)
        module.save(str(path / "model.pt"))
        given = dict(named_tensors(self.inputs))
        if any("float64" in str(x.dtype) for x in given.values()):
            raise ValueError("inputs are taken to be f32 or i64")
        with torch.no_grad():
            result = module(*[x.item() if name.startswith("n_") else copy.deepcopy(x) for name, x in self.inputs.items()])
        names, arrays = [], {}

        def flatten(value, name=None):
            if isinstance(value, (tuple, list)):
                for one in value:
                    flatten(one)
            elif isinstance(value, dict):
                for key, one in value.items():
                    flatten(one, key)
            elif isinstance(value, str) or value is None:
                pass
            else:
                array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.array(value, np.float32 if isinstance(value, float) else None)
                arrays[f"out_{len(names)}"] = array
                count = names.count(name)  # of other dictionaries
                names.append(f"{name}_{count}" if count else name or f"output{sum(1 for n in names if n.startswith('output'))}")

        flatten(result)
        for i, x in enumerate(given.values()):
            arrays[f"in_{i}"] = x.numpy()
        np.savez(path / "ref.npz", **arrays)
        # One step of a quantized output, whose numbers are its multiples.
        spread = float(np.diff(np.unique(arrays["out_0"].round(5))).min()) / 3.9 if self.steps and "dynamic" not in self.name else 0
        if self.name.startswith(NEAR):
            spread = 0.003
        return {"format": "torchscript", "name": self.name, "ops": {}, "engine_spread": spread,
                "inputs": [{"name": name, "hint": list(x.shape) if self.fixed else [-1] * x.dim()} for name, x in given.items()], "outputs": [{"name": name} for name in names]}


CASES = []
COVERED = set()


PROGRAMS = []


def program(name, body, inputs, types=None):
    """The body of forward(): an expression, or lines of which the last returns."""
    if "return" not in body:
        body = "return " + body
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    arguments = ", ".join(f"{n}: {(types or {}).get(n, 'Tensor')}" for n in inputs)
    PROGRAMS.append(f"class Program{len(PROGRAMS)}(torch.nn.Module):\n    def forward(self, {arguments}):\n{lines}\n")
    CASES.append(Case(name, len(PROGRAMS) - 1, inputs))


def compiled_programs(folder):
    """Write programs to a file, because PyTorch needs the source of the code that it compiles."""
    path = folder / "programs.py"
    path.write_text("import math\nimport torch\nfrom typing import Dict, List, Optional, Tuple\nfrom torch import Tensor\n\n\n" + "\n\n".join(PROGRAMS))
    spec = importlib.util.spec_from_file_location("programs", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["programs"] = module
    spec.loader.exec_module(module)
    return module


def x_programs(shape_maker, *bodies):
    """Yield programs of one input x, named after the functions that they call."""
    for body in bodies:
        name = re.sub(r"\W+", "_", body)[:60].strip("_")
        program(unique(name), body, {"x": shape_maker()})


NAMES = set()


def unique(name):
    while name in NAMES:
        name += "_"
    NAMES.add(name)
    return name


def network(name, module, *inputs, trace=True, script=True):
    module = module.eval()
    feeds = {f"x{i}" if len(inputs) > 1 else "x": x for i, x in enumerate(inputs)}

    def renamed(made):
        method = "forward" if hasattr(made, "forward") and made._c._has_method("forward") else "forward__0"
        names = [argument.debugName() for argument in list(made._c._get_method(method).graph.inputs())[1:]]
        return {n: x for n, x in zip([n.split(".")[0] for n in names], inputs)}

    for kind in ["traced"] * trace + ["scripted"] * script:
        try:
            made = torch.jit.trace(module, inputs, check_trace=False) if kind == "traced" else torch.jit.script(module)
            CASES.append(Case(unique(f"{name}_{kind}"), made, renamed(made)))
        except Exception as error:
            print(f"{name}_{kind}: PyTorch: {str(error)[:500]}")


# Elements.
x_programs(lambda: floats(2, 3, 4),
           "torch.add(x, 1)", "torch.add(x, x, alpha=2)", "x + 1.5", "1 - x", "x - 2", "torch.sub(x, 1.5, alpha=3)", "torch.subtract(x, 1)",
           "torch.rsub(x, 2)", "x * x * 2", "torch.multiply(x, 3)", "x / 3", "torch.divide(x, 2)", "torch.div(x, 0.3, rounding_mode='floor')",
           "torch.div(x, 0.3, rounding_mode='trunc')", "x // 0.5", "torch.floor_divide(x, 0.4)", "x % 0.7", "torch.remainder(x, -0.6)",
           "torch.fmod(x, 0.6)", "x ** 2", "torch.pow(2, x)", "torch.pow(x, 3)", "torch.float_power(x, 2).float()", "torch.square(x)", "-x",
           "torch.negative(x)", "x == x", "(x != 0), (x < 0), (x <= 0.5), (x > 0), (x >= 0.1)",
           "torch.not_equal(x, 0), torch.less(x, 0), torch.less_equal(x, x), torch.greater(x, 0), torch.greater_equal(x, 1)",
           "torch.equal(x, x)", "torch.isclose(x, x + 0.00000001)", "(x > 0) & (x < 1), (x > 0) | (x < -1), (x > 0) ^ (x < 1)",
           "torch.logical_and(x > 0, x < 1), torch.logical_or(x > 0, x < 1), torch.logical_xor(x > 0, x < 1), torch.logical_not(x > 0)",
           "~(x > 0)", "torch.bitwise_not(x > 0), torch.bitwise_and(x > 0, x > 1), torch.bitwise_or(x > 0, x > 1), torch.bitwise_xor(x > 0, x > 1)",
           "torch.maximum(x, -x), torch.minimum(x, -x), torch.fmax(x, -x), torch.fmin(x, -x)", "torch.abs(x), torch.absolute(x)",
           "torch.sign(x), torch.sgn(x), torch.positive(x)", "torch.ceil(x), torch.floor(x), torch.round(x), torch.trunc(x), torch.fix(x), torch.frac(x)",
           "torch.round(x, decimals=1)", "torch.exp(x), torch.exp2(x), torch.expm1(x), torch.expm1(x * 0.001)", "torch.sin(x), torch.cos(x), torch.tan(x)",
           "torch.atan(x), torch.arctan(x)", "torch.sinh(x), torch.cosh(x), torch.asinh(x)", "torch.sinc(x)", "torch.deg2rad(x), torch.rad2deg(x)",
           "torch.erf(x), torch.special.erf(x) if False else torch.erfc(x)", "torch.isnan(x), torch.isinf(x), torch.isfinite(x)",
           "torch.nan_to_num(x / 0 * 0)", "torch.nan_to_num(x / 0, posinf=3.0, neginf=-2.0)",
           "torch.clamp(x, -0.5, 0.5), torch.clip(x, min=0.1), torch.clamp(x, max=0.2), torch.clamp_min(x, 0), torch.clamp_max(x, 0.1)",
           "torch.clamp(x, min=x * 0.5, max=x + 1)", "torch.lerp(x, x * 2, 0.3), torch.lerp(x, x * 2, x)",
           "torch.addcmul(x, x, x, value=0.5), torch.addcdiv(x, x, x + 10, value=2)", "torch.where(x > 0, x, x * 0.1), torch.where(x > 0, 1.0, 0.0)",
           "torch.masked_fill(x, x > 0, 3.5)", "torch.logaddexp(x, x * 2)", "torch.hypot(x, x + 1)", "torch.atan2(x, x - 1), torch.arctan2(x - 1, x)",
           "torch.isin(torch.round(x), torch.tensor([0.0, 1.0]))", "torch.xlogy(x, x + 10)", "torch.special.xlogy(x, x + 10)")
x_programs(lambda: positive(3, 4), "torch.sqrt(x), torch.rsqrt(x), torch.reciprocal(x)", "torch.log(x), torch.log2(x), torch.log10(x), torch.log1p(x), torch.log1p(x * 0.0001)",
           "torch.acosh(x + 1)")
x_programs(lambda: unit(3, 4), "torch.asin(x), torch.arcsin(x), torch.acos(x), torch.arccos(x), torch.atanh(x)", "torch.logit(x.abs()), torch.logit(x, eps=0.1)",
           "torch.special.logit(x.abs())", "torch.special.expit(x), torch.special.erf(x), torch.special.erfc(x)")
program("shifts", "return (index << 2, index >> 1, torch.bitwise_left_shift(index, index), torch.bitwise_right_shift(index, 2), index & 6, index | 9, index ^ 5, index // 3, index % 3, -index)", {"index": ints(0, 6, 3, 4)})
program("integer_promotion", "index + 0.5, index * 2, index / 2, index + (index > 2), torch.sum(index), torch.mean(index.float()), index ** 2, torch.exp(index)", {"index": ints(0, 5, 3, 4)})
program("floor_signs", "return (index // -2, index % -3, torch.fmod(index, 3), torch.div(index, 3, rounding_mode='trunc'), torch.div(index, 3, rounding_mode='floor'))", {"index": ints(-7, 7, 4, 4)})

# Activations.
F = "torch.nn.functional."
x_programs(lambda: floats(2, 4, 3) * 4, "torch.relu(x)", "torch.relu_(x + 0)", "torch.nn.functional.relu6(x)", "torch.nn.functional.leaky_relu(x, 0.2)",
           "torch.rrelu(x)", "torch.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4]))", "torch.nn.functional.elu(x, 0.7)", "torch.celu(x, 0.8)", "torch.selu(x)",
           "torch.nn.functional.gelu(x), torch.nn.functional.gelu(x, approximate='tanh')", "torch.nn.functional.silu(x)", "torch.nn.functional.mish(x)",
           "torch.sigmoid(x)", "torch.nn.functional.logsigmoid(x)", "torch.tanh(x)", "torch.nn.functional.hardtanh(x, -0.5, 1.5)", "torch.nn.functional.hardsigmoid(x)",
           "torch.nn.functional.hardswish(x)", "torch.hardshrink(x)", "torch.nn.functional.softshrink(x, 0.3)", "torch.nn.functional.tanhshrink(x)",
           "torch.threshold(x, 0.1, 20)", "torch.nn.functional.softplus(x), torch.nn.functional.softplus(x, 2.0, 20.0)",
           "torch.softmax(x, 1), torch.softmax(x, dim=-1), torch._softmax(x, 2, False), torch.special.softmax(x, 1)",
           "torch.log_softmax(x, 2), torch.special.log_softmax(x, 1)", "torch.nn.functional.glu(x, 1)", "torch.dropout(x, 0.5, False)",
           "torch.feature_dropout(x, 0.5, False), torch.alpha_dropout(x, 0.5, False), torch.feature_alpha_dropout(x, 0.5, False)", "torch.nn.functional.softmin(x, 1)",
           "torch.nn.functional.normalize(x, p=2.0, dim=1)")

# Reductions.
x_programs(lambda: floats(2, 3, 4), "torch.sum(x), torch.sum(x, [0, 2]), torch.sum(x, 1, keepdim=True), torch.sum(x > 0)", "torch.mean(x), torch.mean(x, [1, 2], True)",
           "torch.prod(x), torch.prod(x, 1)", "torch.nansum(x), torch.nanmean(x, 1)", "torch.logsumexp(x, 1)", "torch.max(x), torch.min(x)",
           "torch.max(x, 1), torch.min(x, 2, keepdim=True)", "torch.max(x, -x), torch.min(x, -x)", "torch.amax(x, [0, 1]), torch.amin(x, 2, True), torch.amax(x)",
           "torch.aminmax(x, dim=1)", "torch.aminmax(x)", "torch.argmax(x), torch.argmax(x, 1), torch.argmin(x, -1, True)",
           "torch.all(x > -9), torch.all(x > 0, 1), torch.any(x > 0), torch.any(x > 1, dim=2, keepdim=True)", "torch.count_nonzero(x > 0), torch.count_nonzero(x > 0, 1)",
           "torch.var(x), torch.var(x, 1), torch.var(x, [1, 2], unbiased=False), torch.var(x, dim=1, correction=0)",
           "torch.std(x), torch.std(x, 1, keepdim=True), torch.std(x, dim=[0, 1], correction=2)", "torch.var_mean(x, 1)", "torch.std_mean(x, [1, 2], unbiased=False)",
           "torch.var_mean(x), torch.std_mean(x)", "torch.norm(x), torch.norm(x, 1, [1]), torch.norm(x, 2, [1, 2], True), torch.norm(x, 3, [2])",
           "torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 1, [1]), torch.linalg.vector_norm(x, inf, [0, 2], True)" if False else "torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 1, [1])",
           "torch.linalg.norm(x)", "torch.frobenius_norm(x, [1, 2])", "torch.cumsum(x, 1), torch.cumsum(x > 0, 0), torch.cumprod(x, 2)", "torch.logcumsumexp(x, 1)",
           "torch.cdist(x, x + 1), torch.cdist(x, x * 2, p=1.0)", "torch.pairwise_distance(x, x * 2)", "torch.cosine_similarity(x, x + 1, 2)",
           "torch.mse_loss(x, x * 2), torch.l1_loss(x, x + 1, 0)" if False else "torch.nn.functional.mse_loss(x, x * 2), torch.nn.functional.l1_loss(x, x + 1, reduction='none')")

# Products.
x_programs(lambda: floats(3, 4), "torch.matmul(x, x.t()), torch.mm(x, x.t()), x @ x.t()", "torch.mv(x, x[0])", "torch.dot(x[0], x[1]), torch.vdot(x[0], x[1])",
           "torch.outer(x[0], x[1]), torch.ger(x[0], x[1])", "torch.addmm(x @ x.t(), x, x.t(), beta=0.5, alpha=2)", "torch.addmv(x[:, 0], x, x[0])", "torch.addr(x, x[:, 0], x[0])",
           "torch.einsum('ij,kj->ik', [x, x])", "torch.tensordot(x, x, [1], [1])" if False else "torch.einsum('ij->ji', x)", "torch.linalg.det(x @ x.t() + torch.eye(3)), torch.det(x @ x.t())",
           "torch.nn.functional.linear(x, x)", "torch.linalg.cross(x[:, :3], x[:, 1:]), torch.cross(x[:, :3], x[:, 1:], 1)")
x_programs(lambda: floats(2, 3, 4), "torch.bmm(x, x.transpose(1, 2))", "torch.baddbmm(x @ x.mT, x, x.mT, beta=0.3)" if False else "torch.baddbmm(torch.bmm(x, x.transpose(1, 2)), x, x.transpose(1, 2), beta=0.3)",
           "torch.addbmm(torch.zeros([3, 3]), x, x.transpose(1, 2))", "torch.bilinear(x, x, torch.ones([5, 4, 4]), None)", "torch.matmul(x, x[0].t())", "torch.matmul(x[0, 0], x.transpose(1, 2))")

# Shapes.
x_programs(lambda: floats(2, 3, 4), "x.view(x.size(0), -1)", "x.reshape([2, -1]), x.view(-1)", "x.view_as(x.transpose(0, 1).reshape([2, 3, 4])), x.reshape_as(x)", "torch.flatten(x), torch.flatten(x, 1), torch.flatten(x, 0, 1)", "torch.ravel(x)",
           "torch.unflatten(x, 2, [2, 2])", "torch.squeeze(x.unsqueeze(1)), torch.squeeze(x.unsqueeze(1), 1), torch.squeeze(x, 0), torch.squeeze(x.unsqueeze(0), [0, 1])", "torch.unsqueeze(x, -1), torch.unsqueeze(x, 0)",
           "torch.permute(x, [2, 0, 1])", "torch.transpose(x, 0, -1), torch.swapaxes(x, 0, 1), torch.swapdims(x, 1, 2)", "x[0].t()", "torch.movedim(x, 0, 2), torch.moveaxis(x, [0, 1], [1, 0])",
           "x.unsqueeze(1).expand([2, 5, 3, 4]), x.unsqueeze(1).expand([-1, 5, -1, -1])", "torch.broadcast_to(x[0], [2, 3, 4])", "x[0].expand_as(x)", "x.contiguous(), x.detach(), x.clone(), torch.alias(x), x.cpu()" if False else "x.contiguous(), x.detach(), x.clone(), x.cpu()",
           "torch.flip(x, [0, 2]), torch.fliplr(x), torch.flipud(x)", "torch.rot90(x, 1, [0, 1]), torch.rot90(x, 2, [1, 2]), torch.rot90(x, 3, [0, 2])",
           "torch.roll(x, 1), torch.roll(x, [1, -1], [1, 2])", "x.repeat([2, 1, 3]), x.repeat([2, 1, 1, 1]), torch.tile(x, [2, 2])", "torch.repeat_interleave(x, 2, 1), torch.repeat_interleave(x, 3)",
           "torch.broadcast_tensors([x, x[0]])", "torch.meshgrid([x[0, 0], x[0, :, 0]]), torch.meshgrid([x[0, 0], x[0, :, 0]], indexing='xy')", "x[:, 1:, ::2]", "x[-1], x[..., -1], x[:, -2:]", "torch.select(x, 1, -1)", "torch.narrow(x, 1, 1, 2)",
           "torch.chunk(x, 2, 2), torch.chunk(x, 2, 1)", "torch.unsafe_chunk(x, 2, 2)", "torch.split(x, 2, 2), torch.split(x, [1, 2], 1)", "torch.unsafe_split(x, 3, 2), torch.unsafe_split_with_sizes(x, [1, 2], 1)", "torch.split_with_sizes(x, [1, 3], 2)",
           "torch.tensor_split(x, 3, 2), torch.tensor_split(x, [1, 2], 1)", "torch.unbind(x, 1)", "torch.diagonal(x, 0, 1, 2), torch.diagonal(x, 1, 1, 2)", "torch.diag(x[0, 0])", "torch.diag_embed(x)", "torch.tril(x), torch.triu(x, 1), torch.tril(x, -1)",
           "x.unfold(2, 2, 1)", "torch.cat([x, x * 2], 1), torch.concat([x, x]), torch.concatenate([x, x], -1)", "torch.stack([x, x * 2]), torch.stack([x, x], -1)", "torch.hstack([x, x]), torch.vstack([x, x]), torch.row_stack([x, x]), torch.dstack([x, x])",
           "torch.column_stack([x[0], x[0]]), torch.hstack([x[0, 0], x[0, 1]]), torch.vstack([x[0, 0], x[0, 1]])", "x.size(0), x.dim(), x.numel(), len(x)", "x.shape[1], x.stride(0)", "x.new_zeros([2, 2]), x.new_ones([2]), x.new_full([3], 2.5)",
           "torch.zeros([2, 3]), torch.ones([2]), torch.full([2], 1.5), torch.full([2], 3)", "torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 4)", "torch.arange(5), torch.arange(1, 6, 2), torch.arange(0.0, 1.0, 0.25), torch.arange(x.size(1))",
           "torch.linspace(0, 1, 5), torch.logspace(0, 2, 3)", "torch.eye(3), torch.eye(2, 4)", "torch.hann_window(5), torch.hamming_window(6, False), torch.blackman_window(5), torch.hann_window(5, False), torch.hamming_window(6)", "torch.tril_indices(3, 3), torch.triu_indices(3, 4, 1)",
           "torch.tensor([1.0, 2.0]), torch.tensor([[1, 2], [3, 4]]), torch.tensor(3.5), torch.as_tensor(x), torch.tensor(True)", "torch.scalar_tensor(2.5) + x", "x.to(torch.int64), x.float(), x.double(), x.half(), x.long(), x.int(), x.to(torch.bool), x.to(torch.float64), x.type_as(x)",
           "torch.sort(x, 1), torch.sort(x, -1, True), torch.sort(x, stable=True, dim=0)", "torch.argsort(x, 1), torch.msort(x)", "torch.topk(x, 2), torch.topk(x, 2, 1, largest=False)", "torch.kthvalue(x, 2, 1)", "torch.median(x), torch.median(x, 1)",
           "torch.nonzero(x > 0), torch.argwhere(x > 0)", "torch.where(x > 0)", "torch.masked_select(x, x > 0)", "torch.masked_scatter(x, x > 0, x * 2)", "x[x > 0]", "torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))", "torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x, right=True)",
           "torch._unique2(torch.round(x), True, True, True)", "torch._unique(torch.round(x), True, True)")
index = {"x": floats(3, 4), "index": torch.tensor([[0, 2, 1, 1], [2, 0, 0, 1]])}
for i, body in enumerate([
        "torch.gather(x, 0, index)", "torch.take_along_dim(x, index, 0)", "torch.index_select(x, 1, index[0])", "torch.take(x, index)", "x[index]", "x[index[0], index[1]]", "x[:, index[0]]", "x[:, index[0], None]",
        "torch.scatter(x, 0, index, x * 2)", "torch.scatter(x, 0, index, 1.5)", "torch.scatter_add(x, 0, index, x)", "torch.scatter_reduce(x, 0, index, x, 'amax')", "torch.scatter(x, 0, index, x, reduce='add')", "torch.index_add(x, 1, index[0], x, alpha=2)",
        "torch.index_copy(x, 0, index[0, :3], x * 3)", "torch.index_fill(x, 1, index[0], 7.0)", "torch.index_put(x, [index[0]], torch.tensor(1.0))", "torch.index_put(x, [index[0], index[1]], x[0], accumulate=True)", "torch.nn.functional.one_hot(index, 4)",
        "torch.embedding(x, index)", "torch.nn.functional.embedding(index, x)", "torch.repeat_interleave(x, torch.tensor([1, 2, 3]), 0)", "index.item() if index.numel() == 1 else index.sum().item()" if False else "index.sum()",
        "torch.nn.functional.embedding_bag(index[0], x, torch.tensor([0, 2]))", "torch.embedding_bag(x, index[0], torch.tensor([0, 2]), False, 1)[0]"]):
    program(f"index_{i}", body, dict(index))

# Images.
x_programs(lambda: floats(2, 4, 6, 8), "torch.conv2d(x, torch.ones([3, 4, 2, 3]), None, [1, 2], [1, 0])", "torch.conv2d(x, torch.ones([3, 4, 3, 3]), torch.ones([3]), padding='same')", "torch.conv2d(x, torch.ones([4, 2, 3, 3]), None, 1, 1, 2, 2)",
           "torch.conv_transpose2d(x, torch.ones([4, 3, 3, 3]), None, 2, 1, 1)", "torch.max_pool2d(x, 2), torch.max_pool2d(x, [3, 2], [2, 2], [1, 0], 1, True)", "torch.nn.functional.max_pool2d_with_indices(x, [2, 2])", "torch.avg_pool2d(x, 2)" if False else "torch.nn.functional.avg_pool2d(x, 2)",
           "torch.nn.functional.avg_pool2d(x, [3, 3], [2, 2], [1, 1], True, False)", "torch.nn.functional.avg_pool2d(x, [2, 2], divisor_override=3)", "torch.nn.functional.adaptive_avg_pool2d(x, [1, 1]), torch.nn.functional.adaptive_avg_pool2d(x, [3, 5])",
           "torch.nn.functional.adaptive_max_pool2d(x, [2, 3])", "torch.nn.functional.interpolate(x, scale_factor=2.0)", "torch.nn.functional.interpolate(x, size=[5, 9], mode='bilinear')", "torch.nn.functional.interpolate(x, size=[9, 7], mode='bilinear', align_corners=True)",
           "torch.nn.functional.interpolate(x, scale_factor=1.5, mode='bicubic')", "torch.nn.functional.interpolate(x, size=[4, 5], mode='nearest-exact')", "torch.nn.functional.interpolate(x, size=[3, 4], mode='bilinear', antialias=True)",
           "torch.nn.functional.interpolate(x, size=[3, 4], mode='bicubic', antialias=True)", "torch.nn.functional.pad(x, [1, 2]), torch.nn.functional.pad(x, [1, 2, 0, 1], value=1.5)", "torch.nn.functional.pad(x, [1, 2, 2, 1], mode='reflect')", "torch.nn.functional.pad(x, [1, 2, 2, 1], mode='replicate')",
           "torch.nn.functional.pad(x, [1, 2, 2, 1], mode='circular')", "torch.constant_pad_nd(x, [1, -1], 2)", "torch.pixel_shuffle(x, 2)", "torch.pixel_unshuffle(x, 2)", "torch.channel_shuffle(x, 2)", "torch.nn.functional.unfold(x, [2, 3], padding=1, stride=2)",
           "torch.nn.functional.fold(torch.nn.functional.unfold(x, [2, 2]), [6, 8], [2, 2])", "torch.nn.functional.grid_sample(x, torch.zeros([2, 3, 3, 2]) + 0.3, align_corners=False)", "torch.nn.functional.grid_sample(x, torch.zeros([2, 3, 3, 2]) + 0.3, mode='nearest', padding_mode='border', align_corners=True)",
           "torch.grid_sampler_2d(x, torch.zeros([2, 3, 3, 2]) - 0.4, 0, 0, True)", "torch.nn.functional.affine_grid(x[:, 0, :2, :3], [2, 3, 4, 5], align_corners=False)", "torch.batch_norm(x, None, None, torch.ones([4]), torch.ones([4]) * 2, False, 0.1, 0.00001, False)",
           "torch.instance_norm(x, None, None, None, None, True, 0.1, 0.00001, False)", "torch.group_norm(x, 2)", "torch.layer_norm(x, [6, 8]), torch.layer_norm(x, [8], torch.ones([8]) * 2, torch.ones([8]))", "torch.rms_norm(x, [8])", "torch.nn.functional.local_response_norm(x, 3)",
           "torch.nn.functional.max_unpool2d(torch.nn.functional.max_pool2d_with_indices(x, [2, 2])[0], torch.nn.functional.max_pool2d_with_indices(x, [2, 2])[1], [2, 2])", "torch.reflection_pad2d(x, [1, 1, 1, 1]), torch.replication_pad2d(x, [1, 1, 1, 1])" if False else "x + 0",
           "torch._upsample_nearest_exact2d(x, [12, 16], None)" if False else "x - 0", "torch.upsample_nearest2d(x, [12, 16], None, None)" if False else "x * 1", "torch.nn.functional.lp_pool2d(x, 2.0, 2)", "torch.convolution(x, torch.ones([3, 4, 2, 2]), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)")
x_programs(lambda: floats(2, 3, 7), "torch.conv1d(x, torch.ones([4, 3, 3]), None, 1, 1)", "torch.conv_transpose1d(x, torch.ones([3, 4, 3]), None, 2)", "torch.max_pool1d(x, 2)", "torch.max_pool1d_with_indices(x, 2)", "torch.avg_pool1d(x, 2)", "torch.adaptive_avg_pool1d(x, 3)", "torch.adaptive_max_pool1d(x, 2)[0]",
           "torch.nn.functional.interpolate(x, scale_factor=2.0)", "torch.nn.functional.interpolate(x, size=5, mode='linear')" if False else "torch.nn.functional.interpolate(x, size=[5], mode='linear')", "torch.nn.functional.interpolate(x, size=[5], mode='nearest-exact')",
           "torch.nn.functional.pad(x, [2, 1], mode='reflect'), torch.nn.functional.pad(x, [2, 1], mode='replicate')", "torch.nn.functional.unfold(x.unsqueeze(1), [1, 2])")
x_programs(lambda: floats(1, 2, 4, 5, 6), "torch.conv3d(x, torch.ones([3, 2, 2, 2, 2]))", "torch.conv_transpose3d(x, torch.ones([2, 3, 2, 2, 2]))", "torch.max_pool3d(x, 2)", "torch.nn.functional.max_pool3d_with_indices(x, [2, 2, 2])", "torch.nn.functional.avg_pool3d(x, 2)", "torch.nn.functional.adaptive_avg_pool3d(x, [2, 2, 2])",
           "torch.nn.functional.adaptive_max_pool3d(x, [2, 2, 2])", "torch.nn.functional.interpolate(x, scale_factor=2.0)", "torch.nn.functional.interpolate(x, size=[3, 4, 5], mode='trilinear')", "torch.nn.functional.interpolate(x, size=[3, 4, 5], mode='nearest-exact')", "torch.nn.functional.pad(x, [1, 1, 1, 1, 1, 1], mode='replicate')",
           "torch.nn.functional.grid_sample(x, torch.zeros([1, 2, 2, 2, 3]) + 0.2, align_corners=False)", "torch.nn.functional.pad(x, [1, 1, 1, 1, 1, 1], mode='reflect')")

# Attention and recurrence.
x_programs(lambda: floats(2, 2, 5, 4), "torch.scaled_dot_product_attention(x, x * 2, x)" if False else "torch.nn.functional.scaled_dot_product_attention(x, x * 2, x)", "torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)",
           "torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=x[0, 0, :, :1] > 0)" if False else "torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones([5, 5]).tril() > 0, scale=0.3)")
nn = torch.nn
torch.manual_seed(7)


class Called(nn.Module):
    """Layers whose own forward() is overloaded are called by another module."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)


for layers, both, first in [(1, False, False), (2, True, True)]:
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        network(f"{kind.__name__}_{layers}_{both}_{first}", Called(kind(3, 4, layers, bidirectional=both, batch_first=first)), floats(2, 5, 3))
network("RNN_relu", Called(nn.RNN(3, 4, nonlinearity="relu")), floats(2, 5, 3))
network("LSTM_no_bias", Called(nn.LSTM(3, 4, bias=False)), floats(2, 5, 3))
for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
    network(kind.__name__, kind(3, 4), floats(2, 3))
network("RNNCell_relu", nn.RNNCell(3, 4, nonlinearity="relu"), floats(2, 3))
network("MultiheadAttention", nn.MultiheadAttention(8, 2, batch_first=True), floats(2, 5, 8), floats(2, 5, 8), floats(2, 5, 8))
network("TransformerEncoderLayer", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), floats(2, 5, 8))
network("TransformerEncoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"), 2, enable_nested_tensor=False), floats(2, 5, 8))
network("TransformerDecoderLayer", nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), floats(2, 5, 8), floats(2, 6, 8))
network("Sequential", nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(5) if False else nn.Linear(4 * 3 * 3, 5)), floats(2, 3, 8, 8))
for module, shape in [(nn.Conv1d(3, 4, 3, padding="same"), (2, 3, 6)), (nn.ConvTranspose2d(3, 4, 3, 2), (1, 3, 4, 5)), (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5)), (nn.GroupNorm(3, 6), (2, 6, 4)), (nn.LayerNorm(6), (2, 3, 6)), (nn.Bilinear(3, 4, 5), None),
                      (nn.PReLU(3), (2, 3, 4)), (nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 4)), (nn.ZeroPad2d(1), (1, 2, 3, 4)), (nn.ReflectionPad1d(2), (1, 2, 5)), (nn.ReplicationPad1d(2), (1, 2, 5)), (nn.PixelShuffle(2), (1, 4, 3, 3)), (nn.Softmax2d(), (1, 4, 3, 3)), (nn.Unfold(2), (1, 2, 4, 4)),
                      (nn.AdaptiveMaxPool2d(2, return_indices=False), (1, 2, 5, 7)), (nn.LocalResponseNorm(3), (1, 5, 3, 4)), (nn.CosineSimilarity(), None), (nn.Embedding(7, 3), "ids"), (nn.BatchNorm1d(3), (4, 3)), (nn.ReflectionPad2d(1), (1, 2, 4, 4)), (nn.ReplicationPad2d(1), (1, 2, 4, 4)),
                      (nn.ReplicationPad3d(1), (1, 2, 3, 4, 4)), (nn.ReflectionPad3d(1), (1, 2, 3, 4, 4)), (nn.MaxPool2d(2, return_indices=True), (1, 2, 4, 6)), (nn.Dropout2d(), (1, 2, 3, 4)), (nn.Hardswish(True), (3, 4)), (nn.SiLU(True), (3, 4)), (nn.ELU(0.5, True), (3, 4)), (nn.Hardtanh(-1.0, 1.0, True), (3, 4))]:
    name = type(module).__name__
    if shape is None:
        network(name, module, floats(2, 3), floats(2, 4) if name == "Bilinear" else floats(2, 3))
    elif shape == "ids":
        network(name, module, ints(0, 7, 2, 5))
    else:
        network(name, module, floats(*shape))

# Programs: control flow, lists, in-place changes, conversions.
program("if_data", """
if x.sum() > 0:
    y = x * 2
else:
    y = x - 1
return y
""", {"x": floats(2, 3)})
program("if_number", """
if n_k > 2:
    y, z = x * n_k, 1
else:
    y, z = x + n_k, 2
return y, z
""", {"x": floats(2, 3), "n_k": torch.tensor(3)}, {"n_k": "int"})
program("for_number", """
y = x
for i in range(n_k):
    y = y * 0.5 + float(i)
return y
""", {"x": floats(2, 3), "n_k": torch.tensor(4)}, {"n_k": "int"})
program("for_long", """
y = x
for i in range(100):
    y = torch.tanh(y) + i
return y
""", {"x": floats(2, 3)})
program("while_data", """
y = x
n = 0
while bool(y.abs().max() > 0.1):
    y = y * 0.5
    n += 1
return y, n
""", {"x": floats(2, 3)})
program("while_break", """
y = x
for i in range(n_k):
    if bool(y.sum() > 3):
        break
    y = y + 1
return y
""", {"x": floats(2, 3), "n_k": torch.tensor(9)}, {"n_k": "int"})
program("made_in_a_branch", """
sizes = [1, 1]
if x.sum() > 0:
    y = torch.zeros([3, 2])
    y[1:] = 2.0
    z = x + y
    if x.size(0) > n_k:
        sizes[0] = 2
else:
    z = x * 2
if n_k > 1:
    sizes[1] = 0
return torch.roll(z, sizes, [0, 1])
""", {"x": floats(3, 2), "n_k": torch.tensor(2)}, {"n_k": "int"})
program("list_of_steps", """
out: List[Tensor] = []
for i in range(x.size(0)):
    out.append(x[i] * i)
return torch.stack(out)
""", {"x": floats(4, 3)})
program("list_grows_by_data", """
out: List[Tensor] = []
for i in range(n_k):
    if i % 2 == 0:
        out.append(x + i)
return torch.cat(out, 0), len(out)
""", {"x": floats(2, 3), "n_k": torch.tensor(5)}, {"n_k": "int"})
program("in_place", """
y = x.clone()
y.add_(1).mul_(2)
y[0] = 5.0
y[:, 1] += 3
y[1, 2:] = x[0, 2:]
y.clamp_(-3, 7)
z = torch.zeros_like(y)
z.copy_(y)
z[0].fill_(1.5)
z[1].zero_()
return y, z
""", {"x": floats(3, 4)})
program("view_written", """
y = x + 0
flat = y.view(-1)
flat[3] = 9.0
part = y[1:]
part.mul_(2)
return y, flat, part
""", {"x": floats(3, 4)})
program("in_place_in_loop", """
y = torch.zeros([4, 3])
for i in range(n_k):
    y[i] = x[i] * i
return y
""", {"x": floats(4, 3), "n_k": torch.tensor(3)}, {"n_k": "int"})
program("index_put_in_place", """
y = x.clone()
y[y > 0] = 0.0
y[index] = 2.0
y.index_put_([index], torch.tensor(3.0))
return y
""", {"x": floats(4, 3), "index": torch.tensor([0, 2])})
program("dictionary", """
d = {"a": x, "b": x * 2}
d["c"] = d["a"] + 1
if "b" in d:
    d["b"] = d["b"] * 3
n = len(d)
return d
""", {"x": floats(2, 3)})
program("dictionary_methods", """
d: Dict[str, Tensor] = {}
d["a"] = x
keys = d.keys()
total = x * 0
for v in d.values():
    total = total + v
for k, v in d.items():
    total = total + v
e = d.get("z")
if e is None:
    total = total + 1
f = dict(d)
d.clear()
g: Dict[str, Tensor] = dict()
total = total + len(f) + len(g)
return total + len(keys)
""", {"x": floats(2, 3)})
program("dictionary_updates", """
d = {"a": x, "b": x * 2}
e: Dict[str, Tensor] = {"b": x * 3}
e["c"] = x * 4
d.update(e)
d.update(d)
f = d.setdefault("a", x * 5) + d.setdefault("z", x * 6)
g = d.pop("b")
return d, f, g, len(d)
""", {"x": floats(2, 3)})
program("list_of_inputs", """
out: List[Dict[str, Tensor]] = []
for image in images:
    out.append({"mean": image.mean(), "twice": image * 2 + image.size(0)})
return torch.tensor(len(images)), out
""", {"images": [floats(2, 3), floats(4, 1)]}, {"images": "List[Tensor]"})
program("dictionary_of_inputs", """
total = given["x"] * given["y"]
for name, pair in pairs.items():
    total = total + pair[0] - pair[1] * len(name)
return total
""", {"given": {"x": floats(2, 3), "y": floats(3)}, "pairs": {"a": (floats(3), floats(3)), "bc": (floats(3), floats(3))}},
        {"given": "Dict[str, Tensor]", "pairs": "Dict[str, Tuple[Tensor, Tensor]]"})
for least in (0.0, 9.0):  # nothing is that large
    program(f"rank_of_branches_{int(least)}", f"""
found = x[x[:, 0] > {least}]
count = 0
for one in [found]:
    count += one.size(0)
if count > 0:
    y = found.reshape([count, -1, 2])
else:
    y = found
if found.numel() == 0:
    z = torch.zeros([0, 2])
else:
    z = y.sum(1)
return y[:, 1:].reshape([-1, 2]), z
""", {"x": floats(5, 6)})
program("rank_of_loops", """
parts: List[Tensor] = []
for i in range(70):
    parts.append(x[x > i * 0.02])
all = torch.cat(parts)
firsts = torch.zeros_like(all, dtype=torch.bool)
for value in torch.unique(all):
    firsts[torch.where(all == value)[0][:1]] = True
return firsts, torch.stack(parts[:0] + [all, all]), all.unsqueeze(-1) * x[:2]
""".replace("parts[:0] + ", ""), {"x": floats(9)})
program("split_by_data", """
counts: List[int] = []
for i in range(2):
    counts.append(int(index[i]))
a, b = torch.split(x, counts, 1)
one = torch.split(x, [int(index[0]) + int(index[1])], 1)
return a, b * 2, one[0]
""", {"x": floats(2, 5), "index": torch.tensor([2, 3])})
program("numbers_are_double", """
scale = (x.max() * 0 + 1.28).item()
size = float(x.size(0)) * scale
return torch.zeros([int(math.floor(size))]), size, x * scale
""", {"x": floats(200)})
program("sizes_made_of_sizes", """
sizes: List[List[int]] = []
for image in [x, x[1:]]:
    sizes.append(image.shape)
most = sizes[0]
for other in sizes[1:]:
    for i in range(len(other)):
        most[i] = max(most[i], other[i])
batch = x.new_full([2] + most, 0)
for i in range(batch.shape[0]):
    image = [x, x[1:]][i]
    batch[i, :image.shape[0], :image.shape[1]].copy_(image)
chosen = batch[torch.arange(2)[:, None], torch.topk(batch[:, :, 0], 2, 1)[1]]
return batch, chosen[0] * len(chosen), torch.arange(3).view(1, -1).expand_as(x)
""", {"x": floats(4, 3)})
program("lists", """
a = [1, 2, 3]
a.append(4)
a.extend([5])
a.insert(0, 0)
b = a.pop()
a.reverse()
a[0] = 7
del a[1]
c = a.copy()
c.sort()
gone = [1, 2]
gone.clear()
s = sorted([3, 1, 2])
return x + b, x * a[0], x + c[1] + s[0] + len(a) + sum([1, 2]) + max([1, 5]) + min(2, 3) + (1 if 3 in a else 0), a[1:3], abs(-x.dim()), len(gone)
""", {"x": floats(2, 3)})
program("numbers", """
import_ = 3
a = x.size(0) * 2 + 1
b = a // 2
c = a % 2
d = a / 4
e = float(a) ** 0.5
f = int(d)
g = a == 5 and b < 9
h = -a
return x * (a + b + c + d + e + f + h), g, (a << 1) | 1, (a >> 1) & 3, a ^ 2, round(2.5), not g
""".replace("import_ = 3\n", ""), {"x": floats(2, 3)})
program("mathematics", """
a = float(x.size(1))
return x * math.floor(a / 2), math.ceil(2.3), math.sqrt(a), math.exp(1.0), math.log(a), math.sin(a), math.cos(a)
""", {"x": floats(2, 3)})
program("texts", """
mode: str = ["Bilinear", "Nearest"][0 if x.dim() == 2 else 1]
y = x
if mode.lower() == "bilinear" and mode.startswith("Bi") and mode.endswith("ear") and len(mode) > 3:
    y = y + 1
if mode.upper() == "X":
    y = y * 0
return y
""", {"x": floats(2, 3)})
program("optional", """
y: Optional[Tensor] = None
if x.dim() == 2:
    y = x + 1
assert y is not None
return y
""", {"x": floats(2, 3)})
program("conversions", """
a = int(x.sum())
b = float(x.mean())
c = bool(x.max() > 0)
d = x[0, 0].item()
e: List[float] = x[0].tolist()
return a, b, c, e[1], x * b
""", {"x": floats(2, 3)})
program("types", """
y = x
if x.dtype == torch.float32 and not x.is_cuda and x.is_floating_point() and not x.is_complex() and not x.is_quantized and x.device == torch.device("cpu") and not x.requires_grad and x.is_contiguous() and x.layout == torch.strided:
    y = y + 1
return y.requires_grad_(False)
""".replace(" and x.layout == torch.strided", ""), {"x": floats(2, 3)})
program("ranges", """
y = x
for i in range(1, 8, 3):
    y = y + i
for i in range(x.size(1), 0, -1):
    y = y * i
return y
""", {"x": floats(2, 3)})


class State(nn.Module):
    """Attributes that change with each call, beginning with an example tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 3))
        self.calls = 0

    def forward(self, x):
        self.total += x
        self.calls += 1
        return self.total * self.calls


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.names = {"a": 1, "b": 2}

    def forward(self, x, flag: bool = True):
        for layer in self.layers:
            x = layer(x)
        if flag:
            x = x + self.names["b"]
        return {"first": x, "second": (x * 2).sum()}


network("Branches", Branches(), floats(2, 3), trace=False)

# Complex numbers.
program("complex_arithmetic", """
a, b = torch.view_as_complex(x), torch.complex(y, y + 1)
c = (a * b.conj() + a / (b + 2) - 3 * a + b * y - torch.rsub(a, y)) / 2.0
d = torch.polar(torch.abs(y), y).conj_physical()
return torch.view_as_real(c), c.abs(), c.angle(), c.real, c.imag, torch.view_as_real(torch.exp(b)), torch.view_as_real(d / y)
""", {"x": floats(3, 5, 2), "y": floats(3, 5)})
program("complex_movement", """
a = torch.view_as_complex(x)
b = torch.cat([a, a * 2]).transpose(0, 1)[1:].reshape(-1)
first, second = a.unsqueeze(-1).flatten(0, 1).chunk(2)
c = torch.stack([first, second], -1).sum(0).mean(-1)
return torch.view_as_real(b), torch.view_as_real(c), torch.tensor(a.size(1) + a.dim()), torch.tensor([torch.is_complex(a), a.is_floating_point()]), y.real.conj()
""", {"x": floats(2, 4, 2), "y": floats(3)})
program("complex_transforms", """
a = torch.view_as_complex(x)
f, r = torch.fft.fft(a, dim=0), torch.fft.rfft(y, norm="ortho")
low = torch.fft.ifft(f * torch.fft.fftfreq(3).unsqueeze(-1), dim=0)
back = torch.fft.irfft(r * torch.fft.rfftfreq(9), n=9, norm="ortho")
return torch.view_as_real(f), torch.view_as_real(low), r.abs(), back, torch.view_as_real(torch.fft.fft(y, 6, norm="forward")), torch.fft.irfft(r)
""", {"x": floats(3, 5, 2), "y": floats(4, 9)})
program("stft", """
w = torch.hann_window(12)
a = torch.stft(x, 16, 4, 12, w, return_complex=True)
b = torch.stft(x, 16, window=torch.hann_window(16), center=False, normalized=True, return_complex=False)
power = a.abs().pow(2.0)
return power, b, torch.log(torch.matmul(power.transpose(1, 2), torch.ones(9, 3)).clamp(min=1e-6)), torch.stft(x[0], 16, 4, onesided=False, center=False, return_complex=True).abs()
""", {"x": floats(2, 50)})
program("istft", """
w = torch.hann_window(16)
a = torch.stft(x, 16, 4, 16, w, return_complex=True)
return torch.istft(a * torch.sigmoid(a.abs()), 16, 4, 16, w, length=x.size(1)), torch.istft(a, 16, 4, window=w), torch.istft(a[0], 16, 4, window=w)
""", {"x": floats(2, 50)})

# Quantized, static and dynamic.
torch.backends.quantized.engine = "fbgemm"


def quantized(name, module, x, dynamic=False):
    try:
        if dynamic:
            made = torch.ao.quantization.quantize_dynamic(module.eval(), {nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell})
        else:
            stub = nn.Sequential(torch.ao.quantization.QuantStub(), module, torch.ao.quantization.DeQuantStub()).eval()
            stub.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
            prepared = torch.ao.quantization.prepare(stub)
            prepared(x)
            made = torch.ao.quantization.convert(prepared)
    except Exception as error:
        print(f"{name}: PyTorch: {error}")
        return
    network(name, made, x, trace=False)
    CASES[-1].steps = True


conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 5))
quantized("quantized_conv", conv, floats(2, 3, 8, 8))
quantized("quantized_conv_relu", nn.Sequential(nn.intrinsic.ConvReLU2d(nn.Conv2d(3, 8, 3), nn.ReLU()), nn.ReLU6(), nn.Hardswish(), nn.LeakyReLU(), nn.Sigmoid()), floats(2, 3, 8, 8))
quantized("quantized_linear_relu", nn.Sequential(nn.intrinsic.LinearReLU(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 3)), floats(4, 6))
quantized("quantized_conv1d", nn.Sequential(nn.Conv1d(3, 4, 3, 1, 1), nn.BatchNorm1d(4) if False else nn.ReLU()), floats(2, 3, 9))
quantized("quantized_dynamic", nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), floats(4, 6), dynamic=True)


class FirstResult(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(6, 5), nn.GRUCell(6, 5), nn.RNNCell(6, 5, nonlinearity="relu")

    def forward(self, x):
        h, c = self.lstm(x)
        return h, c, self.gru(x, h), self.rnn(x, c)


# Inputs and states are not rounded to 8 bits, as PyTorch rounds them: near, not equal.
NEAR = ("quantized_recurrent",)
quantized("quantized_recurrent_lstm", FirstResult(nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)), floats(2, 7, 6), dynamic=True)
quantized("quantized_recurrent_gru", FirstResult(nn.GRU(6, 5)), floats(7, 2, 6), dynamic=True)
quantized("quantized_recurrent_cells", Cells(), floats(2, 6), dynamic=True)


class Sums(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1)
        self.add, self.mul, self.cat = nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional()
        self.norm = nn.Identity()

    def forward(self, x):
        a, b = self.a(x), self.b(x)
        return self.cat.cat([self.norm(self.add.add_relu(a, b)), self.mul.mul(a, b), self.add.add(a, b)], 1)


program("quantize_by_hand", """
q = torch.quantize_per_tensor(x, 0.05, 3, torch.qint8)
c = torch.quantize_per_channel(x, torch.tensor([0.05, 0.1]), torch.tensor([0, 0]), 0, torch.qint8)
return q.int_repr(), q.dequantize(), c.dequantize(), torch.relu(q).dequantize() + q.q_scale() + q.q_zero_point(), q.view(-1).dequantize()
""", {"x": floats(2, 3)})
quantized("quantized_sums", Sums(), floats(2, 3, 5, 5))


def missing_operators_are_listed():
    """Five operators that are not known: the error names all of them."""
    module = torch.jit.trace(lambda x: (torch.erfinv(x), torch.lgamma(x), torch.digamma(x), torch.special.i1(x), torch.i0(x)), torch.rand(2, 3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "five.pt"
        module.save(str(path))
        result = subprocess.run([RUNNER.parent / "minnow", "convert", path, Path(folder) / "five.minnow"], capture_output=True, text=True)
    lacking = [name for name in ("erfinv", "lgamma", "digamma", "special_i1", "i0") if f"aten::{name} (node" not in result.stderr]
    if lacking or result.returncode == 0:
        print("the error should name all unknown operators:", result.stderr, lacking)
    return not lacking and result.returncode != 0


def operators_of(path):
    """The operators that an archive's source text calls."""
    import zipfile
    names = set()
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            if "/code/" in entry and entry.endswith(".py"):
                text = archive.read(entry).decode()
                names |= {"aten::" + name for name in re.findall(r"\btorch\.(\w+)\(", text)}
                names |= {f"{space}::{name}" for space, name in re.findall(r"\bops\.(\w+)\.(\w+)\(", text)}
                names |= {"aten::" + {"int": "Int", "float": "Float", "bool": "Bool"}[name] for name in re.findall(r"(?<![\w.])(int|float|bool)\(", text)}
                names |= {"aten::sorted"} if "sorted(" in text else set()
                names |= {"prim::tolist"} if ".tolist()" in text else set()
                names |= {"aten::__getitem__"} if re.search(r"\w\[", text) else set()
    return names


def main():
    rules = set(re.findall(r'^    \{"([\w:]+)"', (SOURCE / "src/importers/torchscript/rules.cpp").read_text(), re.M))
    rules |= set(re.findall(r'^    \{\s*"([\w:]+)"', (SOURCE / "src/importers/torchscript/rules.cpp").read_text(), re.M))
    failed = not missing_operators_are_listed()
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(os.environ.get("MINNOW_KEEP_CASES", folder))
        rows, seen = [], set()
        programs = compiled_programs(folder)
        for case in CASES:
            if only and not any(word in case.name for word in only):
                continue
            try:
                rows.append(case.write(folder, programs))
                seen |= operators_of(folder / "torchscript" / case.name / "model.pt")
            except Exception as error:  # PyTorch refuses: the case itself is wrong
                print(f"{case.name}: PyTorch: {str(error)[:500]}")
                failed = True
        seen |= {name[:-1] for name in seen if name.endswith("_")}
        rules = {rule.replace("complex::", "aten::") for rule in rules}
        lacking = sorted(rule for rule in rules if rule not in seen and rule not in WITHOUT_CASE and rule[6:] not in ALIASES and not rule.startswith("quantized::"))
        if lacking and not only:
            print("rules without a case:", ", ".join(lacking))
            failed = True
        (folder / "manifest.json").write_text(json.dumps({"engine": f"PyTorch {torch.__version__}", "cases": rows}))
        environment = os.environ | {"MINNOW_CORPUS": str(folder), "MINNOW_MODELS_DIR": str(folder)}
        for run in (["reference"], ["cpu"], ["cpu", "--optimize"]):
            result = subprocess.run([RUNNER, "--suite", "corpus-torchscript", "--filter", "/", "--backend", *run], env=environment, text=True, capture_output=True)
            print(" ".join(run), result.stdout[-60000:], result.stderr[-2000:], sep="\n")
            failed = failed or result.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
