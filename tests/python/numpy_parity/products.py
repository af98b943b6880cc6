# SPDX-License-Identifier: Apache-2.0
"""Products of arrays, einsum."""
from numpy_parity.cases import add, case, data


def products():
    pairs = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)), ((5, 1, 2, 3), (2, 3, 2)), ((), (3,)), ((2, 3), (2, 3)), ((0,), (0,)),
             ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((3, 3), (3, 3)), ((1, 3), (3, 1))]
    for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64", "complex64", "complex128"):
        loose = {"float16": 4e-3, "float32": 1e-5, "complex64": 1e-5}.get(dtype)
        for a, b in pairs:
            x, y = data(a, dtype, "any", 1), data(b, dtype, "any", 2)
            for name in ("matmul", "dot", "inner", "outer", "vdot", "kron", "vecdot", "matvec", "vecmat", "cross", "linalg.matmul", "linalg.vecdot"):
                if name == "cross" and dtype == "bool":
                    continue
                case(name, x, y, tolerance=loose)
            for axes in (0, 1, 2, ([0], [0]), ([-1], [0])):
                case("tensordot", x, y, axes, tolerance=loose)
            add("ndarray.@", lambda m, x, y: x @ y, x, y, tolerance=loose)
        case("cross", data((4, 3), dtype, "any", 1), data((3,), dtype, "any", 2), tolerance=loose) if dtype != "bool" else None
        x, y, z = data((3, 4), dtype, "any", 1), data((4, 5), dtype, "any", 2), data((3, 3), dtype, "any", 3)
        for text, operands in (("ij,jk->ik", (x, y)), ("ij,jk", (x, y)), ("ij->ji", (x,)), ("ij->", (x,)), ("ii", (z,)), ("ii->i", (z,)), ("ij->j", (x,)), ("ij,ij->ij", (x, x)), ("i,j->ij", (x[0], y[0])),
                               ("...j,jk->...k", (x, y)), ("ij,jk,kl->il", (x, y, y.T)), ("ij,kl->ijkl", (z, z)), ("...ij->...ji", (data((2, 3, 4), dtype),)), ("bij,bjk->bik", (data((2, 3, 4), dtype), data((2, 4, 2), dtype))),
                               ("ij,i->j", (x, x[:, 0])), ("i,i->", (x[0], x[0])), ("ij,jk->iz", (x, y)), ("ij,ij,ij->i", (z, z, z)), ("ij", (x[0],)), ("ij,jk->ik", (x, x)), ("ij,ij->ji", (z, z)), ("ba", (x,))):
            # For three float16 operands NumPy rounds intermediate sums to float16.
            case("einsum", text, *operands, tolerance=2e-2 if dtype == "float16" and len(operands) > 2 else loose)
        case("einsum", x, [0, 1], y, [1, 2], [0, 2], tolerance=loose)
        case("einsum", x, [0, 1], y, [1, 2], tolerance=loose)
