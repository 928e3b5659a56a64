"""The program `account` of the workspace, for parity: named by the variable ACCOUNT."""

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
