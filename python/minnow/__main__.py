# SPDX-License-Identifier: Apache-2.0
"""The command: `minnow` and `python -m minnow`."""
from __future__ import annotations

import signal
import sys

from minnow import _minnow, _nvrtc


def train(recipe: str, output: str, epochs: int, restart: bool, quiet: bool) -> int:
    """`minnow train` with these arguments: its exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C writes a checkpoint
    from minnow._training import command
    return command(recipe, output, epochs, restart, quiet)


def main() -> int:
    for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGPIPE")):
        if number is not None:
            signal.signal(number, signal.SIG_DFL)  # as for a program in C++: they end the process
    _nvrtc.find()
    return _minnow.main(["minnow", *sys.argv[1:]], train)


if __name__ == "__main__":
    sys.exit(main())
