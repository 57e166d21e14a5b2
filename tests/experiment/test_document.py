"""YAML: numbers, text and files that cannot be read."""

import math
from pathlib import Path

import pytest

from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.document import number, parse
from tests.experiment.test_config import errors


def test_text_that_is_no_yaml_or_no_mapping(tmp_path):
    (found,) = errors(tmp_path, "a: [1, 2\nb: 3\n")
    assert found.startswith("x.yaml:2:2: not YAML")
    (found,) = errors(tmp_path, "- 1\n- 2\n")
    assert "a mapping of keys" in found
    assert any("missing key 'horizon'" in error for error in errors(tmp_path, ""))


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^18", 262144),
        ("1e5", 100000),
        ("1e-3", 0.001),
        ("010", 10),
        ("0.5", 0.5),
        (".5", 0.5),
        ("-3", -3),
        ("1.0", 1.0),
    ],
)
def test_numbers_are_those_of_yaml_1_2_and_powers(text, value):
    assert number(text) == value and type(number(text)) is type(value)
    assert parse(f"x: {text}", "x").data == {"x": value}


def test_yaml_1_1_surprises_stay_text():
    assert parse("a: no\nb: on\nc: 12:30:45\nd: 1_000\n", "x").data == {
        "a": "no",
        "b": "on",
        "c": "12:30:45",
        "d": "1_000",
    }
    assert parse("a: .inf", "x").data == {"a": math.inf}
    assert parse("a: true\nb: null\nc: ''\n", "x").data == {"a": True, "b": None, "c": ""}


def problem(text):
    """The place and the message of the only error of a text."""
    document = parse(text, "x")
    (error,) = document.errors
    return document.render(error).partition("\n")[0]


BOMB = "x0: &x0 [1, 2, 3]\n" + "\n".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]" for i in range(1, 40))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n  b: " + "[" * 100_000, "x:2:25: this is nested more than 20 levels deep: write it flatter"),
        ("\n".join(" " * i + "a:" for i in range(500)), "x:21:21: this is nested more than 20 levels deep"),
        (BOMB, "x:1:5: a config has at most 20,000 values, with those that aliases repeat: shorten it here"),
        ("a: [" + "1, " * 30_000 + "1]", "x:1:59996: a config has at most 20,000 values"),
        ("a: 1\n" * 50_000, "x:1:1: a config has at most 200,000 characters: this one is longer"),
        ("a: 1\nb: &x {c: [*x]}", "x:2:4: this is nested more than 20 levels deep"),
        ("a: 1\nb: c\0d", "x:2:5: the character U+0000 is not allowed in YAML: leave it out"),
        ("a:\n\tb: 1", "x:2:1: not YAML: there is a tab here, and YAML takes spaces only: replace the tab by spaces"),
        ("a:\t- 1", "x:1:3: not YAML: there is a tab here"),
        ("a: 1\nb: !!python/object/apply:os.abort []", "x:2:4: the tag !!python/object/apply:os.abort has no meaning"),
        ("a: !own x", "x:1:4: the tag !own has no meaning in a config: leave it out"),
        ("a: !!bool 7", "x:1:4: the tag !!bool has no meaning"),
        ("a: {? [b, c] : d}", "x:1:7: a key is a word, not a list or a mapping"),
        ("a: 1e400", "x:1:4: 1e400 is too large a number: for infinity write .inf"),
        ("a: " + "9" * 5_000, "x:1:4: a number of 5,000 characters is too long: give at most 300"),
    ],
    ids=lambda text: text[:20],
)
def test_what_no_config_needs_is_an_error_at_its_place(text, said):
    assert problem(text).startswith(said)


def test_within_the_limits_aliases_and_depth_are_allowed():
    assert parse("a: &x {b: [1, 2]}\nc: [*x, *x]\nd: !!str 3\n", "x").data == {
        "a": {"b": [1, 2]},
        "c": [{"b": [1, 2]}, {"b": [1, 2]}],
        "d": "3",
    }
    assert parse("a: " + "[" * 19 + "]" * 19, "x").errors == []
    assert parse("a: [" + "1, " * 19_990 + "1]", "x").errors == []


def test_a_file_without_end_is_not_read_to_its_end():
    with pytest.raises(ConfigError, match="at most 200,000 characters"):
        load(Path("/dev/zero"))
