"""Private copies: those of the program to the byte, samples of them, refusals, and what is left of private records."""

import gc
import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from sliver_dp.synth import Images, Table, _program, _schema

pd = pytest.importorskip("pandas")

SCHEMA = """\
missing = ["?", ""]
column = [
    { name = "age", kind = "integer", min = 0, max = 120, public = true },
    { name = "weight", kind = "numeric", min = 20, max = 140, decimals = 1, missing = "level", public = true },
    { name = "ward", kind = "categorical", levels = ["east", "west, new"], public = true },
    { name = "day", kind = "date", min = "2020-01-01", max = "2020-12-31", public = true },
    { name = "came", kind = "datetime", min = "2020-01-01T00:00", max = "2020-12-31T23:59", public = true },
    { name = "smokes", kind = "boolean", zero = ["False"], one = ["True"], public = true },
    { name = "ill", kind = "label", classes = [["0"], ["1"]], public = true },
    { name = "patient", kind = "ignore" },
]
"""
SCHEMA_AS_DICT = _schema.tomllib.loads(SCHEMA)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Where temporary files lie: whatever a test does, nothing is left there."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    gc.collect()
    assert list(place.iterdir()) == []


def people(count=300):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, count)
    weight = np.round(rng.normal(70, 10, count), 1)
    weight[5] = np.nan
    start = pd.Timestamp("2020-01-01")
    return pd.DataFrame(
        {
            "ill": (age > 50).astype(float),
            "age": age,
            "weight": weight,
            "ward": rng.choice(["east", "west, new"], count),
            "day": start + pd.to_timedelta(rng.integers(0, 300, count), "D"),
            "came": start + pd.to_timedelta(rng.integers(0, 400_000, count), "min"),
            "smokes": rng.random(count) < 0.5,
            "patient": [f"p{number // 2}" for number in range(count)],
        }
    )


def images(count=60):
    rng = np.random.default_rng(1)
    return rng.integers(0, 255, (count, 28, 28), dtype=np.uint8), np.arange(count) % 3


def small(**more):
    return Images(epsilon=2, public="cosines", latent=4, cells=1, verbose=False, score_share=0, **more)


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "people.toml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture(scope="module")
def table(sliver, schema, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "table"
    return Table(epsilon=3, run=run, verbose=False, score_share=0).fit(people(), schema)


def same(one, other, names):
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_table_is_that_of_the_program_to_the_byte(sliver, schema, tmp_path):
    one = tmp_path / "one"
    Table(epsilon=2, insecure_noise_seed=7, run=one, verbose=False, score_share=0).fit(people(), schema)
    people().drop(columns="patient").assign(patient="", ill=(people()["ill"] > 0).astype(int)).to_csv(
        tmp_path / "people.csv", index=False, na_rep="?"
    )
    command = [sliver, "synth", "table", tmp_path / "people.csv", "--schema", schema, "--epsilon", "2", "--score-share", "0"]
    other = tmp_path / "other"
    subprocess.run([*command, "--insecure-noise-seed", "7", "--out", other], check=True, capture_output=True)
    same(one, other, ["ledger.jsonl", "columns.bin", "pairs.bin", "copy/table.csv", "copy/marginals.csv", "copy/card.json"])


def test_images_are_those_of_the_program_to_the_byte(sliver, tmp_path):
    pixels, labels = images()
    one, other = tmp_path / "one", tmp_path / "other"
    # A view with gaps is as good as a copy of it.
    wide = np.repeat(pixels, 2, axis=2)[:, :, ::2]
    assert not wide.flags.c_contiguous
    fitted = small(insecure_noise_seed=7, run=one).fit(wide, labels, classes=["x", "y", "z"])
    np.savez(tmp_path / "images.npz", images=pixels, labels=labels)
    command = [sliver, "synth", tmp_path / "images.npz", "--classes", "x,y,z", "--epsilon", "2", "--public", "cosines"]
    more = "--latent 4 --cells 1 --score-share 0 --insecure-noise-seed 7 --out".split()
    subprocess.run([*command, *more, other], check=True, capture_output=True)
    same(one, other, ["ledger.jsonl", "moments.bin", "copy/images.npz", "copy/card.json"])
    assert not fitted.ledger.private and "NOT PRIVATE" in fitted.ledger.statement

    made, classes = fitted.sample()
    with np.load(other / "copy/images.npz") as copy:
        assert (made == copy["images"]).all() and (classes == copy["labels"]).all()
    made, classes = fitted.sample(7, seed=1)
    assert made.shape == (7, 28, 28) and made.dtype == np.uint8 and classes.shape == (7,)
    assert fitted.classes_ == ["x", "y", "z"] and set(classes) <= {0, 1, 2}
    fitted.export(tmp_path / "folders", 9, formats=["png"])
    assert {path.name for path in (tmp_path / "folders/png").iterdir()} == {"x", "y", "z"}
    # Folders of classes are read as arrays are, and units of both are said.
    paths = sorted((tmp_path / "folders/png").rglob("*.png"))
    units = "image,unit\n" + "".join(f"{path.relative_to(tmp_path / 'folders/png')},{path.stem}\n" for path in paths)
    (tmp_path / "units.csv").write_text(units)
    of_folders = small(side=28, channels=1, most_per_unit=1).fit(tmp_path / "folders/png", units=tmp_path / "units.csv")
    assert of_folders.classes_ == ["x", "y", "z"] and of_folders.sample(4)[0].shape == (4, 28, 28)
    named = np.array(["x", "y", "z"])[labels]
    of_units = small(most_per_unit=2).fit(pixels, named, classes=["x", "y", "z"], units=np.arange(60) // 2)
    assert of_units.ledger.neighbours == "replace all images of one unit, 2 of which count at most"
    del of_folders, of_units


def test_samples_are_of_the_schemas_types_and_cost_nothing(table):
    before = table.ledger
    copy = table.sample()
    types = {name: str(copy[name].dtype) for name in copy}
    assert types == {
        "age": "int64",
        "weight": "float64",
        "ward": "category",
        "day": "datetime64[s]",
        "came": "datetime64[s]",
        "smokes": "bool",
        "ill": "category",
    }
    assert len(copy) == 300 and copy["age"].between(0, 120).all() and set(copy["ward"].cat.categories) == {"east", "west, new"}
    # What records have in common is in the copy: the old are ill.
    assert ((copy["age"] > 50) == (copy["ill"] == "1")).mean() > 0.75
    assert copy.equals(table.sample())
    one, same, other, fresh = (table.sample(500, seed=seed) for seed in (1, 1, 2, None))
    assert len(one) == 500 and one.equals(same) and not one.equals(other) and not fresh.equals(table.sample(500))
    assert table.ledger == before


def test_the_ledger_is_what_the_run_says(table, schema, tmp_path):
    run, ledger = Path(table.run), table.ledger
    lines = (run / "ledger.jsonl").read_text().splitlines()
    assert [json.dumps(release) for release in ledger.releases] == [json.dumps(json.loads(line)) for line in lines]
    plan = json.loads((run / "run.json").read_text())["plan"]
    named = ("epsilon_upper", "delta", "neighbours", "accountant")
    assert [getattr(ledger, name) for name in named] == [plan[name] for name in named]
    assert ledger.private and ledger.epsilon_upper <= 3 and "number of records" in ledger.public
    assert ledger.sha256 == hashlib.sha256((run / "ledger.jsonl").read_bytes()).hexdigest()
    table.card["privacy"]["epsilon_upper"] = 0.0
    assert table.ledger == ledger

    # A run that is kept is read without its records, and a fit of the same settings releases nothing more.
    assert Table.from_run(run).sample().equals(table.sample())
    with pytest.raises(ValueError, match='kind = "images"'):
        Images.from_run(run)
    again = Table(epsilon=3, run=run, verbose=False, score_share=0).fit(people(), SCHEMA_AS_DICT)
    assert again.ledger == ledger
    with pytest.raises(ValueError, match="the run there has other settings"):
        Table(epsilon=4, run=run, verbose=False, score_share=0).fit(people(), SCHEMA_AS_DICT)

    # One that was cut off goes on where it ended: what was released before is kept, and counted once.
    cut = shutil.copytree(run, tmp_path / "cut")
    for name in ("run.json", "pairs.bin", "copy.bin"):
        (cut / name).unlink()
    shutil.rmtree(cut / "copy")
    with pytest.raises(ValueError, match="no copy/card.json"):
        Table.from_run(cut)
    resumed = Table(epsilon=3, run=cut, verbose=False, score_share=0).fit(people(), schema)
    same(run, cut, ["columns.bin"])
    assert resumed.ledger.releases[:2] == ledger.releases and len(resumed.ledger.releases) == 3

    table.export(tmp_path / "export", 20)
    assert json.loads((tmp_path / "export/card.json").read_text())["count"] == 20
    with pytest.raises(ValueError, match="exists already"):
        table.export(tmp_path / "export", 20)


def test_any_form_of_text_comes_back(sliver):
    """Each record counts, whatever its words: none begins a comment, ends a line or a field."""
    words = ["|x", 'b "q"; z', "n\nl"]
    columns = [
        {"name": "word", "kind": "categorical", "levels": words, "missing": "level"},
        {"name": "half", "kind": "categorical", "levels": ["1", "2.5"]},
        {"name": "whole", "kind": "integer", "min": 0, "max": 9, "missing": "level"},
        {"name": "group", "kind": "sensitive", "zero": ["f", "F"], "one": ["m"]},
    ]
    form = {"delimiter": ";", "header": False, "comment": "|", "missing": ["", "NA"]}
    schema = {**form, "column": [{**column, "public": True} for column in columns]}
    count = np.arange(240)
    df = pd.DataFrame(
        {
            "half": np.where(count % 2, 1, 2.5),
            "word": pd.Categorical(np.array(words)[count % 3]).set_categories(words),
            "whole": pd.array(count % 10, dtype="Int64"),
            "group": np.array(["f", "F", "m"])[count % 3],
        },
        index=np.zeros(240, int),
    )
    df.iloc[:60, 1] = np.nan
    df.iloc[:60, 2] = pd.NA
    fitted = Table(epsilon=1000, verbose=False, insecure_noise_seed=1).fit(df, schema)
    copy = fitted.sample()
    assert len(copy) == 240 and [str(copy[name].dtype) for name in copy] == ["category", "category", "Int64", "category"]
    for name in ("word", "half", "group"):
        found, expected = (frame[name].astype(str).value_counts() for frame in (copy, df))
        # 2 at most by rounding, and the noise has a deviation below 0.1.
        assert (found - expected.rename({"1.0": "1"})).abs().max() <= 3, (found, expected)
    assert abs(copy["whole"].isna().sum() - 60) <= 3
    del fitted


def test_units_are_private_together(sliver, schema, temporary):
    fitted = Table(epsilon=3, unit="patient", most_per_unit=2, verbose=False, score_share=0).fit(people(), schema)
    assert fitted.ledger.neighbours == "replace all records of one unit, 2 of which count at most"
    assert "patient" not in fitted.sample(20) and len(list(temporary.iterdir())) == 1
    for secret in (fitted, small()):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(secret)


def without(name):
    return people().drop(columns=name)


def with_(name, value, row=3):
    df = people().astype({name: object})
    df.at[row, name] = value
    return df if name in ("ward", "smokes") or not isinstance(value, float) else df.astype({name: float})


@pytest.mark.parametrize(
    "df, more, error, words",
    [
        (people, {"epsilon": -1}, ValueError, "--epsilon -1: it must be positive"),
        (people, {"epsilon": float("nan")}, ValueError, "--epsilon NaN: it must be positive"),
        (people, {"epsilon": "1"}, TypeError, "epsilon is '1': expected a number"),
        (people, {"epsilon": None}, TypeError, "epsilon is None"),
        (people, {"delta": 2}, ValueError, "--delta 2"),
        (people, {"seed": 1.5}, TypeError, "seed is 1.5: expected a whole number"),
        (people, {"seed": -1}, ValueError, "-1.*seed"),
        (people, {"unit": "patient"}, ValueError, "most-per-unit"),
        (lambda: people().to_dict("list"), {}, TypeError, "df is of type dict"),
        (lambda: people().iloc[:0], {}, ValueError, "at least 2 records|no records|empty"),
        (lambda: without("age"), {}, ValueError, "0 columns 'age'"),
        (lambda: people().assign(more=1), {}, ValueError, "a column 'more' that the schema has not"),
        (lambda: pd.concat([people(), people()["age"]], axis=1), {}, ValueError, "2 columns 'age'"),
        (lambda: with_("ward", "SECRET"), {}, ValueError, "column ward: expected"),
        (lambda: with_("ward", ["SECRET"]), {}, ValueError, "'ward' holds a list"),
        (lambda: with_("ward", "SECRET\ud800"), {}, ValueError, "no Unicode"),
        (lambda: with_("ward", None), {}, ValueError, "'ward' misses a value in a row of df"),
        (lambda: with_("smokes", np.nan), {}, ValueError, "'smokes' misses a value in a row"),
        (lambda: with_("age", 777.0), {}, ValueError, "column age: expected"),
        (lambda: with_("age", 1.5), {}, ValueError, "column age: expected"),
        (lambda: with_("weight", float("inf")), {}, ValueError, "column weight: expected"),
        (lambda: people().astype({"age": str}), {}, ValueError, "'age' is of type .*: expected numbers"),
        (lambda: people().assign(day=people()["came"]), {}, ValueError, "column day"),
        (lambda: people().assign(day=people()["day"].dt.tz_localize("UTC")), {}, ValueError, "time zone"),
        (lambda: with_("patient", None), {"unit": "patient", "most_per_unit": 1}, ValueError, "each record has a unit"),
    ],
)
def test_what_is_no_such_table_is_refused_and_not_quoted(sliver, schema, tmp_path, df, more, error, words):
    run = tmp_path / "run"
    with pytest.raises(error, match=words) as caught:
        Table(**{"epsilon": 1, "run": run, "verbose": False, **more}).fit(df(), schema)
    assert not run.exists() and "SECRET" not in str(caught.value) and "777" not in str(caught.value)


def test_what_a_record_holds_is_said_on_standard_error_alone_and_where_it_is_asked_for(sliver, schema, capsys):
    for shown in (False, True):
        with pytest.raises(ValueError, match="column ward: expected") as caught:
            Table(verbose=False, show_private=shown).fit(with_("ward", "SECRET"), schema)
        assert "SECRET" not in str(caught.value) and ("--show-private" in str(caught.value)) is not shown
        said = capsys.readouterr().err
        marked = [line for line in said.splitlines() if line.startswith("PRIVATE ")]
        assert ("line 5" in said and "'SECRET'" in said) is shown and "\n".join(marked) == said.strip()


@pytest.mark.parametrize(
    "given, error, words",
    [
        (None, TypeError, "schema is of type NoneType"),
        ({}, ValueError, "no column"),
        ({"column": [{"name": "age", "kind": object}]}, TypeError, "schema: column.kind is of type type"),
        ({"column": [{"name": "age", "kind": "integer", "min": 0, "max": 9}]}, ValueError, "not confirmed"),
        ("nowhere.toml", FileNotFoundError, "nowhere.toml"),
    ],
)
def test_a_schema_is_given_and_confirmed(sliver, given, error, words):
    with pytest.raises(error, match=words):
        Table(verbose=False).fit(people()[["age"]], given)


PIXELS, LABELS = images(12)


@pytest.mark.parametrize(
    "pixels, labels, classes, error, words",
    [
        (PIXELS.tolist(), LABELS, 3, TypeError, "images are of type list"),
        (PIXELS / 255.0, LABELS, 3, ValueError, "of type float64: expected uint8"),
        (PIXELS.astype(object), LABELS, 3, ValueError, "of type object: expected uint8"),
        (PIXELS.astype(np.int64), LABELS, 3, ValueError, "of type int64: expected uint8"),
        (PIXELS[:0], LABELS[:0], 3, ValueError, r"of shape \(0, 28, 28\)"),
        (PIXELS[0], LABELS[:1], 3, ValueError, r"of shape \(28, 28\)"),
        (np.stack([PIXELS] * 2, 3), LABELS, 3, ValueError, r"of shape \(12, 28, 28, 2\)"),
        (PIXELS[:, :, :20], LABELS, 3, ValueError, "28 x 20"),
        (PIXELS[:, :4, :4], LABELS, 3, ValueError, "4"),
        (PIXELS, LABELS[1:], 3, ValueError, r"labels are of shape \(11,\): expected \(12,\)"),
        (PIXELS, LABELS[:, None], 3, ValueError, r"labels are of shape \(12, 1\)"),
        (PIXELS, LABELS, None, ValueError, "what classes there are is public"),
        (PIXELS, None, 3, ValueError, "labels or classes are None"),
        (PIXELS, LABELS, 2, ValueError, "labels: one is no class: expected whole numbers below 2"),
        (PIXELS, -LABELS, 3, ValueError, "one is no class"),
        (PIXELS, LABELS.astype(float), 3, ValueError, "labels are of type float64"),
        (PIXELS, LABELS.astype(bool), 3, ValueError, "labels are of type bool"),
        (PIXELS, ["x", "y", "SECRET"] * 4, ["x", "y", "z"], ValueError, "one is no class"),
        (PIXELS, LABELS, ["x", "y,z", "w"], ValueError, "'y,z': expected names"),
        (PIXELS, LABELS, 3.0, TypeError, "classes is 3.0"),
        (PIXELS, LABELS, 0, ValueError, "is no class|classes"),
        ("nowhere", None, None, ValueError, "nowhere"),
        ("nowhere", LABELS, None, ValueError, "beside a path"),
    ],
)
def test_what_are_no_such_images_is_refused_and_not_quoted(sliver, tmp_path, pixels, labels, classes, error, words):
    run = tmp_path / "run"
    with pytest.raises(error, match=words) as caught:
        small(run=run).fit(pixels, labels, classes=classes)
    assert not run.exists() and "SECRET" not in str(caught.value)


def test_units_of_images_are_one_an_image(sliver):
    for units, words in ((["a"] * 11, "11 of them"), (["a"] * 11 + [""], "an image has none"), ("a", "str")):
        with pytest.raises(ValueError, match=words):
            small(most_per_unit=1).fit(PIXELS, LABELS, classes=3, units=units)


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """A program in the place of `sliver`, in Python."""

    def of(code):
        path = tmp_path / "pretended"
        path.write_text(f"#!{sys.executable}\nimport os, signal, stat, sys, time\n{textwrap.dedent(code)}")
        path.chmod(0o700)
        monkeypatch.setattr(_program, "program", lambda: str(path))
        return path

    return of


def test_an_interrupt_ends_the_program_and_leaves_nothing(pretend, schema, tmp_path):
    told = tmp_path / "told"
    pretend(f"""
        told = open({str(told)!r}, "w")
        told.write(f"{{os.getpid()}} {{stat.S_IMODE(os.stat('.').st_mode):o}} {{sorted(os.listdir('.'))}}")
        told.close()
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(1000)
    """)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Table(verbose=False).fit(people(), schema)
    finally:
        signal.signal(signal.SIGINT, before)
    process, mode, files = told.read_text().split(" ", 2)
    # Its owner alone could read what the program read, and the program is gone.
    assert mode == "700" and files == "['schema.toml', 'table.csv']"
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


@pytest.mark.parametrize(
    "code, error, words",
    [
        ("print('sliver::bad_input\\n\\n  \u00d7 --epsilon 0: a\\n  \u2502 bound\\n  help: another', file=sys.stderr); sys.exit(2)",
         ValueError, "^--epsilon 0: a bound; another$"),
        ("print('error: invalid value', file=sys.stderr); sys.exit(2)", ValueError, "^invalid value$"),
        ("print('sliver::failed\\n\\n  \u00d7 no room', file=sys.stderr); sys.exit(1)", RuntimeError, "^no room$"),
        ("os.kill(os.getpid(), signal.SIGKILL)", RuntimeError, "exit code -9"),
        ("pass", ValueError, "no copy/card.json"),
    ],
)  # fmt: skip
def test_failures_have_the_words_of_the_program(pretend, schema, capsys, code, error, words):
    pretend(f"print('a line of progress', flush=True)\n{code}")
    for verbose in (True, False):
        with pytest.raises(error, match=words):
            Table(verbose=verbose).fit(people(), schema)
        assert capsys.readouterr().err == "a line of progress\n" * verbose


def test_without_the_program_the_install_line_is_said(monkeypatch, tmp_path, schema):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_program.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"pip install 'sliver-dp\[synth\]'"):
        Table().fit(people(), schema)
    # Another program of this name gets nothing.
    (tmp_path / "sliver").write_text("#!/bin/sh\necho another 9\n")
    (tmp_path / "sliver").chmod(0o700)
    with pytest.raises(FileNotFoundError, match="calls itself 'another 9', expected 'sliver"):
        Table().fit(people(), schema)


def test_there_is_no_sample_before_a_fit():
    for ask in (Table().sample, Images().sample, lambda: Table().ledger, lambda: Images().classes_):
        with pytest.raises(RuntimeError, match="call fit first"):
            ask()
