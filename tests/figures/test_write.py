"""Figure files: their names, and what cannot be drawn."""

import shutil

import pytest

from privbandits_cli.figures import write
from tests.cli import call


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--kind", "distributon"], "did you mean 'distribution'?"),
        (["--kind", "against"], "against needs a parameter"),
        (["--kind", "paired=3"], "the other kinds take none"),
        (["--pair", "a,b"], "--pair goes with --kind paired"),
        (["--kind", "paired", "--pair", "exp3"], "--pair takes two names"),
        (["--kind", "paired", "--pair", "exp3,exp4"], "no algorithm or curve 'exp4'"),
        (["--kind", "distribution", "--log"], "chooses its axes itself"),
        (["--kind", "against=gamma_"], "no curve has a parameter 'gamma_'"),
        (["--kind", "against=b"], "takes only one value"),
        (["--format", "gif"], "unknown format 'gif'"),
    ],
)
def test_what_cannot_be_drawn_is_said(finished, words, complaint):
    before = sorted(path.name for path in finished.iterdir())
    result = call("plot", finished, *words)
    assert result.exit_code == 2 and complaint in result.stderr and result.stdout == ""
    assert sorted(path.name for path in finished.iterdir()) == before


def test_the_files_are_named_after_what_they_show(finished):
    names = {
        "out-distribution.png": ["--kind", "distribution"],
        "out-paired.png": ["--kind", "paired"],
        "out-paired-exp3_tau-exp3.png": ["--kind", "paired", "--pair", "exp3_tau,exp3"],
    }
    for name, words in names.items():
        assert call("plot", finished, "--format", "png", *words).exit_code == 0
        assert (finished / name).stat().st_size > 5000
    assert write.kind("against=base.gamma", log=True).suffix == "-against-base.gamma-log"
    assert write.kind("paired", pair="A (ε = 2), b/c").suffix == "-paired-A_2_-b_c"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package, of which figures are made."""
    ignored = shutil.ignore_patterns("__pycache__", "*.csv", "*.parquet")
    monkeypatch.setattr(write, "PACKAGE", shutil.copytree(write.PACKAGE, tmp_path / "package", ignore=ignored))
    return write.PACKAGE


@pytest.mark.parametrize("name", ["analysis/rates.py", "algorithms/dp_ftrl.py", "figures/privbandits.mplstyle"])
def test_a_change_of_the_code_changes_the_hash_of_a_figure(finished, package, name):
    before = write.sources(finished)
    with (package / name).open("a") as file:
        file.write("# a change\n")
    assert write.sources(finished) != before


def test_the_data_and_the_names_are_sources_of_a_figure(finished):
    before = write.sources(finished)
    text = (finished / "manifest.json").read_text()
    (finished / "manifest.json").write_text(text.replace('"complete": true', '"complete": false'))
    assert write.sources(finished) == before
    (finished / "manifest.json").write_text(text.replace("ε = ", "epsilon = "))
    assert write.sources(finished) != before
