"""Private copies: what they keep of records, samples of them, ledgers, refusals, interrupts, and that no record is written."""

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

from sliver_dp import accounting
from sliver_dp.synth import Images, Table, _schema

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
    return Images(**{"epsilon": 2, "public": "none", "latent": 4, "cells": 1, **more})


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "people.toml"
    path.write_text(SCHEMA)
    return path


@pytest.fixture(scope="module")
def table(schema):
    return Table(epsilon=3).fit(people(), schema)


def test_a_copy_follows_from_its_seeds(schema):
    """With noise that is known; what is released is of the records, and public randomness alone has the seed."""
    one, same, other = (Table(epsilon=2, insecure_noise_seed=7, seed=seed).fit(people(), schema) for seed in (1, 1, 2))
    assert one.sample().equals(same.sample()) and not one.sample().equals(other.sample())
    assert one.ledger == other.ledger and not one.ledger.private
    secret = [Table(epsilon=2, seed=1).fit(people(), schema) for _ in range(2)]
    assert not secret[0].sample().equals(secret[1].sample()) and secret[0].ledger.private


def test_what_is_released_is_that_of_the_program_to_the_last_digit(sliver, schema, tmp_path):
    """Bins of pairs follow from noisy counts, and their sensitivity from the bins: no line is the same by chance."""

    def lines(*words):
        run = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        more = ["--epsilon", "2", "--score-share", "0", "--insecure-noise-seed", "7", "--out", run]
        subprocess.run([sliver, "synth", *words, *more], check=True, capture_output=True)
        return tuple(json.loads(line) for line in (run / "ledger.jsonl").read_text().splitlines())

    texts = people().assign(patient="", ill=(people()["ill"] > 0).astype(int))
    texts.to_csv(tmp_path / "people.csv", index=False, na_rep="?")
    table = Table(epsilon=2, insecure_noise_seed=7).fit(people(), schema)
    assert table.ledger.releases == lines("table", tmp_path / "people.csv", "--schema", schema)
    pixels, labels = images()
    np.savez(tmp_path / "images.npz", images=pixels, labels=labels)
    flags = "--classes 3 --public none --latent 4 --cells 2".split()
    fitted = small(cells=2, insecure_noise_seed=7).fit(pixels, labels, classes=3)
    assert fitted.ledger.releases == lines(tmp_path / "images.npz", *flags)


@pytest.mark.parametrize("form", ["polars", "arrow", "dict"])
def test_a_table_of_any_form_is_that_of_pandas(schema, form):
    df = people()
    given = df.to_dict("list")
    if form == "arrow":
        given = pytest.importorskip("pyarrow").Table.from_pandas(df)
    elif form == "polars":
        given = pytest.importorskip("polars").from_pandas(df)
    one, other = (Table(insecure_noise_seed=7).fit(table, schema) for table in (df, given))
    assert one.sample().equals(other.sample())


def test_images_come_back_as_they_were_given(tmp_path):
    pixels, labels = images()
    # A view with gaps is as good as a copy of it.
    wide = np.repeat(pixels, 2, axis=2)[:, :, ::2]
    assert not wide.flags.c_contiguous
    one = small(insecure_noise_seed=7).fit(wide, labels, classes=["x", "y", "z"])
    other = small(insecure_noise_seed=7).fit(pixels[:, None], labels, classes=3)
    made, classes = one.sample()
    assert made.shape == (60, 28, 28) and made.dtype == np.uint8 and (made == other.sample()[0][:, 0]).all()
    assert not one.ledger.private and one.ledger.neighbours == "replace one image and its label"
    again, fresh = one.sample(seed=0), one.sample(60)
    assert (again[0] == made).all() and (again[1] == classes).all() and (fresh[0] != made).any()
    made, classes = one.sample(7, seed=1)
    assert made.shape == (7, 28, 28) and classes.shape == (7,)
    assert one.classes_ == ["x", "y", "z"] and other.classes_ == ["0", "1", "2"] and set(classes) <= {0, 1, 2}
    colour = np.stack([pixels] * 3, 3)
    last = small(insecure_noise_seed=7, latent=8).fit(colour, labels, classes=3).sample(5, seed=1)[0]
    first = small(insecure_noise_seed=7, latent=8).fit(colour.transpose(0, 3, 1, 2), labels, classes=3).sample(5, seed=1)[0]
    assert last.shape == (5, 28, 28, 3) and (last == first.transpose(0, 2, 3, 1)).all()
    named = np.array(["x", "y", "z"])[labels]
    of_units = small(most_per_unit=2).fit(pixels, named, classes=["x", "y", "z"], units=np.arange(60) // 2)
    assert of_units.ledger.neighbours == "replace all images of one unit, 2 of which count at most"
    assert of_units.ledger.private and of_units.ledger.delta == pytest.approx(0.1 / 30)
    # How many images the units have is private: there are as many samples whatever it is.
    few = small(most_per_unit=2).fit(pixels, named, classes=["x", "y", "z"], units=np.maximum(np.arange(60) - 30, 0))
    assert len(few.sample()[0]) == len(of_units.sample()[0]) == 60


def test_a_copy_of_images_has_their_classes():
    """Class 0 is bright above and class 1 below; a thousand images at epsilon 10 say so."""
    rng, labels = np.random.default_rng(3), np.arange(1000) % 2
    pixels = rng.integers(0, 60, (1000, 12, 12), dtype=np.uint8)
    pixels[labels == 0, :6] += 150
    pixels[labels == 1, 6:] += 150
    made, classes = Images(epsilon=10, public="none", latent=16).fit(pixels, labels, classes=2).sample()
    bright = made[:, :6].mean((1, 2)) > made[:, 6:].mean((1, 2))
    assert len(made) == 1000 and abs((classes == 0).mean() - 0.5) < 0.1 and (bright == (classes == 0)).mean() > 0.95


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


def test_the_ledger_has_the_lines_of_the_fit(table, schema, tmp_path):
    ledger, path = table.ledger, tmp_path / "ledger.jsonl"
    assert ledger.private and ledger.epsilon_upper <= 3 and ledger.delta == pytest.approx(0.1 / 300)
    assert len(ledger.releases) == 2 and ledger.neighbours == "replace one record"
    # Fits of one file add up there, and each has its own.
    fits = [Table(epsilon=3).fit(people(), schema, ledger=path), small().fit(*images(), classes=3, ledger=path)]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [len(fit.ledger.releases) for fit in fits] == [2, 1]
    assert lines == [release for fit in fits for release in fit.ledger.releases]
    assert [line["event"] for line in lines[:2]] == [line["event"] for line in ledger.releases]
    # The accountant of the file alone says what was promised.
    assert accounting.epsilon_upper_of_ledger(path, ledger.delta, "replace-one") > ledger.epsilon_upper
    path.write_text("".join(json.dumps(line) + "\n" for line in ledger.releases))
    spent = accounting.epsilon_upper_of_ledger(path, ledger.delta, "replace-one")
    assert spent == pytest.approx(ledger.epsilon_upper, abs=1e-3)


def test_without_a_ledger_nothing_is_released(schema, tmp_path):
    for fit in (lambda **more: Table().fit(people(), schema, **more), lambda **more: small().fit(*images(), classes=3, **more)):
        with pytest.raises(OSError, match="nowhere"):
            fit(ledger=tmp_path / "nowhere" / "ledger.jsonl")


def test_no_record_is_written(schema, tmp_path, monkeypatch):
    """Whatever a fit and samples of it open to write is the ledger."""
    written = []
    watching = [True]

    def watch(event, found):
        if watching and event == "open" and isinstance(found[1], str) and set(found[1]) & set("wax+"):
            written.append(str(found[0]))

    sys.addaudithook(watch)
    place = tmp_path / "natively"
    place.mkdir()
    # What Rust would write to a temporary file has no room.
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    Table().fit(people(), schema, ledger=place / "ledger.jsonl").sample(10)
    small().fit(*images(), classes=3, ledger=place / "ledger.jsonl").sample(10)
    watching.clear()
    assert written == [] and [path.name for path in place.iterdir()] == ["ledger.jsonl"]
    text = (place / "ledger.jsonl").read_text()
    assert "west" not in text and "p14" not in text


def test_any_form_of_text_comes_back():
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
    fitted = Table(epsilon=1000, insecure_noise_seed=1).fit(df, schema)
    copy = fitted.sample()
    assert len(copy) == 240 and [str(copy[name].dtype) for name in copy] == ["category", "category", "Int64", "category"]
    for name in ("word", "half", "group"):
        found, expected = (frame[name].astype(str).value_counts() for frame in (copy, df))
        # 2 at most by rounding, and the noise has a deviation below 0.1.
        assert (found - expected.rename({"1.0": "1"})).abs().max() <= 3, (found, expected)
    assert abs(copy["whole"].isna().sum() - 60) <= 3


def test_units_are_private_together(schema):
    fitted = Table(epsilon=3, unit="patient", most_per_unit=2).fit(people(), schema)
    assert fitted.ledger.neighbours == "replace all records of one unit, 2 of which count at most"
    assert fitted.ledger.delta == pytest.approx(0.1 / 150) and fitted.ledger.epsilon_upper <= 3
    # Two records of each unit move a count twice as far as one.
    one, two = fitted.ledger.releases[0], Table(epsilon=3).fit(people(), schema).ledger.releases[0]
    assert one["sensitivity"] == pytest.approx(2 * two["sensitivity"], rel=1e-3)
    assert "patient" not in fitted.sample(20)
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
        (people, {"epsilon": -1}, ValueError, "epsilon.*-1"),
        (people, {"epsilon": float("nan")}, ValueError, "epsilon.*NaN"),
        (people, {"epsilon": "1"}, TypeError, "epsilon is '1': expected a number"),
        (people, {"epsilon": None}, TypeError, "epsilon is None"),
        (people, {"delta": 2}, ValueError, "delta.*2"),
        (people, {"seed": 1.5}, TypeError, "seed is 1.5: expected a whole number"),
        (people, {"seed": -1}, ValueError, "-1.*whole number"),
        (people, {"unit": "patient"}, ValueError, "most_per_unit"),
        (people, {"most_per_unit": 2}, ValueError, "most_per_unit"),
        (people, {"unit": "patient", "most_per_unit": 0}, ValueError, "at least 1"),
        (people, {"unit": "ward", "most_per_unit": 1}, ValueError, "a column that the schema ignores"),
        (lambda: people().iloc[:1], {}, ValueError, "1 records, expected at least 2"),
        (lambda: people().assign(patient="p"), {"unit": "patient", "most_per_unit": 1}, ValueError, "1 units, expected at least 2"),
        # Blanks around a unit are none of it, as for the program.
        (
            lambda: people().assign(patient=["p" + " " * (i % 2) for i in range(len(people()))]),
            {"unit": "patient", "most_per_unit": 1},
            ValueError,
            "1 units, expected at least 2",
        ),
        (lambda: with_("patient", "SECRET\ud800"), {"unit": "patient", "most_per_unit": 1}, ValueError, "no Unicode"),
        (lambda: people().to_dict("list").items(), {}, TypeError, "df is of type dict_items"),
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
def test_what_is_no_such_table_is_refused_and_not_quoted(schema, tmp_path, df, more, error, words):
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises(error, match=words) as caught:
        Table(**more).fit(df(), schema, ledger=ledger)
    assert not ledger.exists() and "SECRET" not in str(caught.value) and "777" not in str(caught.value)
    # An error within the handler of another one would carry the other's values.
    assert not isinstance(caught.value.__context__, UnicodeError)


def test_what_a_record_holds_is_said_on_standard_error_alone_and_where_it_is_asked_for(schema, capsys):
    for shown in (False, True):
        with pytest.raises(ValueError, match="column ward: expected") as caught:
            Table(show_private=shown).fit(with_("ward", "SECRET"), schema)
        assert "SECRET" not in str(caught.value) and ("show_private" in str(caught.value)) is not shown
        said = capsys.readouterr().err
        marked = [line for line in said.splitlines() if line.startswith("PRIVATE ")]
        assert ("line 5" in said and "'SECRET'" in said) is shown and "\n".join(marked) == said.strip()


@pytest.mark.parametrize(
    "given, error, words",
    [
        (None, TypeError, "schema is of type NoneType"),
        ({}, ValueError, "no column"),
        ({"column": [{"name": "age", "kind": object}]}, TypeError, "schema: column.kind is of type type"),
        ({"column": [{"name": "age", "kind": "integer", "min": 0, "max": 120}]}, ValueError, "not confirmed"),
        ("nowhere.toml", FileNotFoundError, "nowhere.toml"),
    ],
)
def test_a_schema_is_given_and_confirmed(given, error, words):
    with pytest.raises(error, match=words):
        Table().fit(people()[["age"]], given)


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
        (PIXELS[:1], LABELS[:1], 3, ValueError, "1 images, expected at least 2"),
        (PIXELS, LABELS[1:], 3, ValueError, r"labels are of shape \(11,\): expected \(12,\)"),
        (PIXELS, LABELS[:, None], 3, ValueError, r"labels are of shape \(12, 1\)"),
        (PIXELS, LABELS, None, ValueError, "what classes there are is public"),
        (PIXELS, None, 3, ValueError, "labels are None"),
        (PIXELS, LABELS, 2, ValueError, "labels: one is no class: expected whole numbers below 2"),
        (PIXELS, -LABELS, 3, ValueError, "one is no class"),
        (PIXELS, LABELS.astype(float), 3, ValueError, "labels are of type float64"),
        (PIXELS, LABELS.astype(bool), 3, ValueError, "labels are of type bool"),
        (PIXELS, ["x", "y", "SECRET"] * 4, ["x", "y", "z"], ValueError, "one is no class"),
        (PIXELS, LABELS, ["x", "y", "x"], ValueError, "expected names that differ"),
        (PIXELS, LABELS, 3.0, TypeError, "classes is 3.0"),
        (PIXELS, LABELS, 0, ValueError, "classes are 0: expected 1 to 256"),
        ("folder", LABELS, 3, TypeError, "images are of type str"),
    ],
)
def test_what_are_no_such_images_is_refused_and_not_quoted(tmp_path, pixels, labels, classes, error, words):
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises(error, match=words) as caught:
        small().fit(pixels, labels, classes=classes, ledger=ledger)
    assert not ledger.exists() and "SECRET" not in str(caught.value)


@pytest.mark.parametrize("more, words", [({"public": "folder"}, "'shapes' or 'none'"), ({"latent": 1}, "2 to 512"), ({"cells": 65}, "1 to 64")])
def test_settings_of_images_have_bounds(tmp_path, more, words):
    ledger = tmp_path / "ledger.jsonl"
    with pytest.raises(ValueError, match=words):
        small(**more).fit(*images(12), classes=3, ledger=ledger)
    assert not ledger.exists()


def test_units_of_images_are_one_an_image():
    for units, words in ((["a"] * 11, "11 of them"), (["a"] * 11 + [""], "without a unit"), ("a", "str"), (None, "most_per_unit")):
        with pytest.raises(ValueError, match=words):
            small(most_per_unit=1).fit(PIXELS, LABELS, classes=3, units=units)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT to itself")
@pytest.mark.parametrize("kind", ["table", "images"])
def test_an_interrupt_ends_a_fit_and_other_threads_run_meanwhile(schema, kind):
    """Another thread has turns of its own while Rust works, and then interrupts the fit: minutes of work end."""
    fit = {
        "table": lambda: Table(epsilon=1000).fit(table, schema),
        "images": lambda: Images().fit(*images(), classes=3),
    }[kind]
    table = pd.concat([people()] * 400) if kind == "table" else None
    # A decoder learns for minutes, a table is read for a second.
    turns = {"table": 20, "images": 200}[kind]
    stop = threading.Event()

    def interrupt():
        if not any(stop.wait(0.01) for _ in range(turns)):
            os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            fit()
    finally:
        stop.set()
        other.join()


def test_there_is_no_sample_before_a_fit():
    for ask in (Table().sample, Images().sample, lambda: Table().ledger, lambda: Images().classes_):
        with pytest.raises(RuntimeError, match="call fit first"):
            ask()
