"""Progress: a bar on a terminal, lines elsewhere and in the cells of a notebook."""

from functools import partial

import pytest
from rich.console import Console

from privbandits_cli.cli import terminal


@pytest.mark.parametrize(("parent", "bar"), [(None, True), ("1234", False)])
def test_a_command_in_a_notebook_prints_lines(monkeypatch, capsys, parent, bar):
    monkeypatch.setattr(terminal, "Console", partial(Console, force_terminal=True, width=80))
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    if parent:
        monkeypatch.setenv("JPY_PARENT_PID", parent)
    with terminal.progress("mine", 10, 0, quiet=False) as advance:
        advance(5, 100)
        advance(5, 100)
    shown = capsys.readouterr().err
    assert ("\x1b[" in shown) == ("━" in shown) == bar
    assert bar or (shown.startswith("mine: 10/10 trials, ") and shown.count("\n") == 1)
