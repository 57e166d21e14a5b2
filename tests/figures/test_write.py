"""Figure files: their names, and what cannot be drawn."""

import pytest

from privbandits_cli.figures import write
from tests.cli.test_cli import call


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
