"""The programs of the workspace: `account`, named by the variable ACCOUNT, for parity, and `sliver`.

Where ACCOUNT is given, a test without its program fails; elsewhere it is skipped.
"""

import json
import os
import subprocess

import pytest

from sliver_dp.synth import _program


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
    try:
        return _program.program()
    except FileNotFoundError as missing:
        if "ACCOUNT" in os.environ:
            raise
        pytest.skip(str(missing))
