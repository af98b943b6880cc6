#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the node cases that the installed onnx package generates, as FOLDER/<case>/model.onnx and FOLDER/<case>/test_data_set_<i>/.

  make_onnx_cases.py FOLDER

The layout is that of the data in wheels of onnx up to 1.21; later ones carry the generating code alone. scripts/fetch_models.py runs this with
the wheel that it fetched in PYTHONPATH.
"""
import sys
import warnings
from pathlib import Path

import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

WRITERS = {"map_type": numpy_helper.from_dict, "sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional,
           "tensor_type": numpy_helper.from_array}


def message(value, info):
    """The protobuf message of one input or output; values that are messages already stay."""
    if hasattr(value, "SerializeToString"):
        return value
    return WRITERS[info.type.WhichOneof("value")](value, info.name)


def write_case(case, folder):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for i, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{i}"
        data.mkdir()
        for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
            for j, value in enumerate(values):
                (data / f"{kind}_{j}.pb").write_bytes(message(value, infos[j]).SerializeToString())


def main():
    warnings.simplefilter("ignore")  # the cases divide by zero and overflow on purpose
    folder = Path(sys.argv[1])
    cases = collect_testcases(None)
    for case in cases:
        write_case(case, folder / case.name)
    print(f"onnx {onnx.__version__}: {len(cases)} cases")


if __name__ == "__main__":
    main()
