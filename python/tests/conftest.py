"""The program `account` of the workspace, named by the variable ACCOUNT, for parity.

Without the variable tests of parity are skipped.
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
