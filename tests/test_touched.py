"""Which tests depend on a change: in a small checkout, and in this one."""

import subprocess

import pytest

from tests.conftest import ROOT
from tests.touched import Checkout, changed

FILES = {
    "privbandits_cli/__init__.py": "from privbandits_cli.version import x\n",
    "privbandits_cli/__main__.py": "from privbandits_cli import api\nfrom privbandits_cli.report import page\n",
    "privbandits_cli/api.py": "from privbandits_cli.engine import play\n",
    "privbandits_cli/version.py": "x = 1\n",
    "privbandits_cli/algorithms/exp3.py": "x = 1\n",
    "privbandits_cli/engine/__init__.py": "",
    "privbandits_cli/engine/play.py": "def play():\n    from privbandits_cli.plugins.registry import x\n",
    "privbandits_cli/plugins/registry.py": "x = 1\n",
    "privbandits_cli/report/page.py": "x = 1\n",
    "privbandits_cli/report/templates/page.css": "",
    "tests/conftest.py": (
        "import pytest\n\n@pytest.fixture\ndef _made():\n    from privbandits_cli.report import page\n\n"
        "@pytest.fixture\ndef made(_made):\n    pass\n"
    ),
    "tests/naive.py": "x = 1\n",
    "tests/room/conftest.py": "x = 1\n",
    "tests/room/greedy.py": "x = 1\n",
    "tests/room/test_room.py": "FILE = Path(__file__).with_name('greedy.py')\n",
    "tests/test_plain.py": "from tests import naive\n",
    "tests/test_made.py": "def test(made):\n    pass\n",
    "tests/test_own.py": "from privbandits_cli import load\n",
    "tests/test_started.py": "command = ['-m', 'privbandits_cli']\n",
    "tests/test_code.py": "CODE = 'import a; from privbandits_cli.engine import play, x'\n",
    "tests/test_config.py": "CONFIG = 'configs/fig1.yaml'\n",
    "tests/test_script.py": "made = script('wins.py')\n",
    "configs/wins.py": "from privbandits_cli.report import page\n",
}
PLAIN, MADE, OWN, STARTED, CODE, CONFIG, SCRIPT = (
    f"tests/test_{name}.py" for name in ("plain", "made", "own", "started", "code", "config", "script")
)
ROOM = "tests/room/test_room.py"
EVERY = sorted([PLAIN, MADE, OWN, STARTED, CODE, CONFIG, SCRIPT, ROOM])


@pytest.fixture
def checkout(tmp_path):
    """A small checkout whose tests import each in another way."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tests/test_plain.py", [PLAIN]),
        ("tests/naive.py", [PLAIN]),
        ("tests/conftest.py", EVERY),
        ("tests/room/conftest.py", [ROOM]),
        ("tests/room/greedy.py", [ROOM]),
        ("privbandits_cli/report/page.py", [MADE, SCRIPT, STARTED]),
        ("privbandits_cli/report/templates/page.css", [MADE, SCRIPT, STARTED]),
        ("privbandits_cli/engine/play.py", [CODE, OWN, STARTED]),
        ("privbandits_cli/engine/__init__.py", [CODE, OWN, STARTED]),
        ("privbandits_cli/api.py", [OWN, STARTED]),
        ("privbandits_cli/algorithms/exp3.py", [CODE, OWN, STARTED]),
        ("privbandits_cli/algorithms/gone.py", [CODE, OWN, STARTED]),
        ("privbandits_cli/version.py", sorted([CODE, MADE, OWN, SCRIPT, STARTED])),
        ("configs/fig1.yaml", [CONFIG]),
        ("configs/wins.py", [SCRIPT]),
        ("docs/index.md", []),
        ("pyproject.toml", EVERY),
    ],
)
def test_a_change_selects_the_tests_that_depend_on_it(checkout, path, tests):
    assert Checkout(checkout).touched([path]) == tests


def test_the_base_is_a_commit_that_git_knows(checkout, monkeypatch):
    """An uncommitted change counts, too. With a base that git does not know every file counts; without a base, none."""

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *identity, *words], cwd=checkout, check=True, capture_output=True, text=True)

    monkeypatch.delenv("CI_BASE", raising=False)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):  # set by git while it runs a hook
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CI_BASE", "HEAD")
    assert changed(checkout) is None  # no repository
    monkeypatch.delenv("CI_BASE")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    first = git("rev-parse", "HEAD").stdout.strip()
    assert changed(checkout) == set()  # no base
    (checkout / ".ci").mkdir()
    (checkout / ".ci" / "tested").write_text(f"{first}\n")
    assert changed(checkout) == set()
    git("mv", "tests/naive.py", "tests/a b.py")
    git("commit", "-m", "second")
    (checkout / "tests" / "test_made.py").write_text("")
    assert changed(checkout) == {"tests/naive.py", "tests/a b.py", "tests/test_made.py"}
    monkeypatch.setenv("CI_BASE", "HEAD")
    assert changed(checkout) == {"tests/test_made.py"}
    monkeypatch.setenv("CI_BASE", "0" * 40)
    assert changed(checkout) is None


@pytest.mark.slow
def test_the_tests_of_this_checkout():
    here = Checkout(ROOT)
    kills, values = "tests/engine/test_kills.py", "tests/algorithms/test_reference_values.py"
    assert {kills, values} < set(here.tests) and len(here.tests) > 100
    assert {kills, values}.isdisjoint(here.touched(["README.md", "docs/index.md", "tests/test_readme.py"]))
    assert {kills, values} & set(here.touched(["privbandits_cli/report/page.py"])) == {kills}  # it starts the command
    for everywhere in ("privbandits_cli/algorithms/exp3.py", "privbandits_cli/numerics/jit.py", "tests/conftest.py"):
        assert {kills, values} < set(here.touched([everywhere]))
