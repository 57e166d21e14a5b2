"""The library as a notebook meets it: its names, its progress bar, its figures."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

import privbandits_cli
from privbandits_cli import load, plot, run
from tests.conftest import ROOT, first

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_completion_lists_the_names_before_they_are_imported():
    code = "import sys, privbandits_cli as p; print([n for n in dir(p) if n[0] != '_'], 'numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    names = "evaluate guarantee load plan plot run simulate_log summary trials version"
    assert found.stdout == f"{names.split()} False\n"
    assert set(privbandits_cli.__all__) <= set(dir(privbandits_cli))
    assert all(getattr(privbandits_cli, name).__doc__ for name in privbandits_cli.__all__)
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        privbandits_cli.analyse  # noqa: B018


@pytest.mark.parametrize(
    ("kind", "panels", "width"),
    first(1, [("distribution", 2, 900), ("regret", 2, 900), ("paired", 2, 900), ("against=epsilon", 1, 561)]),
)
def test_a_notebook_shows_every_kind_of_figure(small, finished, tmp_path, kind, panels, width, no_figure):
    folder = finished
    if kind == "against=epsilon":
        sweep = load(small, "algorithms[1].epsilon=[0.1, 1]", "adversary=stochastic")
        folder = run(sweep, tmp_path / "swept")
    drawn = plot(folder, kind)
    assert len([axis for axis in drawn.axes if axis.get_title()]) == panels
    picture = drawn._repr_png_()
    assert picture.startswith(PNG) and int.from_bytes(picture[16:20], "big") == width
    drawn.savefig(tmp_path / "mine.png")
    assert int.from_bytes((tmp_path / "mine.png").read_bytes()[16:20], "big") == 300 * drawn.get_figwidth()


def test_a_figure_from_python_is_the_commands(finished, tmp_path):
    from privbandits_cli.figures.mpl import styled

    with styled():
        plot(finished).savefig(tmp_path / "mine.png", metadata={"Software": None})
    assert (tmp_path / "mine.png").read_bytes() == (finished / "small.png").read_bytes()


def test_options_that_do_not_fit_are_refused(finished):
    with pytest.raises(ValueError, match="unknown kind 'pared', did you mean 'paired'"):
        plot(finished, "pared")
    with pytest.raises(ValueError, match="no algorithm or curve 'exp4'"):
        plot(finished, "paired", pair="exp3_tau,exp4")
    assert plot(finished, "paired", pair="exp3_tau,exp3").axes


class Notebook:
    """As much of IPython as a run meets: it keeps what is displayed."""

    def __init__(self, **shell):
        self.shown = []
        self.get_ipython = lambda: SimpleNamespace(**shell)
        self.display = self

    def __call__(self, bundle, raw, display_id):
        self.shown.append(bundle)
        return SimpleNamespace(update=lambda bundle, raw: self.shown.append(bundle))


def notebook(monkeypatch, **shell):
    fake = Notebook(**shell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=fake))
    return fake


def test_a_notebook_shows_the_progress_of_a_run(small, tmp_path, monkeypatch, capsys, no_figure):
    fake = notebook(monkeypatch, kernel="python3")
    run(small, tmp_path / "results")
    first, last = fake.shown[0], fake.shown[-1]
    assert first["text/plain"].startswith("small: 0/96 trials, ") and len(fake.shown) > 2
    assert last["text/html"].startswith('<progress value="96" max="96"></progress> small: 96/96 trials, ')
    fake.shown.clear()
    run(small, tmp_path / "results")  # nothing is left to play
    assert not fake.shown and capsys.readouterr() == ("", "")


def test_a_terminal_with_ipython_shows_none(small, tmp_path, monkeypatch, capsys, no_figure):
    fake = notebook(monkeypatch)
    run(small, tmp_path / "results")
    assert not fake.shown and capsys.readouterr() == ("", "")
