# SPDX-License-Identifier: Apache-2.0
"""Views: what is written into one is in its base, what is written into the base is in the view, and copies are left alone."""
from numpy_parity.cases import COMPLEX, add, data

VIEWS = {
    "transpose": [lambda m, a: a.T, lambda m, a: m.transpose(a), lambda m, a: a[::2].T, lambda m, a: a.T[1:], lambda m, a: a.T.T, lambda m, a: a[::-1].T[..., ::2]],
    "swapaxes": [lambda m, a: m.swapaxes(a, 0, -1), lambda m, a: a.swapaxes(0, 1)],
    "moveaxis": [lambda m, a: m.moveaxis(a, 0, -1), lambda m, a: m.moveaxis(a, -1, 0)[0]],
    "rollaxis": [lambda m, a: m.rollaxis(a, 1)],
    "reshape": [lambda m, a: a.reshape(-1), lambda m, a: m.reshape(a, (-1, 1)), lambda m, a: a.reshape(a.shape + (1,)), lambda m, a: a.reshape(-1)[1:],
                lambda m, a: a.reshape(-1).reshape(a.shape), lambda m, a: m.reshape(a, -1, order="F"), lambda m, a: a.T.reshape(-1),  # copies
                lambda m, a: a[:, ::2].reshape(-1), lambda m, a: a[..., 1:].reshape(a.shape[:-1] + (1, -1)), lambda m, a: a[:1].reshape(-1),
                lambda m, a: m.reshape(a, -1, copy=True)],
    "ravel": [lambda m, a: a.ravel(), lambda m, a: m.ravel(a), lambda m, a: a.T.ravel(), lambda m, a: a.T.ravel("F"), lambda m, a: a.flatten()],
    "expand_dims": [lambda m, a: m.expand_dims(a, 1), lambda m, a: m.expand_dims(a, (0, -1))[0]],
    "squeeze": [lambda m, a: m.squeeze(a), lambda m, a: a[:1].squeeze(0)],
    "atleast_3d": [lambda m, a: m.atleast_3d(a)],
    "flip": [lambda m, a: m.flip(a), lambda m, a: m.rot90(a)],
    "split": [lambda m, a: m.array_split(a, 2, axis=1)[0]],
    "diagonal": [lambda m, a: m.diagonal(a), lambda m, a: a.diagonal(1, 0, -1), lambda m, a: a.T.diagonal(1, 1, 0), lambda m, a: a[:, ::-1].diagonal(0, -1, 0),
                 lambda m, a: m.diag(a[0] if a.ndim == 3 else a)],
    "real": [lambda m, a: a.real, lambda m, a: m.real(a[::2]), lambda m, a: a.T.real[1:], lambda m, a: a.real.reshape(-1)],
    "imag": [lambda m, a: a.imag, lambda m, a: a.T.imag[..., ::-1], lambda m, a: m.imag(a[:1]).swapaxes(0, 1)],
    "broadcast_to": [lambda m, a: m.broadcast_to(a, (2,) + a.shape), lambda m, a: m.broadcast_to(a[:1], a.shape)],
}


def whole(v):
    v[...] = 1


def first(v):
    v[0] = 1


def in_place(v):
    v *= 2


def some(v):
    v[..., ::2] = v[..., :1] * 3


def by_mask(v):
    v[v == v] = 1


def elementwise(v):
    v[(0,) * v.ndim] = 1


WRITES = (whole, first, in_place, some, by_mask, elementwise)


def views():
    for shape in ((3, 4), (2, 3, 4), (1, 5), (2, 1, 3)):
        for dtype in ("bool", "int64", "float16", "float32", "float64") + COMPLEX:
            a = data(shape, dtype)
            for name, made in VIEWS.items():
                for view in made:
                    for write in WRITES:
                        if dtype == "bool" and write in (in_place, some):
                            continue

                        def into_the_view(m, a, view=view, write=write):
                            v = view(m, a)
                            write(v)
                            return a, v

                        def into_the_base(m, a, view=view, write=write):
                            v = view(m, a)
                            before = v + v
                            write(a)
                            return before, a, v

                        add(name, into_the_view, a)
                        if write in (whole, in_place, elementwise):
                            add(name, into_the_base, a)
                    # The operands of an expression stay unchanged.
                    add(name, lambda m, a, view=view: (view(m, a) == view(m, a + a), view(m, a)), a)
                    if name in ("real", "imag"):
                        def set_part(m, a, name=name):
                            setattr(a, name, 3)
                            setattr(a, name, a[::-1].real * 2)
                            return a

                        add(name, set_part, a)
    x = data((4, 6), "complex64")
    for pair in (lambda m, a: (a.real, a.imag), lambda m, a: (a.real, a), lambda m, a: (a.real[0], a.T.real[0]), lambda m, a: (a.imag[::2], a[1::2]), lambda m, a: (a.diagonal(), a[0]),
                 lambda m, a: (a.diagonal(), a.diagonal(1))):
        add("may_share_memory", lambda m, a, pair=pair: m.may_share_memory(*pair(m, a)), x)
        add("shares_memory", lambda m, a, pair=pair: m.shares_memory(*pair(m, a)), x)
    x = data((4, 6), "float32")
    pairs = [lambda m, a: (a, a.T), lambda m, a: (a[:2], a[2:]), lambda m, a: (a.T[1:], a.reshape(-1)[:1]), lambda m, a: (a[::2], a[1::2]), lambda m, a: (a, a.copy()),
             lambda m, a: (a[:, 0], a[:, 1]), lambda m, a: (a[0], a[:, 0]), lambda m, a: (a[:, ::-1], m.ravel(a)), lambda m, a: (a, a + 1)]
    for pair in pairs:
        add("may_share_memory", lambda m, a, pair=pair: m.may_share_memory(*pair(m, a)), x)
        add("shares_memory", lambda m, a, pair=pair: m.shares_memory(*pair(m, a)), x)
