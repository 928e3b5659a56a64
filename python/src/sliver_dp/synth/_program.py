"""The program `sliver`: where it lies, and one call of it."""

import functools
import importlib.metadata
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence

INSTALL = "pip install 'sliver-dp[synth]'"


def program() -> str:
    """The path of `sliver`: among the scripts of this environment, then on PATH."""
    scripts = sysconfig.get_path("scripts")
    found = shutil.which("sliver", path=scripts) or shutil.which("sliver")
    if found is None:
        raise FileNotFoundError(f"there is no program `sliver` in {scripts} or on PATH: {INSTALL}")
    wanted = f"sliver {importlib.metadata.version('sliver-dp')}"
    if (said := _version(found)) != wanted:
        raise FileNotFoundError(f"{found} calls itself {said!r}, expected {wanted!r}: {INSTALL}")
    return found


@functools.cache
def _version(path: str) -> str:
    # Another program of this name gets no private record.
    said = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    return said.stdout.strip()[:60]


def call(words: Sequence[str], verbose: bool, folder: "str | os.PathLike[str] | None" = None) -> None:
    """Runs it in `folder`, and passes on what it says to standard error; no way out leaves it running."""
    process = subprocess.Popen(
        [program(), *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            if line.startswith("PRIVATE "):
                # Never in an exception, which logs keep without a mark.
                sys.stderr.write(line)
                continue
            said.append(line)
            # A failure is told by the exception.
            verbose = verbose and not _begins_failure(line)
            if verbose:
                sys.stderr.write(line)
        code = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        process.stdout.close()
    if code != 0:
        words = _failure(said) or f"sliver ended with exit code {code}, after: {''.join(said[-1:]).strip()}"
        raise ValueError(words) if code == 2 else RuntimeError(words)


def _begins_failure(line: str) -> bool:
    return line.startswith(("sliver::", "error:"))


def _failure(said: Sequence[str]) -> str:
    """The words of a failure, without what frames them and how they are broken into lines."""
    starts = [place for place, line in enumerate(said) if _begins_failure(line)]
    words = ""
    for line in said[starts[0] :] if starts else []:
        part = line.removeprefix("error:").strip(" \n\u00d7\u2502")
        if not part or line.startswith(("sliver::", "For more information")):
            continue
        if words and part.startswith("help:"):
            words += "; " + part.removeprefix("help:").strip()
        else:
            # Lines are broken in paths too.
            words += part if words.endswith("/") or words[-2:-1].isalnum() and words.endswith("-") else f" {part}"
    return words.strip()
