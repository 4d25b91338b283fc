# SPDX-License-Identifier: BSD-3-Clause
"""Every case, script and test that the fault matrix names exists. Run it at the top of the source."""
import os
import re
import sys

sys.path.insert(0, "tests/faults")
from matrix import ROWS  # noqa: E402


def missing(row):
    for case in row.cases:
        path = f"tests/faults/cases/{case[7:]}.sh" if case.startswith("faults/") else f"tests/cluster/cases/{case}.sh"
        if not os.path.exists(path):
            yield path
    yield from (script for script in row.scripts if not os.access(script.split()[0], os.X_OK))
    for path, names in row.tests.items():
        if not os.path.exists(f"{path}.cpp"):
            yield f"{path}.cpp"
            continue
        with open(f"{path}.cpp") as source:
            there = set(re.findall(r"^TEST\w*\((\w+)", source.read(), re.MULTILINE))
        yield from (f"{name} of {path}" for name in names if name not in there)


lines = [f"tests/faults/matrix.py: {row.id} names {what}, which does not exist" for row in ROWS for what in missing(row)]
print("\n".join(lines), end="\n" if lines else "")
sys.exit(1 if lines else 0)
