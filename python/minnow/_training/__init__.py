# SPDX-License-Identifier: Apache-2.0
"""Training by a recipe: minnow.train() and the command `minnow train`."""
from __future__ import annotations

import os
import sys
from typing import Any, Callable, Mapping

from minnow._minnow import InvalidType
from minnow._training._recipe import KEYS, Recipe, read
from minnow._training._trainer import NotFinite, Trained, Training

Given = "str | os.PathLike[str] | Mapping[str, Any]"


def train(recipe: str | os.PathLike[str] | Mapping[str, Any] | None = None, *, progress: bool | None = None, report: Callable[[str], object] | None = None,
          callback: Callable[[dict[str, Any]], object] | None = None, **keys: Any) -> Trained:
    """See minnow.train()."""
    made: Recipe
    if recipe is None or isinstance(recipe, Mapping):
        made = Recipe({**dict(recipe or {}), **keys})
    elif isinstance(recipe, (str, os.PathLike)):
        made = read(recipe)
        if keys:
            changed = Recipe({"model": made[""]["model"], "data": {"train": made["data"]["train"]}, **{key: ({"train": made["data"]["train"], **value} if key == "data" and isinstance(value, Mapping) else value)
                                                                                                       for key, value in keys.items()}}, made.name)
            for table, value in keys.items():
                if table in KEYS and table:
                    made[table].update({key: changed[table][key] for key in value})
                else:
                    made[""][table] = changed[""][table]
    else:
        raise InvalidType(f"a recipe is the path of a TOML file, or a dict, not {recipe!r:.60}")
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    return Training(made, report or (lambda text: None), progress, callback).run()


def command(recipe: str, output: str, epochs: int, restart: bool, quiet: bool) -> int:
    """The command `minnow train`: its exit status."""
    from minnow._minnow import Error
    keys: dict[str, Any] = {**({"output": output} if output else {}), **({"epochs": epochs} if epochs else {}), **({"resume": False} if restart else {})}
    try:
        train(recipe, progress=False if quiet else None, report=None if quiet else lambda text: print(text, flush=True), **keys)
    except Error as error:
        print(f"minnow: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


__all__ = ["NotFinite", "Trained", "command", "train"]
