# SPDX-License-Identifier: Apache-2.0
"""Scalars in a log that TensorBoard shows: records of TFRecord files with protocol buffers of three fields (tensorflow/core/util/event.proto)."""
from __future__ import annotations

import os
import struct
import time
from typing import Any, Mapping


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The checksum of Castagnoli, RFC 3720."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


class Log:
    """A new file in a folder. A training that is resumed at a step hides the values that an earlier file has from there on."""

    def __init__(self, folder: str, resumed_at: int = 0) -> None:
        os.makedirs(folder, exist_ok=True)
        now = time.time()
        number = sum(name.startswith("events.out.tfevents.") for name in os.listdir(folder))
        self._file: Any = open(os.path.join(folder, f"events.out.tfevents.{int(now):010d}.minnow.{number}"), "xb")
        self._write(0, _field(3, b"brain.Event:2"))
        if resumed_at:
            self._write(resumed_at, _field(7, b"\x08\x01"))  # SessionLog, status START

    def _write(self, step: int, content: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + content
        length = struct.pack("<Q", len(event))
        self._file.write(length + _masked(length) + event + _masked(event))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Add values at a step."""
        summary = b"".join(_field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", value)) for name, value in values.items())
        self._write(step, _field(5, summary))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
