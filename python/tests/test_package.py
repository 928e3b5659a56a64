"""What holds of the package as a whole: types, documentation, threads, interrupts, what an import costs."""

import doctest
import importlib.metadata
import inspect
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import sliver_dp
from sliver_dp import accounting, audit, classifiers, synth, transport

PUBLIC = [getattr(module, name) for module in (accounting, audit, classifiers, synth, transport) for name in module.__all__]


def test_everything_has_its_documentation():
    for item in PUBLIC:
        assert item.__doc__ and len(item.__doc__) > 40, item
        members = vars(item) if inspect.isclass(item) else {}
        for name, member in members.items():
            if not name.startswith("_"):
                assert member.__doc__, f"{item.__name__}.{name}"


@pytest.mark.parametrize("item", [accounting, audit, classifiers, synth, transport, *PUBLIC], ids=lambda item: item.__name__)
def test_examples_hold(item):
    globs = {"__name__": "examples"}
    for test in doctest.DocTestFinder(recurse=False).find(item, item.__name__, globs=globs):
        assert doctest.DocTestRunner().run(test).failed == 0


def test_the_stubs_are_what_is_there():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "sliver_dp._native"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_is_typed_and_has_its_metadata():
    folder = pathlib.Path(sliver_dp.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_native.pyi").exists()
    metadata = importlib.metadata.metadata("sliver-dp")
    assert metadata["Requires-Python"] == ">=3.10" and metadata["License-Expression"] == "MIT OR Apache-2.0"
    # The stable ABI: one library for every version of Python from 3.10 on.
    assert (folder / "_native.abi3.so").exists() or sys.platform != "linux"


def test_an_import_loads_neither_numpy_nor_torch():
    """So that it costs milliseconds; `benches/python/accounting.py` prints how many."""
    code = "import sys, sliver_dp; print({'numpy', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_what_holds_scores_or_results_cannot_be_pickled():
    found = audit.epsilon_lower_of_counts(1, 2, 0, 2, 1e-5)
    for secret in (audit.Sequential([1.0]), found, transport.Slices.iid(2, 2, seed=0)):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(secret)


def test_other_threads_run_meanwhile():
    """The search calls back into Python from a thread of its own while this one calls too."""
    event = lambda z: accounting.Event.dp_sgd(1_000, 10, 100, z)  # noqa: E731
    found = []
    search = threading.Thread(
        target=lambda: found.append(accounting.noise_multiplier_for(event, 1.0, 1e-5, "replace-one"))
    )
    search.start()
    u = np.zeros((100, 2), np.float32)
    while search.is_alive():
        transport.sliced_w2_squared(u, u, transport.Slices.iid(2, 3, seed=0))
    assert found == [accounting.noise_multiplier_for(event, 1.0, 1e-5, "replace-one")]


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to itself")
def test_a_search_can_be_interrupted():
    # A shell that runs this in the background has the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = []

    def event(z):
        asked.append(z)
        if len(asked) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return accounting.Event.dp_sgd(1_000, 10, 100, z)

    try:
        with pytest.raises(KeyboardInterrupt):
            accounting.noise_multiplier_for(event, 1.0, 1e-5, "replace-one")
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(asked) == 3
