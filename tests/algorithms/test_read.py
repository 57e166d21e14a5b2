"""Each algorithm says what its file was written from, and its description agrees."""

import json
import re
import sys

import pytest
from typer.testing import CliRunner

from privbandits_cli.cli import app
from privbandits_cli.plugins.registry import Registry

OURS = {
    "adap_gope", "dp_halving", "dp_uniform", "dp_uniform_best_arm", "ldp_gope", "noisy_ftrl", "uniform",
    "uniform_best_arm",
}  # fmt: skip
EVERY = dict(Registry().every("algorithms"))
ADMITS = re.compile(
    "recalled|from memory|by restatements|slides|a summary of the paper|come from an abstract"
    "|only the paper's abstract|a description in words|have not read"
)


@pytest.mark.parametrize("name", EVERY)
def test_what_was_read_is_said_where_and_only_where_it_was_not_the_paper(name):
    model = EVERY[name]
    assert ("read" in vars(model)) == (name not in OURS), f"set `read` in {name}.py, or add it to OURS if it is ours"
    words = " ".join(sys.modules[model.__module__].__doc__.split())  # a line may end within a phrase
    admitted = ADMITS.search(words) is not None
    assert admitted == (model.read in ("code", "secondary")) or name == "dp_tsallis_switch"  # which is built on another


def test_list_and_show_say_what_was_read_and_whom_to_trust():
    def call(*words):
        return CliRunner().invoke(app, words).stdout

    assert "Read: the paper\n" in call("show", "exp3") and "Read: code; the paper" in call("show", "vpo")
    assert "Read: secondary sources" in call("show", "moss") and "Read:" not in call("show", "uniform")
    assert json.loads(call("show", "moss", "--json"))["read"] == "secondary"
    every = json.loads(call("list", "algorithms", "--json"))
    listed = {entry["name"]: entry.get("read") for entry in every}
    assert listed["exp3"] == "paper" and listed["bpo"] == "code" and listed["uniform"] is None
    trust = {entry["name"]: entry.get("privacy") for entry in every}
    assert (trust["dp_exp2"], trust["dp_se"], trust["dist_dp_se"]) == ("local", "central", "distributed")
    assert trust["exp3"] is None and "proved; local\n" in call("show", "dp_exp3_lap")
    assert re.search(r"^moss +bandit +secondary ", call("list", "algorithms"), re.MULTILINE)
