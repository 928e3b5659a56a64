"""The programs of the workspace, `account` and `sliver`, named by the variables ACCOUNT and SLIVER, for parity.

Where a variable is given, a test without its program fails; elsewhere it is skipped.
"""

import json
import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def account():
    program = os.environ.get("ACCOUNT")
    if not program:
        pytest.skip("no program ACCOUNT to compare with")

    def ask(*flags):
        command = [program, *map(str, flags), "--json"]
        return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)

    return ask


@pytest.fixture(scope="session")
def sliver():
    program = os.environ.get("SLIVER")
    if not program:
        pytest.skip("no program SLIVER to compare with")
    return program
