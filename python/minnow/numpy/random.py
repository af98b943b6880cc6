# SPDX-License-Identifier: Apache-2.0
"""Random numbers with NumPy's streams: default_rng(seed) draws the same numbers as NumPy's, and so do the older functions of this module.

Threads: a Generator belongs to one thread at a time.
"""
from __future__ import annotations

import math
import secrets
from typing import TYPE_CHECKING, Any, Optional, Sequence

from minnow._arrays import index_of, is_index
from minnow._functions import methods_of_arrays as _methods_of_arrays
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._minnow import dtype as DType

from minnow.numpy import _elementwise as ew
from minnow.numpy import _creation, _indexing, _products, _reductions, _shape
from minnow.numpy._core import (REGISTRY, ArrayLike, DTypeLike, asarray, astype, axis_of, broadcast_dims, deliver, dims_of, dtype_of, expand_to, float32, float64, int64, native, public, reshape_to,
                                size_of, uint64, unknown)


def _words(value: Any) -> list[int]:
    """A seed as 32-bit words, lowest first."""
    if isinstance(value, Var):
        value = value.tolist()
    if hasattr(value, "__iter__") and not isinstance(value, str):  # a letter of a text is a text
        return [word for one in value for word in _words(one)]
    if not hasattr(value, "__index__"):
        raise InvalidType(f"SeedSequence expects int or sequence of ints for entropy not {value!r}")
    number = index_of(value)
    if number < 0:
        raise InvalidArgument("expected non-negative integer")
    words = [number & 0xffffffff]
    while number >> 32:
        number >>= 32
        words.append(number & 0xffffffff)
    return words


class SeedSequence:
    """Spreads a seed over any number of words. entropy: an int, several, or None for one of the system's; spawn_key: which child it is."""

    def __init__(self, entropy: Any = None, *, spawn_key: Sequence[int] = (), pool_size: int = 4, n_children_spawned: int = 0) -> None:
        if pool_size < 4:
            raise InvalidArgument("The size of the entropy pool should be at least 4")
        self.entropy = secrets.randbits(128) if entropy is None else entropy
        self.spawn_key, self.pool_size, self.n_children_spawned = tuple(spawn_key), pool_size, n_children_spawned
        words, key = _words(self.entropy), _words(self.spawn_key)
        if key and len(words) < pool_size:
            words += [0] * (pool_size - len(words))
        self._assembled = words + key

    def generate_state(self, n_words: int, dtype: DTypeLike = "uint32") -> Var:
        """`n_words` of uint32 or uint64."""
        wide = dtype_of(dtype) == uint64
        words = native.seed_words(self._assembled, self.pool_size, n_words * (2 if wide else 1))
        if wide:
            words = [words[i] | words[i + 1] << 32 for i in range(0, len(words), 2)]
        return asarray(list(words), "uint64" if wide else "uint32")

    @property
    def pool(self) -> Var:
        return asarray(list(native.seed_pool(self._assembled, self.pool_size)), "uint32")

    def spawn(self, n_children: int) -> list[SeedSequence]:
        """Children whose words differ from each other's."""
        first = self.n_children_spawned
        self.n_children_spawned += n_children
        return [SeedSequence(self.entropy, spawn_key=(*self.spawn_key, first + i), pool_size=self.pool_size) for i in range(n_children)]


class PCG64:
    """The stream PCG64 of 64-bit numbers. seed: as SeedSequence's entropy, or a SeedSequence."""

    def __init__(self, seed: Any = None) -> None:
        self.seed_seq = seed if isinstance(seed, SeedSequence) else SeedSequence(seed)
        self._native = native.Pcg64()
        self._native.seed(self.seed_seq.generate_state(4, "uint64").tolist())

    def random_raw(self, size: Any = None) -> Any:
        """Numbers as the stream gives them: an int, or uint64 of a shape."""
        return self._native.raw([]).item() if size is None else self._native.raw(dims_of(size))

    def advance(self, delta: int) -> PCG64:
        """Moves on by `delta` numbers."""
        self._native.advance(delta % (1 << 128))
        return self

    def jumped(self, jumps: int = 1) -> PCG64:
        """A copy that is moved on by about 2^127 numbers, `jumps` times."""
        other = PCG64(self.seed_seq)
        other.state = self.state
        return other.advance(210306068529402873165736369884012333109 * jumps)

    def spawn(self, n_children: int) -> list[PCG64]:
        return [PCG64(child) for child in self.seed_seq.spawn(n_children)]

    @property
    def state(self) -> dict[str, Any]:
        state, increment, has_half, half = self._native.get()
        return {"bit_generator": "PCG64", "state": {"state": state, "inc": increment}, "has_uint32": int(has_half), "uinteger": half}

    @state.setter
    def state(self, value: dict[str, Any]) -> None:
        if value.get("bit_generator") != "PCG64":
            raise InvalidArgument("state must be for a PCG64 RNG")
        self._native.set(value["state"]["state"], value["state"]["inc"], bool(value["has_uint32"]), value["uinteger"])

    def __reduce__(self) -> Any:
        return PCG64, (self.seed_seq,), self.state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state


def _refuse(condition: Any, sentence: str) -> None:
    if condition:
        raise InvalidArgument(sentence)


class _Bound:
    """A condition on a parameter: bad(x) -> a bool array, and the sentence of the error."""

    __slots__ = ("bad", "sentence")

    def __init__(self, bad: Any, sentence: str) -> None:
        self.bad, self.sentence = bad, sentence


_ANY = None
_NOT_NEGATIVE = _Bound(lambda x: ~(x >= 0) | ew.signbit(x), "{} < 0")
_POSITIVE = _Bound(lambda x: ~(x > 0), "{} <= 0")
_SHARE = _Bound(lambda x: ~((x >= 0) & (x <= 1)), "{} < 0, {} > 1 or {} is NaN")
_NOT_INFINITE = _Bound(lambda x: ~ew.isfinite(x), "{} is not finite")


@_methods_of_arrays
class Generator:
    """Draws from a stream. size: a shape; None for one number (a Var of 0 dimensions, or of the parameters' common shape)."""

    def __init__(self, bit_generator: Any) -> None:
        if not hasattr(bit_generator, "_native"):
            raise InvalidType(f"a Generator takes a bit generator such as PCG64, not {type(bit_generator).__name__}")
        self.bit_generator = bit_generator

    def __repr__(self) -> str:
        return f"Generator({type(self.bit_generator).__name__})"

    @property
    def _bits(self) -> Any:
        return self.bit_generator._native

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators with streams of their own."""
        return [Generator(child) for child in self.bit_generator.spawn(n_children)]

    def _draw(self, name: str, size: Any, parameters: Sequence[tuple[str, ArrayLike, Optional[_Bound]]], single: bool = False) -> Var:
        values = []
        for label, value, bound in parameters:
            x = astype(asarray(value), float64)
            if bound is not None and bool(_reductions.any(bound.bad(x))):
                raise InvalidArgument(bound.sentence.replace("{}", label))
            values.append(x)
        common = broadcast_dims(*[x.shape for x in values]) if values else ()
        dims = list(common) if size is None else dims_of(size)
        if broadcast_dims(common, dims) != tuple(dims):
            raise InvalidArgument(f"Output size {tuple(dims)} is not compatible with broadcast dimensions of inputs {tuple(common)}.")
        return self._bits.draw(name, dims, [x if x.size == 1 else expand_to(x, dims) for x in values], single)  # type: ignore[no-any-return]

    def _standard(self, name: str, size: Any, dtype: DTypeLike, out: Any, parameters: Sequence[tuple[str, ArrayLike, Optional[_Bound]]] = ()) -> Var:
        kind = dtype_of(dtype)
        if kind not in (float32, float64):
            raise InvalidType(f"Unsupported dtype dtype('{kind}') for {name}")
        if out is not None:
            if size is not None and tuple(dims_of(size)) != out.shape:
                raise InvalidArgument("size must match out.shape when used together")
            if out.dtype != kind:
                raise InvalidType(f"Supplied output array has the wrong type. Expected {kind}, got {out.dtype}")
            size = out.shape
        return deliver(self._draw(name, size, parameters, kind == float32), out)

    # ---- Numbers

    def random(self, size: Any = None, dtype: DTypeLike = float64, out: Any = None) -> Var:
        """Uniform in [0, 1)."""
        return self._standard("random", size, dtype, out)

    def integers(self, low: ArrayLike, high: ArrayLike = None, size: Any = None, dtype: DTypeLike = int64, endpoint: bool = False) -> Var:
        """Whole numbers in [low, high), or [low, high] with endpoint; integers(high) begins at 0."""
        if high is None:
            low, high = 0, low
        kind = dtype_of(dtype)
        if kind.kind not in "biu":
            raise InvalidType(f"Unsupported dtype dtype('{kind}') for integers")
        from minnow.numpy._types import iinfo
        least, most = (0, 1) if kind.kind == "b" else (iinfo(kind).min, iinfo(kind).max)

        def whole(value: ArrayLike) -> tuple[list[int], tuple[int, ...]]:
            if isinstance(value, int):
                return [int(value)], ()
            x = asarray(value)
            if x.dtype.kind == "f":
                x = ew.floor(x) if x.ndim == 0 else x
                _refuse(x.ndim and not bool(_reductions.all(ew.equal(x, ew.floor(x)))), "low and high must be whole numbers")
                x = astype(x, int64)
            return reshape_to(x, [x.size]).tolist(), x.shape

        lows, shape_low = whole(low)
        highs, shape_high = whole(high)
        if not endpoint:
            highs = [h - 1 for h in highs]
        for value in lows:
            _refuse(value < least, f"low is out of bounds for {kind}")
        for value in highs:
            _refuse(value > most, f"high is out of bounds for {kind}")
        common = broadcast_dims(shape_low, shape_high)
        dims = list(common) if size is None else dims_of(size)
        if broadcast_dims(common, dims) != tuple(dims):
            raise InvalidArgument(f"Output size {tuple(dims)} is not compatible with broadcast dimensions of inputs {tuple(common)}.")

        def signed(value: int) -> int:
            return value - (1 << 64) if value >= 1 << 63 else value

        if len(lows) == 1 and len(highs) == 1:
            _refuse(lows[0] > highs[0] and size_of(dims), "low > high" if endpoint else "low >= high")
            return self._bits.integers(kind, dims, asarray([signed(lows[0])], "int64"), asarray([signed(highs[0] - lows[0])], "int64"))  # type: ignore[no-any-return]
        places = reshape_to(_creation.steps(len(lows)), shape_low), reshape_to(_creation.steps(len(highs)), shape_high)
        pairs = [reshape_to(expand_to(place, dims), [size_of(dims)]).tolist() for place in places]
        lows, highs = [lows[i] for i in pairs[0]], [highs[i] for i in pairs[1]]
        _refuse(any(a > b for a, b in zip(lows, highs)), "low > high" if endpoint else "low >= high")
        return self._bits.integers(kind, dims, asarray([signed(a) for a in lows], "int64"), asarray([signed(b - a) for a, b in zip(lows, highs)], "int64"))  # type: ignore[no-any-return]

    def bytes(self, length: int) -> bytes:
        """Random bytes."""
        words = self.integers(0, 1 << 32, -(-length // 4), "uint32")
        return memoryview(words).tobytes()[:length] if length else b""

    # ---- Orders

    def _order(self, n: int) -> Var:
        return self._bits.shuffled(n, 1, False)  # type: ignore[no-any-return]

    def permutation(self, x: Any, axis: int = 0) -> Var:
        """0 ... x - 1 in random order, or the parts of an array along an axis."""
        if is_index(x):
            return self._order(index_of(x))
        a = asarray(x)
        place = axis_of(axis, a.ndim)
        return _indexing.take(a, self._order(a.shape[place]), place)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """permutation() in place, of an array or a list."""
        if isinstance(x, list):
            if axis:
                raise NotImplementedError("Axis argument is only supported on ndarray objects")
            x[:] = [x[i] for i in self._order(len(x)).tolist()]
            return
        if not isinstance(x, Var):
            raise InvalidType(f"shuffle() takes a Var or a list, not {type(x).__name__}")
        place = axis_of(axis, x.ndim)
        x.assign(_indexing.take(x, self._order(x.shape[place]), place))

    def permuted(self, x: ArrayLike, *, axis: Optional[int] = None, out: Any = None) -> Var:
        """Every line along an axis in an order of its own; None: all elements."""
        a = asarray(x)
        if axis is None:
            return deliver(reshape_to(_indexing.take(reshape_to(a, [a.size]), self._order(a.size)), a.shape), out)
        place = axis_of(axis, a.ndim)
        lines = _shape.moveaxis(a, place, -1)
        n = lines.shape[-1]
        count = lines.size // n if n else 0
        orders = [self._order(n) for _ in range(count)]
        if not orders:
            return deliver(a.clone(), out)
        order = reshape_to(_shape.stack(orders, 0), lines.shape)
        return deliver(_shape.moveaxis(_indexing.take_along_axis(lines, order, -1), -1, place), out)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: ArrayLike = None, axis: int = 0, shuffle: bool = True) -> Var:
        """Parts of an array along an axis (or of 0 ... a - 1) by chance, p: the chance of each; not twice unless `replace`."""
        items = None
        if is_index(a):
            n = index_of(a)
            _refuse(n <= 0 and (size is None or size_of(dims_of(size))), "a must be a positive integer unless no samples are taken")
        else:
            items = asarray(a)
            n = items.shape[axis_of(axis, items.ndim)]
            _refuse(n == 0 and (size is None or size_of(dims_of(size))), "a cannot be empty unless no samples are taken")
        dims = [] if size is None else dims_of(size)
        count = size_of(dims)
        chances = None
        if p is not None:
            chances = astype(asarray(p), float64)
            _refuse(chances.ndim != 1, "p must be 1-dimensional")
            _refuse(chances.size != n, "a and p must have same size")
            _refuse(bool(_reductions.any(ew.isnan(chances))), "Probabilities contain NaN")
            _refuse(bool(_reductions.any(chances < 0)), "Probabilities are not non-negative. See Notes section of docs.")
            _refuse(abs(_reductions.sum(chances).item() - 1.0) > 1e-8, "Probabilities do not sum to 1. See Notes section of docs.")
        if replace:
            if chances is not None:
                cdf = _reductions.cumsum(chances)
                cdf = ew.divide(cdf, cdf[-1])
                places = native.searchsorted(cdf, self.random(dims), True)
            else:
                places = self.integers(0, n, dims) if count else astype(self.random(dims), int64)
        else:
            _refuse(count > n, "Cannot take a larger sample than population when replace is False")
            if chances is not None:
                _refuse(_reductions.count_nonzero(chances) < count, "Fewer non-zero entries in p than size")
                found: list[int] = []
                left = chances.clone()
                while len(found) < count:
                    x = self.random(count - len(found))
                    if found:
                        left[asarray(found, "int64")] = 0
                    cdf = _reductions.cumsum(left)
                    cdf = ew.divide(cdf, cdf[-1])
                    new = native.searchsorted(cdf, x, True).tolist()
                    found.extend(dict.fromkeys(new))
                places = reshape_to(asarray(found, "int64"), dims)
            else:
                places = reshape_to(self._without(n, count, shuffle), dims)
        return places if items is None else _indexing.take(items, places, axis)

    def _without(self, n: int, count: int, shuffle: bool) -> Var:
        cutoff = 50 if shuffle else 20
        if n > 10000 and count > n // cutoff:
            order = self._bits.shuffled(n, max(n - count, 1), True)
            return order[n - count:]  # type: ignore[no-any-return]
        return self._bits.different(n, count, shuffle)  # type: ignore[no-any-return]

    # ---- Distributions

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Any = None) -> Var:
        """Uniform in [low, high)."""
        a = astype(asarray(low), float64)
        span = ew.subtract(astype(asarray(high), float64), a)
        if bool(_reductions.any(~ew.isfinite(span))):
            raise OverflowError("high - low range exceeds valid bounds")
        _refuse(bool(_reductions.any(ew.signbit(span))), "high < low")
        return self._draw("uniform", size, (("low", a, _ANY), ("high", span, _ANY)))

    def standard_normal(self, size: Any = None, dtype: DTypeLike = float64, out: Any = None) -> Var:
        """Normal, mean 0, deviation 1."""
        return self._standard("standard_normal", size, dtype, out)

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Normal, mean loc, deviation scale."""
        return self._draw("normal", size, (("loc", loc, _ANY), ("scale", scale, _NOT_NEGATIVE)))

    def lognormal(self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: Any = None) -> Var:
        """e to a normal number."""
        return self._draw("lognormal", size, (("mean", mean, _ANY), ("sigma", sigma, _NOT_NEGATIVE)))

    def standard_exponential(self, size: Any = None, dtype: DTypeLike = float64, method: str = "zig", out: Any = None) -> Var:
        """Exponential, scale 1. method: zig or inv."""
        return self._standard("standard_exponential" if method == "zig" else "standard_exponential_inverse", size, dtype, out)

    def exponential(self, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Exponential."""
        return self._draw("exponential", size, (("scale", scale, _NOT_NEGATIVE),))

    def standard_gamma(self, shape: ArrayLike, size: Any = None, dtype: DTypeLike = float64, out: Any = None) -> Var:
        """Gamma, scale 1."""
        return self._standard("standard_gamma", size, dtype, out, (("shape", shape, _NOT_NEGATIVE),))

    def gamma(self, shape: ArrayLike, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Gamma."""
        return self._draw("gamma", size, (("shape", shape, _NOT_NEGATIVE), ("scale", scale, _NOT_NEGATIVE)))

    def beta(self, a: ArrayLike, b: ArrayLike, size: Any = None) -> Var:
        """Beta."""
        return self._draw("beta", size, (("a", a, _POSITIVE), ("b", b, _POSITIVE)))

    def chisquare(self, df: ArrayLike, size: Any = None) -> Var:
        """Chi squared."""
        return self._draw("chisquare", size, (("df", df, _POSITIVE),))

    def noncentral_chisquare(self, df: ArrayLike, nonc: ArrayLike, size: Any = None) -> Var:
        """Chi squared, not central."""
        return self._draw("noncentral_chisquare", size, (("df", df, _POSITIVE), ("nonc", nonc, _NOT_NEGATIVE)))

    def f(self, dfnum: ArrayLike, dfden: ArrayLike, size: Any = None) -> Var:
        """F (Fisher, Snedecor)."""
        return self._draw("f", size, (("dfnum", dfnum, _POSITIVE), ("dfden", dfden, _POSITIVE)))

    def noncentral_f(self, dfnum: ArrayLike, dfden: ArrayLike, nonc: ArrayLike, size: Any = None) -> Var:
        """F, not central."""
        return self._draw("noncentral_f", size, (("dfnum", dfnum, _POSITIVE), ("dfden", dfden, _POSITIVE), ("nonc", nonc, _NOT_NEGATIVE)))

    def standard_t(self, df: ArrayLike, size: Any = None) -> Var:
        """Student's t."""
        return self._draw("standard_t", size, (("df", df, _POSITIVE),))

    def standard_cauchy(self, size: Any = None) -> Var:
        """Cauchy."""
        return self._draw("standard_cauchy", size, ())

    def pareto(self, a: ArrayLike, size: Any = None) -> Var:
        """Pareto II (Lomax)."""
        return self._draw("pareto", size, (("a", a, _POSITIVE),))

    def weibull(self, a: ArrayLike, size: Any = None) -> Var:
        """Weibull, scale 1."""
        return self._draw("weibull", size, (("a", a, _NOT_NEGATIVE),))

    def power(self, a: ArrayLike, size: Any = None) -> Var:
        """Density a x^(a - 1) in [0, 1]."""
        return self._draw("power", size, (("a", a, _POSITIVE),))

    def laplace(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Laplace."""
        return self._draw("laplace", size, (("loc", loc, _ANY), ("scale", scale, _NOT_NEGATIVE)))

    def gumbel(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Gumbel."""
        return self._draw("gumbel", size, (("loc", loc, _ANY), ("scale", scale, _NOT_NEGATIVE)))

    def logistic(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Logistic."""
        return self._draw("logistic", size, (("loc", loc, _ANY), ("scale", scale, _NOT_NEGATIVE)))

    def rayleigh(self, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Rayleigh."""
        return self._draw("rayleigh", size, (("scale", scale, _NOT_NEGATIVE),))

    def wald(self, mean: ArrayLike, scale: ArrayLike, size: Any = None) -> Var:
        """Wald (inverse Gaussian)."""
        return self._draw("wald", size, (("mean", mean, _POSITIVE), ("scale", scale, _POSITIVE)))

    def triangular(self, left: ArrayLike, mode: ArrayLike, right: ArrayLike, size: Any = None) -> Var:
        """A triangle's density."""
        a, b, c = (astype(asarray(v), float64) for v in (left, mode, right))
        _refuse(bool(_reductions.any(ew.greater(a, b))), "left > mode")
        _refuse(bool(_reductions.any(ew.greater(b, c))), "mode > right")
        _refuse(bool(_reductions.any(ew.equal(a, c))), "left == right")
        return self._draw("triangular", size, (("left", a, _ANY), ("mode", b, _ANY), ("right", c, _ANY)))

    def vonmises(self, mu: ArrayLike, kappa: ArrayLike, size: Any = None) -> Var:
        """Von Mises, angles in [-pi, pi]."""
        return self._draw("vonmises", size, (("mu", mu, _ANY), ("kappa", kappa, _NOT_NEGATIVE)))

    def binomial(self, n: ArrayLike, p: ArrayLike, size: Any = None) -> Var:
        """How many of n draws of chance p hit."""
        return self._draw("binomial", size, (("n", n, _NOT_NEGATIVE), ("p", p, _SHARE)))

    def poisson(self, lam: ArrayLike = 1.0, size: Any = None) -> Var:
        """Poisson."""
        _refuse(bool(_reductions.any(ew.greater(lam, 9.223372006484771e18))), "lam value too large")
        return self._draw("poisson", size, (("lam", lam, _NOT_NEGATIVE),))

    def negative_binomial(self, n: ArrayLike, p: ArrayLike, size: Any = None) -> Var:
        """How many misses before n hits of chance p."""
        return self._draw("negative_binomial", size, (("n", n, _POSITIVE), ("p", p, _Bound(lambda x: ~((x > 0) & (x <= 1)), "p < 0, p > 1 or p is NaN"))))

    def geometric(self, p: ArrayLike, size: Any = None) -> Var:
        """How many draws of chance p until a hit."""
        return self._draw("geometric", size, (("p", p, _Bound(lambda x: ~((x > 0) & (x <= 1)), "p <= 0, p > 1 or p contains NaNs")),))

    def logseries(self, p: ArrayLike, size: Any = None) -> Var:
        """The logarithmic series."""
        return self._draw("logseries", size, (("p", p, _Bound(lambda x: ~((x >= 0) & (x < 1)), "p < 0, p >= 1 or p is NaN")),))

    def zipf(self, a: ArrayLike, size: Any = None) -> Var:
        """Zipf."""
        return self._draw("zipf", size, (("a", a, _Bound(lambda x: ~(x > 1), "a <= 1")),))

    def hypergeometric(self, ngood: ArrayLike, nbad: ArrayLike, nsample: ArrayLike, size: Any = None) -> Var:
        """How many good ones are in a sample."""
        for label, value in (("ngood", ngood), ("nbad", nbad)):
            _refuse(bool(_reductions.any(asarray(value) >= 1000000000)), "both ngood and nbad must be less than 1000000000")
        _refuse(bool(_reductions.any(ew.less(ew.add(ngood, nbad), nsample))), "ngood + nbad < nsample")
        return self._draw("hypergeometric", size, (("ngood", ngood, _NOT_NEGATIVE), ("nbad", nbad, _NOT_NEGATIVE), ("nsample", nsample, _NOT_NEGATIVE)))

    def multinomial(self, n: ArrayLike, pvals: ArrayLike, size: Any = None) -> Var:
        """How n draws fall into classes of chances pvals, which the last axis holds."""
        trials, chances = astype(asarray(n), int64), astype(asarray(pvals), float64)
        _refuse(chances.ndim == 0 or chances.shape[-1] == 0, "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0.")
        _refuse(bool(_reductions.any(trials < 0)), "n < 0")
        _refuse(bool(_reductions.any(~((chances >= 0) & (chances <= 1)))), "pvals < 0, pvals > 1 or pvals contains NaNs")
        _refuse(bool(_reductions.any(_reductions.sum(chances[..., :-1], -1) > 1.0 + 1e-12)), "sum(pvals[:-1]) > 1.0")
        common = broadcast_dims(trials.shape, chances.shape[:-1])
        dims = list(common) if size is None else dims_of(size)
        if broadcast_dims(common, dims) != tuple(dims):
            raise InvalidArgument(f"Output size {tuple(dims)} is not compatible with broadcast dimensions of inputs {tuple(common)}.")
        k = chances.shape[-1]
        return self._bits.multinomial(trials if trials.size == 1 else expand_to(trials, dims), chances if chances.size == k else expand_to(chances, [*dims, k]), [*dims, k])  # type: ignore[no-any-return]

    def dirichlet(self, alpha: ArrayLike, size: Any = None) -> Var:
        """Shares, which sum to 1, along a new last axis."""
        a = astype(asarray(alpha), float64)
        _refuse(a.ndim != 1, "alpha must be a one-dimensional sequence")
        _refuse(bool(_reductions.any(~(a >= 0))), "alpha < 0")
        dims = [] if size is None else dims_of(size)
        k = a.size
        count = size_of(dims)
        if k and _reductions.max(a).item() < 0.1:  # by breaking a stick
            rest = _reductions.cumsum(a[::-1])[::-1]
            rows = []
            for _ in range(count):
                left, row = 1.0, []
                for j in range(k - 1):
                    v = self.beta(a[j], rest[j + 1]).item()
                    row.append(left * v)
                    left *= 1.0 - v
                rows.append([*row, left])
            return reshape_to(asarray(rows, float64) if rows else _creation.zeros([0, k]), [*dims, k])
        drawn = self.standard_gamma(expand_to(a, [count, k]))
        return reshape_to(ew.multiply(drawn, ew.divide(1.0, _reductions.cumsum(drawn, 1)[:, -1:])) if k else drawn, [*dims, k])

    def multivariate_normal(self, mean: ArrayLike, cov: ArrayLike, size: Any = None, check_valid: str = "warn", tol: float = 1e-8, *, method: str = "svd") -> Var:
        """Normal vectors of a mean and covariances. method: cholesky gives NumPy's numbers; svd and eigh numbers of the same law, whose signs
        are those of the factorization."""
        from minnow.numpy import linalg
        if method not in ("svd", "eigh", "cholesky"):
            raise InvalidArgument("method must be one of {'eigh', 'svd', 'cholesky'}")
        m, c = astype(asarray(mean), float64), astype(asarray(cov), float64)
        _refuse(m.ndim != 1, "mean must be 1 dimensional")
        _refuse(c.ndim != 2 or c.shape[0] != c.shape[1], "cov must be 2 dimensional and square")
        _refuse(m.shape[0] != c.shape[0], "mean and cov must have same length")
        x = self.standard_normal([*([] if size is None else dims_of(size)), m.size])
        rows = reshape_to(x, [-1 if x.size else 0, m.size])
        if method == "cholesky":
            factor = linalg.cholesky(c)
        else:
            w, v = linalg.eigh(c)
            _refuse(check_valid == "raise" and bool(_reductions.any(w < -tol * _reductions.max(ew.absolute(w)))), "The covariance matrix must not have negative eigenvalues")
            factor = v * ew.sqrt(ew.maximum(w, 0.0))
        return reshape_to(m + _products.dot(rows, _shape.transpose(factor)), x.shape)


@public
def default_rng(seed: Any = None) -> Generator:
    """A Generator of PCG64, seeded by an int, several, a SeedSequence or the system; a Generator as it is."""
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, PCG64) else PCG64(seed))


for _class in (SeedSequence, PCG64, Generator):
    public(_class)


# ---- The old functions: one stream of MT19937

@_methods_of_arrays
class RandomState:
    """NumPy's old generator: MT19937 with the streams of numpy.random.RandomState."""

    def __init__(self, seed: Any = None) -> None:
        self._native = native.Mt19937()
        self.seed(seed)

    def seed(self, seed: Any = None) -> None:
        """Begins anew: an int below 2^32, several, or None for the system's."""
        if seed is None:
            self._native.seed_words([secrets.randbits(32) for _ in range(624)])
        elif is_index(seed):
            number = index_of(seed)
            _refuse(not 0 <= number < 1 << 32, "Seed must be between 0 and 2**32 - 1")
            self._native.seed(number)
        else:
            words = [index_of(word) for word in (seed.tolist() if hasattr(seed, "tolist") else seed)]
            _refuse(any(not 0 <= word < 1 << 32 for word in words), "Seed must be between 0 and 2**32 - 1")
            self._native.seed_words(words)

    def get_state(self, legacy: bool = True) -> Any:
        """("MT19937", 624 words, the place in them, whether a normal number is kept, that number), or a dict of these."""
        words, position, has_gauss, gauss = self._native.get()
        key = asarray(words, "uint32")
        if legacy:
            return "MT19937", key, position, int(has_gauss), gauss
        return {"bit_generator": "MT19937", "state": {"key": key, "pos": position}, "has_gauss": int(has_gauss), "gauss": gauss}

    def set_state(self, state: Any) -> None:
        """Goes on where get_state() was called."""
        if isinstance(state, dict):
            state = state.get("bit_generator"), state["state"]["key"], state["state"]["pos"], state.get("has_gauss", 0), state.get("gauss", 0.0)
        name, key, position, *kept = state
        _refuse(name != "MT19937", "state must be for a MT19937 RNG")
        self._native.set([int(word) for word in asarray(key).tolist()], int(position), bool(kept[0]) if kept else False, float(kept[1]) if kept else 0.0)

    def __reduce__(self) -> Any:
        return RandomState, (0,), self.get_state(False)

    __setstate__ = set_state

    def random_sample(self, size: Any = None) -> Var:
        """Uniform in [0, 1)."""
        return self._native.draw("random", [] if size is None else dims_of(size), [], False)  # type: ignore[no-any-return]

    random = random_sample

    def rand(self, *dims: int) -> Var:
        """random_sample() of dimensions."""
        return self.random_sample(dims)

    def standard_normal(self, size: Any = None) -> Var:
        """Normal, mean 0, deviation 1."""
        return self._native.gauss([] if size is None else dims_of(size))  # type: ignore[no-any-return]

    def randn(self, *dims: int) -> Var:
        """standard_normal() of dimensions."""
        return self.standard_normal(dims)

    def _shape_of(self, size: Any, *parameters: Var) -> list[int]:
        common = broadcast_dims(*[x.shape for x in parameters])
        dims = list(common) if size is None else dims_of(size)
        if broadcast_dims(common, dims) != tuple(dims):
            raise InvalidArgument(f"Output size {tuple(dims)} is not compatible with broadcast dimensions of inputs {tuple(common)}.")
        return dims

    def uniform(self, low: ArrayLike = 0.0, high: ArrayLike = 1.0, size: Any = None) -> Var:
        """Uniform in [low, high)."""
        a, b = astype(asarray(low), float64), astype(asarray(high), float64)
        if bool(_reductions.any(~ew.isfinite(b - a))):
            raise OverflowError("Range exceeds valid bounds")
        return a + (b - a) * self.random_sample(self._shape_of(size, a, b))

    def normal(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Normal, mean loc, deviation scale."""
        a, b = astype(asarray(loc), float64), astype(asarray(scale), float64)
        _refuse(bool(_reductions.any(ew.signbit(b))), "scale < 0")
        return a + b * self.standard_normal(self._shape_of(size, a, b))

    def standard_exponential(self, size: Any = None) -> Var:
        """Exponential, scale 1."""
        return -ew.log1p(-self.random_sample(size))

    def exponential(self, scale: ArrayLike = 1.0, size: Any = None) -> Var:
        """Exponential."""
        a = astype(asarray(scale), float64)
        _refuse(bool(_reductions.any(ew.signbit(a))), "scale < 0")
        return a * self.standard_exponential(self._shape_of(size, a))

    def lognormal(self, mean: ArrayLike = 0.0, sigma: ArrayLike = 1.0, size: Any = None) -> Var:
        """e to a normal number."""
        return ew.exp(self.normal(mean, sigma, size))

    def randint(self, low: ArrayLike, high: ArrayLike = None, size: Any = None) -> Var:
        """int64 in [low, high); randint(high) begins at 0."""
        if high is None:
            low, high = 0, low
        first, end = int(low), int(high)
        _refuse(first >= end, "low >= high")
        _refuse(first < -(1 << 63) or end > 1 << 63, "low is out of bounds for int64" if first < -(1 << 63) else "high is out of bounds for int64")
        return self._native.masked_integers([] if size is None else dims_of(size), first, end - 1 - first)  # type: ignore[no-any-return]

    def _order(self, n: int) -> Var:
        return self._native.shuffled(n, 1, False)  # type: ignore[no-any-return]

    def permutation(self, x: Any) -> Var:
        """0 ... x - 1 in random order, or the parts of an array along its first axis."""
        if is_index(x):
            return self._order(index_of(x))
        a = asarray(x)
        return _indexing.take(a, self._order(a.shape[0]), 0)

    def shuffle(self, x: Any) -> None:
        """permutation() in place, of an array or a list."""
        if isinstance(x, list):
            x[:] = [x[i] for i in self._order(len(x)).tolist()]
            return
        if not isinstance(x, Var):
            raise InvalidType(f"shuffle() takes a Var or a list, not {type(x).__name__}")
        x.assign(self.permutation(x))

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: ArrayLike = None) -> Var:
        """Elements of a vector (or of 0 ... a - 1) by chance, p: the chance of each; not twice unless `replace`."""
        items = None if is_index(a) else asarray(a)
        n = index_of(a) if items is None else items.shape[0]
        _refuse(items is not None and items.ndim != 1, "a must be 1-dimensional")
        dims = [] if size is None else dims_of(size)
        _refuse(n <= 0 and size_of(dims), "a must be greater than 0 unless no samples are taken" if items is None else "'a' cannot be empty unless no samples are taken")
        if p is None:
            if replace:
                places = self.randint(0, n, dims)
            else:
                _refuse(size_of(dims) > n, "Cannot take a larger sample than population when 'replace=False'")
                places = reshape_to(self.permutation(n)[:size_of(dims)], dims)
        else:
            chances = astype(asarray(p), float64)
            _refuse(chances.ndim != 1 or chances.size != n, "'a' and 'p' must have same size")
            _refuse(bool(_reductions.any(~(chances >= 0))), "probabilities are not non-negative")
            _refuse(abs(_reductions.sum(chances).item() - 1.0) > 1e-8, "probabilities do not sum to 1")
            if not replace:
                raise InvalidArgument("RandomState.choice without replacement takes no chances; use default_rng().choice")
            cdf = _reductions.cumsum(chances)
            places = native.searchsorted(ew.divide(cdf, cdf[-1]), self.random_sample(dims), True)
        return places if items is None else _indexing.take(items, places, 0)


public(RandomState)
_legacy = RandomState()
seed, rand, randn, randint, random_sample, random = _legacy.seed, _legacy.rand, _legacy.randn, _legacy.randint, _legacy.random_sample, _legacy.random
uniform, normal, standard_normal, exponential, standard_exponential, lognormal = (_legacy.uniform, _legacy.normal, _legacy.standard_normal, _legacy.exponential,
                                                                                   _legacy.standard_exponential, _legacy.lognormal)
permutation, shuffle, choice = _legacy.permutation, _legacy.shuffle, _legacy.choice
for _name in ("seed", "rand", "randn", "randint", "random_sample", "random", "uniform", "normal", "standard_normal", "exponential", "standard_exponential", "lognormal", "permutation",
              "shuffle", "choice"):
    REGISTRY["random." + _name] = globals()[_name]


if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        raise unknown(__name__, name)
