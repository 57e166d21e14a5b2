"""The tutorials of the site: they are on it, and their commands and names exist; `make docs` executes them."""

import re
import shlex
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import privbandits_cli
from docs._generate import notebooks
from privbandits_cli.cli.app import app
from privbandits_cli.plugins.registry import Registry
from tests.conftest import ROOT

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:!|    )(privbandits .*?)(?: \|\| .*| > .*)?$", re.MULTILINE)


def cells(path):
    return CELL.findall(path.read_text(encoding="utf-8"))


def test_the_seven_tutorials_are_on_the_site():
    names = [path.stem.partition("-")[2] for path in TUTORIALS]
    assert names == [
        "from-paper-to-figure", "own-algorithm", "own-private-algorithm", "own-data", "sweeping-epsilon",
        "many-machines", "how-many-users",
    ]  # fmt: skip
    assert "\ntutorials/*\n" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for path in TUTORIALS:
        assert path.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb\nkernelspec:\n"), path
        assert len(cells(path)) >= 5, path


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_commands_of_a_tutorial_exist(path):
    text = path.read_text(encoding="utf-8")
    commands = [shlex.split(line)[1:] for line in COMMAND.findall(text)]
    assert len(commands) >= (0 if "sweeping" in path.stem else 2)
    for command, *words in commands:
        shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0, command
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"{option}\b", shown.output), (command, option)
    for file in re.findall(r"(\w+\.(?:yaml|py|csv))\b", " ".join(word for words in commands for word in words)):
        assert re.search(rf"%%writefile {file}|privbandits new \w+ {file}|to_csv\(\"{file}|Path\(\"{file}", text), file


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_names_of_a_tutorial_exist(path):
    code = "\n".join(cells(path))
    for names in re.findall(r"^from privbandits_cli import (.*)$", code, re.MULTILINE):
        assert {name.strip() for name in names.split(",")} <= set(privbandits_cli.__all__)
    players = {*Registry().names("algorithms"), *Registry().names("adversaries")}
    own = set(re.findall(r"(\w+)\.py\b", code))
    named = re.findall(r"\{name: (\w+)[,}]", code)
    assert set(named) <= players | own


def test_a_failing_command_fails_a_tutorial(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.setenv("IPYTHONDIR", "")
    monkeypatch.setattr(notebooks.tempfile, "mkdtemp", lambda prefix: str(tmp_path))
    notebooks.prepare()
    assert notebooks.os.environ["PATH"].endswith(":/bin") and notebooks.os.environ["IPYTHONDIR"] == str(tmp_path)
    code = {"true": 0, "check": 3, "no such": 127}
    shell = SimpleNamespace(user_ns={})
    shell.system = lambda command: shell.user_ns.update(_exit_code=code[command])
    (startup,) = tmp_path.glob("profile_default/startup/*.py")
    exec(startup.read_text(encoding="utf-8"), {"get_ipython": lambda: shell})
    shell.system("true")
    shell.system("check")
    with pytest.raises(RuntimeError, match="no such: exit code 127"):
        shell.system("no such")
