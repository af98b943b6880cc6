# SPDX-License-Identifier: Apache-2.0
"""Recipes: which keys there are, and their checks. Every fault is one sentence with the place in the recipe."""
from __future__ import annotations

import math
import os
from typing import Any, Callable, Mapping

from minnow._minnow import InvalidArgument, IoError, Unsupported, nearest

Check = Callable[[Any], "str | None"]  # None, or what the value has to be


def _integer(least: int, most: float = math.inf) -> Check:
    words = f"an integer from {least} to {most}" if most < math.inf else f"an integer of {least} or more"
    return lambda value: None if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else words


def _number(least: float, most: float = math.inf, open_end: bool = False) -> Check:
    if most < math.inf:
        words = f"a number from {least:g} to {'below ' if open_end else ''}{most:g}"
    else:
        words = f"a number above {least:g}" if open_end else f"a number of {least:g} or more"
    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return words
        fits = (value > least if open_end and most == math.inf else value >= least) and (value < most if open_end and most < math.inf else value <= most)
        return None if fits else words
    return check


def _text(value: Any) -> str | None:
    return None if isinstance(value, (str, os.PathLike)) and os.fspath(value) else "a string"


def _truth(value: Any) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _texts(value: Any) -> str | None:
    return None if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value) else "a list of strings"


def _files(value: Any) -> str | None:
    return None if isinstance(value, (list, tuple)) and value and all(_text(one) is None for one in value) else "a list of files"


def _numbers(value: Any) -> str | None:
    return None if isinstance(value, (list, tuple)) and value and all(isinstance(one, (int, float)) and not isinstance(one, bool) and math.isfinite(one) for one in value) \
        else "a list of numbers"


def _choice(*names: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in names else f"one of {', '.join(names)}" if len(names) > 1 else f'"{names[0]}"'
    return check


def _either(*checks: Check) -> Check:
    def check(value: Any) -> str | None:
        words = [one(value) for one in checks]
        return None if None in words else " or ".join(dict.fromkeys(map(str, words)))
    return check


def _size(value: Any) -> str | None:
    pixels = [value] if not isinstance(value, (list, tuple)) else list(value)
    fits = len(pixels) in (1, 2) and all(isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= 8192 for one in pixels)
    return None if fits else "a number of pixels, or [height, width]"


def _settings(value: Any) -> str | None:
    return None if isinstance(value, Mapping) and all(isinstance(one, Mapping) for one in value.values()) else "a table that has a table of settings for each pattern"


def _anything(value: Any) -> str | None:
    return None



def _object(words: str) -> Check:
    return lambda value: None if not isinstance(value, (str, bytes, int, float, list, tuple, Mapping)) else words


#: The keys of each table with their defaults and checks.
KEYS: dict[str, dict[str, tuple[Any, Check]]] = {
    "": {"model": (None, _either(_text, _files, _object("a module"))), "task": ("classify", _choice("classify", "regress", "detect")), "output": ("training", _text),
         "epochs": (10, _integer(1)), "batch": (32, _integer(1)), "seed": (0, _integer(0, 2**63 - 1)), "precision": ("normal", _choice("normal", "high", "tf32", "low")),
         "threads": (0, _integer(0, 1024)), "backend": (None, _either(_text, _texts)), "loss": (None, _either(_choice("cross_entropy", "focal", "mse", "l1", "huber"), _object("a function"))),
         "label_smoothing": (0.0, _number(0, 1, True)), "resume": (True, _either(_truth, _choice("changed")))},
    "data": {"train": (None, _either(_text, _object("a data set"))), "validation": (None, _either(_text, _number(0, 1, True), _object("a data set"))), "size": (None, _size), "mode": ("RGB", _choice("RGB", "L")),
             "mean": (None, _numbers), "std": (None, _numbers), "workers": (0, _integer(0, 64)), "inputs": (None, _text), "target": (None, _text),
             "image": (None, _text), "features": (None, _texts), "classes": (None, _texts), "delimiter": (None, _text), "standardize": (True, _truth), "drop_last": (False, _truth)},
    "augment": {"crop": (None, _integer(1)), "resized_crop": (None, _either(_truth, _numbers)), "flip": (False, _truth), "vertical_flip": (False, _truth),
                "rotation": (None, _number(0, 180)), "translate": (None, _number(0, 1)), "zoom": (None, _numbers), "color": (None, _number(0, 1)), "hue": (None, _number(0, 0.5)),
                "grayscale": (None, _number(0, 1)), "erase": (None, _number(0, 1)), "mixup": (None, _number(0, math.inf, True)), "cutmix": (None, _number(0, math.inf, True))},
    "parameters": {"train": (["*"], _texts), "freeze": ([], lambda value: None if value == [] else _texts(value)), "head": (True, _either(_truth, _text)), "lora": (0, _integer(0, 4096))},
    "quantization": {"activations": (None, _choice("ema", "lsq", "pact")), "weights": ("minmax", _choice("minmax", "lsq")), "weight_bits": (8, _integer(2, 8)), "per_channel": (True, _truth),
                     "symmetric": (False, _truth), "skip": ([], lambda value: None if value == [] else _texts(value)), "samples": (64, _integer(1)), "delay": (0, _integer(0)), "freeze": (None, _integer(0))},
    "distillation": {"teacher": (None, _either(_text, _files, _object("a module"))), "temperature": (4.0, _number(0, math.inf, True)), "alpha": (0.9, _number(0, 1)),
                     "features": (None, lambda value: None if isinstance(value, Mapping) and value and all(_text(one) is None for one in value.values()) else "a table of names"),
                     "feature_weight": (1.0, _number(0))},
    "prune": {"sparsity": (None, _number(0, 1, True)), "pattern": (None, _text), "method": (None, _choice("magnitude", "movement")), "layers": (None, _texts), "skip": (None, _texts),
              "start": (None, _integer(0)), "end": (None, _integer(1)), "every": (None, _integer(1))},
    "quantize": {},
    "optimizer": {"name": ("adamw", _text), "groups": (None, _settings)},
    "schedule": {"name": ("constant", _text), "warm_up": (0, _integer(0))},
    "stop": {"patience": (0, _integer(0)), "min_delta": (0.0, _number(0)), "metric": (None, _text), "steps": (0, _integer(0))},
    "checkpoint": {"seconds": (60.0, _number(0)), "steps": (0, _integer(0))},
}
_OPEN = ("optimizer", "schedule", "quantize")  # further keys are settings of the optimizer or schedule, and those of quantize's recipes


class Recipe:
    """A checked recipe: values by table and key."""

    def __init__(self, given: Mapping[str, Any], name: str = "the recipe") -> None:
        self.name = name
        self.tables: dict[str, dict[str, Any]] = {}
        top = {key: value for key, value in given.items() if key not in KEYS or key == ""}
        for table, keys in KEYS.items():
            values = top if table == "" else given.get(table, {})
            if not isinstance(values, Mapping):
                self.fail("", f"[{table}] must be a table of keys, not {values!r:.60}")
            made = {key: default for key, (default, _) in keys.items()}
            for key, value in values.items():
                if key not in keys and table not in _OPEN:
                    known = [*keys, *([one for one in KEYS if one] if table == "" else [])]
                    self.fail(table, f'{"has" if table else "there is"} no key "{key}"{nearest(str(key), known)}')
                words = keys[key][1](value) if key in keys else None
                if words is not None and not (value is None and keys[key][0] is None):
                    self.fail(table, f"{key} must be {words}, not {value!r:.60}")
                made[key] = value
            self.tables[table] = made
        for table, key in (("quantization", "activations"), ("distillation", "teacher")):
            if self.tables[table][key] is None and given.get(table):
                self.fail(table, f'needs "{key}"' + (", one of ema, lsq, pact" if key == "activations" else ", a file or a module"))
        self.prunes, self.quantizes = bool(given.get("prune")), "quantize" in given
        if self.prunes and self["prune"]["sparsity"] is None and self["prune"]["pattern"] is None:
            self.fail("prune", 'needs "sparsity", a number from 0 to below 1, or a "pattern" such as "2:4", which has its own')
        for key in ("model", "train"):
            table = "" if key == "model" else "data"
            if self.tables[table][key] is None:
                self.fail(table, f'needs "{key}"' + (", a file or the name of a built-in network" if key == "model" else ", a folder or a file"))

    def fail(self, table: str, words: str) -> None:
        """Raise a fault of the recipe."""
        raise InvalidArgument(f"{self.name}: {f'[{table}] ' if table else ''}{words}")

    def __getitem__(self, table: str) -> dict[str, Any]:
        return self.tables[table]

    def described(self) -> dict[str, Any]:
        """Everything that decides the result, as numbers and texts; not how long and where it is computed."""
        left_out = {"": ("output", "epochs", "threads", "backend", "resume"), "data": ("workers",), "stop": None, "checkpoint": None, "quantize": None}
        made: dict[str, Any] = {}
        for table, values in self.tables.items():
            names = left_out.get(table, ())
            if names is not None:
                made[table or "recipe"] = {key: _plain(value) for key, value in sorted(values.items()) if key not in names}
        return made


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else type(value).__name__


def read(path: str | os.PathLike[str]) -> Recipe:
    """The recipe in a TOML file. Paths in it are relative to its folder."""
    name = os.fspath(path)
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise Unsupported("reading a recipe needs Python 3.11, or the package tomli: pip install tomli") from None
    try:
        with open(name, "rb") as file:
            given = tomllib.load(file)
    except FileNotFoundError:
        from minnow.data._files import missing
        raise missing(name, f"the recipe {name} is not there") from None
    except OSError as error:
        raise IoError(f"the recipe {name} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument(f"{name}: the file is not valid TOML: {str(error) or 'it is nested too deeply'}") from None
    recipe = Recipe(given, name)
    folder = os.path.dirname(name)
    for table, keys in {"": ("model", "output"), "data": ("train", "validation"), "distillation": ("teacher",), "quantize": ("calibration", "evaluation")}.items():
        for key in keys:
            value = recipe[table].get(key)
            if value is None:
                continue

            def beside(value: Any) -> Any:
                path = os.path.normpath(os.path.join(folder, value)) if isinstance(value, str) else value
                return path if isinstance(value, str) and (key == "output" or os.path.exists(path)) else value
            recipe[table][key] = [beside(one) for one in value] if isinstance(value, list) else beside(value)
    return recipe
