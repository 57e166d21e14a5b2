"""YAML: numbers, text and files that cannot be read."""

import math

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
