# SPDX-License-Identifier: Apache-2.0
"""Arrays in files: NumPy's .npy and .npz, and text."""
from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator, Mapping, Optional

from minnow import _minnow
from minnow._files import new_file
from minnow._minnow import InvalidArgument, InvalidType, Var
from minnow._minnow import dtype as DType

from minnow.numpy import _creation, _shape
from minnow.numpy._core import ArrayLike, DTypeLike, asarray, astype, dtype_of, float64, maker, public, reshape_to, size_of, zeros_of

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10000
_CHUNK = 1 << 24
_STORED = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128")


def _code(dtype: DType) -> str:
    if dtype.name not in _STORED:
        raise InvalidArgument(f"a .npy file has no dtype {dtype.name}; use astype(\"float32\")")
    return f"{'|' if dtype.itemsize == 1 else '<'}{dtype.kind}{dtype.itemsize}"


def _write(file: Any, x: Var) -> None:
    header = f"{{'descr': '{_code(x.dtype)}', 'fortran_order': False, 'shape': {x.shape!r}, }}".encode("latin1")
    length = -(-(len(_MAGIC) + 4 + len(header) + 1) // 64) * 64 - len(_MAGIC) - 4
    file.write(_MAGIC + b"\x01\x00" + length.to_bytes(2, "little") + header.ljust(length - 1) + b"\n")
    if x.size:
        file.write(memoryview(x if x.ndim else reshape_to(x, [1])).cast("B"))


def _exactly(file: Any, count: int, what: str) -> bytes:
    """`count` bytes, in pieces: a length in a damaged file takes no memory that the file does not fill."""
    parts, left = [], count
    while left:
        part = file.read(min(left, _CHUNK))
        if not part:
            raise InvalidArgument(f"EOF: reading {what}, expected {count} bytes got {count - left}")
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _read(file: Any) -> Var:
    magic = _exactly(file, 8, "magic string")
    if magic[:6] != _MAGIC:
        raise InvalidArgument(f"the magic string is not correct; expected {_MAGIC!r}, got {magic[:6]!r}")
    if magic[6] not in (1, 2, 3):
        raise InvalidArgument(f"we only support format version (1,0), (2,0), and (3,0), not {(magic[6], magic[7])}")
    length = int.from_bytes(_exactly(file, 2 if magic[6] == 1 else 4, "array header length"), "little")
    if length > _LONGEST_HEADER:
        raise InvalidArgument(f"Header info length ({length}) is large and may not be safe to load securely.")
    text = _exactly(file, length, "array header").decode("utf8" if magic[6] == 3 else "latin1")
    import ast
    try:
        header = ast.literal_eval(text.strip())
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise InvalidArgument(f"Cannot parse header: {text!r}") from None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise InvalidArgument(f"Header does not contain the correct keys: {text!r}")
    shape, descr, turned = header["shape"], header["descr"], header["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(dim) is int and dim >= 0 for dim in shape) or len(shape) > 32:
        raise InvalidArgument(f"shape is not valid: {shape!r}")
    if not isinstance(turned, bool):
        raise InvalidArgument(f"fortran_order is not a valid bool: {turned!r}")
    if isinstance(descr, str) and descr.lstrip("<>|=")[:1] == "O":
        raise InvalidArgument("Object arrays cannot be loaded when allow_pickle=False, nor otherwise here: what they hold is a program")
    if not isinstance(descr, str) or descr[:1] not in "<>|=" or descr[1:] not in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"):
        raise InvalidArgument(f"descr is not a valid dtype descriptor: {descr!r}")
    dtype = dtype_of(descr[1:])
    data = _exactly(file, size_of(shape) * dtype.itemsize, "array data")
    if descr[0] == ">" and dtype.itemsize > 1:
        import array
        part = dtype.itemsize // (2 if dtype.kind == "c" else 1)
        words = array.array({2: "H", 4: "I", 8: "Q"}[part], data)
        words.byteswap()
        data = words.tobytes()
    x = _minnow.from_buffer(data, dtype, list(shape[::-1] if turned else shape))
    return _shape.transpose(x) if turned else x


def _opened(file: Any, mode: str) -> tuple[Any, bool]:
    """A file, and whether it is to be closed."""
    return (open(os.fspath(file), mode), True) if isinstance(file, (str, os.PathLike)) else (file, False)


def _written(file: Any) -> Any:
    """The context of a file to write bytes to: a path's is replaced when it is complete."""
    return new_file(file) if isinstance(file, (str, os.PathLike)) else contextlib.nullcontext(file)


@public
def save(file: Any, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Writes an array as .npy: a path, to which .npy is added, or an open file."""
    if isinstance(file, (str, os.PathLike)) and not os.fspath(file).endswith(".npy"):
        file = os.fspath(file) + ".npy"
    x = asarray(arr).evaluate()
    _code(x.dtype)
    with _written(file) as opened:
        _write(opened, x)


def _save_all(file: Any, arrays: tuple[ArrayLike, ...], named: dict[str, ArrayLike], compressed: bool) -> None:
    import zipfile
    if isinstance(file, (str, os.PathLike)) and not os.fspath(file).endswith(".npz"):
        file = os.fspath(file) + ".npz"
    every = dict(named)
    for i, one in enumerate(arrays):
        if f"arr_{i}" in every:
            raise InvalidArgument(f"Cannot use un-named variables and keyword arr_{i}")
        every[f"arr_{i}"] = one
    with _written(file) as opened, zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, one in every.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                _write(member, asarray(one))


@public
def savez(file: Any, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Writes arrays as .npz; those without a name are arr_0, arr_1 ..."""
    _save_all(file, args, kwds, False)


@public
def savez_compressed(file: Any, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """savez(), deflated."""
    _save_all(file, args, kwds, True)


class NpzFile(Mapping[str, Var]):
    """The arrays of an .npz file by name, read when asked for."""

    def __init__(self, file: Any, close: bool = False) -> None:
        import zipfile
        self.fid, self._close = file, close
        try:
            self.zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise InvalidArgument(f"the .npz file is damaged: {error}") from None
        self._members = {name[:-4] if name.endswith(".npy") else name: name for name in self.zip.namelist()}

    @property
    def files(self) -> list[str]:
        return list(self._members)

    def __getitem__(self, key: str) -> Var:
        import zipfile
        import zlib
        name = self._members.get(key) or (key if key in self._members.values() else None)
        if name is None:
            raise KeyError(f"{key} is not a file in the archive")
        try:
            with self.zip.open(name) as member:
                return _read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise InvalidArgument(f"the array {key} of the .npz file is damaged: {error}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, key: object) -> bool:
        return key in self._members or key in self._members.values()

    def __repr__(self) -> str:
        return f"NpzFile with keys: {', '.join(self._members)}"

    def close(self) -> None:
        """Closes the file."""
        self.zip.close()
        if self._close:
            self.fid.close()

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


@maker
def load(file: Any, mmap_mode: None = None, allow_pickle: bool = False) -> Any:
    """The array of an .npy file, or the arrays of an .npz file by name. Pickled objects are refused (ValueError)."""
    opened, ours = _opened(file, "rb")
    keep = False
    try:
        start = opened.read(4)
        if not start:
            raise EOFError("No data left in file")
        opened.seek(-len(start), 1)
        if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            result = NpzFile(opened, ours)
            keep = True
            return result
        if start != _MAGIC[:4]:
            raise InvalidArgument("the file is neither .npy nor .npz; files with pickled data are not read")
        return _read(opened)
    finally:
        if ours and not keep:
            opened.close()


@maker
def fromfile(file: Any, dtype: DTypeLike = float64, count: int = -1, sep: str = "", offset: int = 0) -> Var:
    """A vector of the bytes of a file, or with `sep` of the numbers of a text. The bytes may have the other byte order: ">i4"."""
    swapped = _creation.is_swapped(dtype)
    wanted = dtype_of(dtype[1:] if swapped and isinstance(dtype, str) else dtype)
    opened, ours = _opened(file, "rb")
    try:
        if offset:
            opened.seek(offset, 1)
        if sep:
            return _creation.fromstring(opened.read().decode(), wanted, count, sep=sep)
        data = opened.read(-1 if count < 0 else count * wanted.itemsize)
    finally:
        if ours:
            opened.close()
    data = data[: len(data) // wanted.itemsize * wanted.itemsize]
    made = _creation.frombuffer(data, wanted) if data else zeros_of([0], wanted)
    return made.byteswap() if swapped else made


def _lines(fname: Any, encoding: Optional[str]) -> Iterator[str]:
    if isinstance(fname, (str, os.PathLike)):
        if os.fspath(fname).endswith(".gz"):
            import gzip
            with gzip.open(fname, "rt", encoding=encoding) as zipped:
                yield from zipped
        else:
            with open(fname, encoding=encoding) as file:
                yield from file
        return
    for line in fname:
        yield line.decode(encoding or "latin1") if isinstance(line, bytes) else line


@maker
def loadtxt(fname: Any, dtype: DTypeLike = float, comments: Any = "#", delimiter: Optional[str] = None, converters: Any = None, skiprows: int = 0, usecols: Any = None,
            unpack: bool = False, ndmin: int = 0, encoding: Optional[str] = None, max_rows: Optional[int] = None, *, quotechar: Optional[str] = None) -> Var:
    """The numbers of a text, a row in each line. fname: a path (also .gz), an open file or lines."""
    wanted = dtype_of(dtype)
    marks = [] if comments is None else [comments] if isinstance(comments, str) else list(comments)
    columns = None if usecols is None else [usecols] if isinstance(usecols, int) else list(usecols)

    def number(text: str) -> Any:
        if wanted.kind == "c":
            return complex(text.replace("i", "j"))
        if wanted.kind in "iu":
            try:
                return int(text)
            except ValueError:
                raise InvalidArgument(f"could not convert string {text!r} to {wanted}") from None
        try:
            return float(text)
        except ValueError:
            raise InvalidArgument(f"could not convert string {text!r} to {wanted}") from None

    rows: list[list[Any]] = []
    for at, line in enumerate(_lines(fname, encoding)):
        if at < skiprows:
            continue
        if max_rows is not None and len(rows) >= max_rows:
            break
        for mark in marks:
            line = line.split(mark, 1)[0]
        line = line.strip("\r\n")
        if not line.strip():
            continue
        words = line.split(delimiter) if delimiter is not None else line.split()
        if quotechar:
            words = [word.strip().strip(quotechar) for word in words]
        if columns is not None:
            try:
                words = [words[i] for i in columns]
            except IndexError:
                raise InvalidArgument(f"invalid column index {columns} at row {len(rows) + 1} with {len(words)} columns") from None
        if rows and len(words) != len(rows[0]):
            raise InvalidArgument(f"the number of columns changed from {len(rows[0])} to {len(words)} at row {len(rows) + 1}; use `usecols` to select a subset and avoid this error")
        functions = converters if isinstance(converters, dict) else {}
        rows.append([functions[i](word) if i in functions else converters(word) if callable(converters) else number(word.strip()) for i, word in enumerate(words)])
    x = asarray(rows, float64 if wanted.kind == "b" else wanted) if rows else zeros_of([0, 1], wanted)
    x = astype(x, wanted)
    if not rows and ndmin < 2:
        x = reshape_to(x, [0])
    elif ndmin < 2 and x.ndim == 2 and 1 in x.shape:
        dims = [dim for dim in x.shape if dim != 1]
        x = reshape_to(x, dims if len(dims) >= ndmin else [1] * (ndmin - len(dims)) + dims)
    return _shape.transpose(x) if unpack and x.ndim > 1 else x


@maker
def genfromtxt(fname: Any, dtype: DTypeLike = float, comments: str = "#", delimiter: Optional[str] = None, skip_header: int = 0, skip_footer: int = 0, filling_values: Any = None,
               usecols: Any = None, unpack: bool = False, encoding: Optional[str] = None, max_rows: Optional[int] = None) -> Var:
    """Read like loadtxt(), with NaN (or filling_values; -1 for integers) for missing and invalid numbers."""
    wanted = dtype_of(dtype)
    fill = filling_values if filling_values is not None else (float("nan") if wanted.kind == "f" else -1)

    def number(text: str) -> Any:
        try:
            return float(text) if wanted.kind == "f" else int(text)
        except ValueError:
            return fill

    lines = [line.split(comments, 1)[0] for line in list(_lines(fname, encoding))[skip_header:]]
    lines = [line for line in lines if line.strip()]
    lines = lines[:-skip_footer] if skip_footer else lines
    return loadtxt(lines[:max_rows], wanted, None, delimiter, number, 0, usecols, unpack)


@public
def savetxt(fname: Any, X: ArrayLike, fmt: Any = "%.18e", delimiter: str = " ", newline: str = "\n", header: str = "", footer: str = "", comments: str = "# ",
            encoding: Optional[str] = None) -> None:
    """Writes a vector (a number in each line) or a matrix as text. fmt: a form for all numbers, one for each column, or one for the line."""
    x = asarray(X)
    if x.ndim == 0 or x.ndim > 2:
        raise InvalidArgument(f"Expected 1D or 2D array, got {x.ndim}D array instead")
    if x.ndim == 1:
        x = reshape_to(x, [x.size, 1])
    count = x.shape[1]
    if isinstance(fmt, (list, tuple)):
        if len(fmt) != count:
            raise AttributeError(f"fmt has wrong shape.  {fmt}")
        form = delimiter.join(fmt)
    elif x.dtype.kind == "c":
        form = delimiter.join([f" ({fmt}+{fmt}j)"] * count) if fmt.count("%") == 1 else fmt
    else:
        form = delimiter.join([fmt] * count) if fmt.count("%") == 1 else fmt

    def text() -> Iterator[str]:
        if header:
            yield comments + header.replace("\n", "\n" + comments) + newline
        for row in x.tolist():
            values = [part for one in row for part in (one.real, one.imag)] if x.dtype.kind == "c" else row
            try:
                line = form % tuple(values)
            except TypeError:
                raise InvalidType(f"Mismatch between array dtype ('{x.dtype}') and format specifier ('{form}')") from None
            yield line.replace("+-", "-") + newline if x.dtype.kind == "c" else line + newline
        if footer:
            yield comments + footer.replace("\n", "\n" + comments) + newline

    if isinstance(fname, (str, os.PathLike)):
        if os.fspath(fname).endswith(".gz"):
            import gzip
            with new_file(fname) as file, gzip.GzipFile(os.fspath(fname), "wb", fileobj=file) as zipped:
                zipped.writelines(line.encode(encoding or "latin1") for line in text())
        else:
            with new_file(fname, "w", encoding or "latin1") as file:
                file.writelines(text())
        return
    for line in text():
        try:
            fname.write(line)
        except TypeError:
            fname.write(line.encode(encoding or "latin1"))

