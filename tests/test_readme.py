"""README and the pages of docs/ agree with the package: commands, files, links, and each number in its own sentence."""

import csv
import glob
import json
import math
import re
import shlex
import shutil
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from privbandits_cli.accounting import bounded_range, draw, gaussian, trees
from privbandits_cli.accounting.rounding import at_least, at_most
from privbandits_cli.accounting.wishart import epsilon_by_halves
from privbandits_cli.analysis import curves
from privbandits_cli.analysis.rates import least_regret
from privbandits_cli.audit.auditor import AUDITS
from privbandits_cli.cli import app
from privbandits_cli.experiment.config import load
from privbandits_cli.experiment.plan import make_plan
from privbandits_cli.figures import distributions, table
from privbandits_cli.games.bandit import Setting, play
from privbandits_cli.games.heavy_tails import preset
from privbandits_cli.games.linear import Simplex
from privbandits_cli.plugins.registry import Registry, including
from tests.audit.mutants import MUTANTS
from tests.conftest import ROOT, committed, first, make, match, some
from tests.test_architecture import FLOORS

# The pages that are written by hand; the tutorials are executed by `make docs`.
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
        *(
            page
            for room in ("start", "papers", "privacy", "reference")
            for page in sorted(ROOT.glob(f"docs/{room}/*.md"))
        ),
    ]
}
README = PAGES["README.md"]
BEST_ARM = "docs/papers/best_arm.md"
OWN_FILES, EXPERIMENTS = "docs/reference/own_files.md", "docs/reference/experiments.md"
CONCEPTS, WHICH, LEMMA_B = (
    f"docs/{name}.md" for name in ("privacy/concepts", "start/which_algorithm", "privacy/lemma_b")
)
ADVERSARIAL, STOCHASTIC, HEAVY_TAILS, LINEAR, CONTEXTUAL = (
    f"docs/papers/{name}.md" for name in ("adversarial", "stochastic", "heavy_tails", "linear", "contextual")
)


def blocks(page):
    """(language, text) of each fenced block of a page."""
    for part in PAGES[page].split("\n```")[1::2]:  # between every second pair of fences
        language, _, text = part.partition("\n")
        yield language, text + "\n"


def block(page, language, containing):
    return next(text for opening, text in blocks(page) if opening == language and containing in text)


def commands(*names):
    """The lines of all blocks that begin with one of these commands, without their comments, each once."""
    lines = [line for page in PAGES for language, text in blocks(page) if not language for line in text.splitlines()]
    found = (line.partition("#")[0].strip() for line in lines if re.match(rf"privbandits ({'|'.join(names)})\b", line))
    return list(dict.fromkeys(found))


def words_of(line):
    """The arguments of a command, with * replaced by the files that match it in the working directory."""
    words = shlex.split(line.partition(">")[0])[1:]
    return [path for word in words for path in (sorted(glob.glob(word)) if "*" in word else [word])]


@pytest.fixture
def own(tmp_path, monkeypatch, no_figure):
    """A working directory of one's own, with the pages' algorithm and a log of three arms."""
    monkeypatch.chdir(tmp_path)
    Path("my_bandit.py").write_text(block(OWN_FILES, "python", "class Parameters"), encoding="utf-8")
    rows = np.random.default_rng(1).random((2000, 3)).round(3)
    np.savetxt("clicks.csv", rows, delimiter=",", fmt="%.3f", header="red,green,blue", comments="")
    return tmp_path


def test_the_algorithm_of_the_pages_plays(own):
    from tests.conftest import foe

    registry, _ = including([Path("my_bandit.py")])
    algorithm = registry.find("algorithms", "my_bandit")()
    game = match(foe("stochastic", best=0.9, others=0.3), [algorithm], 4000)
    assert play(game, range(4)).mean() < 0.45 * 4000 / 4


def test_the_tuned_algorithm_of_the_pages_plays(own):
    """EXP3-IX: its default η, the η of a config, and its regret on an easy game."""
    from tests.conftest import foe

    Path("exp3_ix.py").write_text(block(OWN_FILES, "python", "left_out("), encoding="utf-8")
    registry, _ = including([Path("exp3_ix.py")])
    model = registry.find("algorithms", "exp3_ix")
    eta = math.sqrt(math.log(4) / (2 * 4000))
    assert [given.tuned(Setting(4000, 4)).eta for given in (model(), model(eta=0.5))] == [pytest.approx(eta), 0.5]
    game = match(foe("stochastic", best=0.9, others=0.3), [model()], 4000)
    assert play(game, range(4)).mean() < 0.45 * 4000 / 4


def test_every_view_of_a_bandit_is_on_the_page():
    page = PAGES[OWN_FILES]
    assert {f"`views.{view.__name__}(" in page for game, view in AUDITS if game == "bandit"} == {True}


def test_the_algorithm_of_the_pages_is_what_new_writes(own):
    written = Path("my_bandit.py").read_text(encoding="utf-8")
    Path("my_bandit.py").unlink()
    assert CliRunner().invoke(app, ["new", "algorithm", "my_bandit.py"]).exit_code == 0
    assert Path("my_bandit.py").read_text(encoding="utf-8") == written and written.count("\n") < 40


ASKING = ("list", "show", "validate", "privacy", "tune", "audit")  # they write nothing
SMALLER = ["horizon=2^9", "trials=24"]  # what the tutorial plays, in a second


@pytest.mark.parametrize(
    ("containing", "few"),
    first(
        1,
        [
            ("algorithm my_private.py", []),
            ("algorithm my_bandit.py", []),
            ("adversary my_game.py", ["algorithms=[my_bandit]"]),
            ("adversary my_game.py", []),  # beside the algorithms of Figure 1
        ],
    ),
)
def test_the_commands_for_own_files_run(own, containing, few, either):
    """Each block of commands, in its order, from the one that writes the file."""
    Path("my_bandit.py").unlink() if "my_bandit" in containing else None
    for line in block(OWN_FILES, "", f"privbandits new {containing}").splitlines():
        words = words_of(line)
        alone = few if "adversary" in line else ["adversary=stochastic"]
        smaller = {"run": SMALLER + alone, "audit": ["horizon=12", "--budget", "1024"] if either else []}
        result = CliRunner().invoke(app, words + smaller.get(words[0], []))
        assert result.exit_code == 0, (line, result.output)
        if words[0] == "run":
            title = "My private" if "my_private" in line else "My bandit"
            assert title in result.stdout and list(Path("results").glob("*/included/my_*.py"))


def test_the_python_of_the_pages_runs(own):
    code = block(OWN_FILES, "python", "from privbandits_cli import").replace("4096", "512")
    found = {}
    exec(code.replace('"algorithms+=my_bandit"', f'"algorithms+=my_bandit", *{SMALLER}, "adversary=stochastic"'), found)
    assert found["best"]["label"] == "My bandit" and found["guarantee"](found["experiment"])[1]["status"] == "proved"
    assert Path("mine.png").stat().st_size > 10_000 and len(code.splitlines()) <= 10


def test_the_error_of_an_own_file_is_what_is_printed(own):
    text = Path("my_bandit.py").read_text(encoding="utf-8")
    wrong = text.replace("return int(np.argmax(state.means))", "return int(np.argmax(state.means)) + 1")
    Path("my_bandit.py").write_text(wrong, encoding="utf-8")
    words = "run fig1 --smoke --include my_bandit.py adversary=stochastic algorithms=my_bandit"
    result = CliRunner().invoke(app, words.split())
    assert result.exit_code == 2, result.output
    assert result.stderr == block(OWN_FILES, "", "my_bandit.py:27").removesuffix("\n") + "\n"


def test_the_algorithm_of_the_readme_runs_as_shown(tmp_path, monkeypatch, no_figure):
    """Fifteen lines and their command; the algorithm finds the best arm."""
    from tests.conftest import foe

    monkeypatch.chdir(tmp_path)
    text = block("README.md", "python", "class Parameters")
    assert len([line for line in text.splitlines() if line]) <= 15
    Path("greedy.py").write_text(text, encoding="utf-8")
    (line,) = [line for line in commands("run") if "greedy.py" in line and line in README]
    result = CliRunner().invoke(app, words_of(line) + SMALLER + ["adversary=stochastic"])
    assert result.exit_code == 0 and "greedy" in result.stdout, result.output
    registry, _ = including([Path("greedy.py")])
    game = match(foe("stochastic", best=0.9, others=0.3), [registry.find("algorithms", "greedy")()], 4000)
    assert play(game, range(4)).mean() < 0.45 * 4000 / 4


def test_the_config_of_the_readme_is_valid(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(block("README.md", "yaml", "experiment: mine"))
    experiment = load(path)
    assert len(experiment.algorithms) == 5 and experiment.keys.trials == 96


def test_the_config_of_the_pages_is_valid(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(block(EXPERIMENTS, "yaml", "experiment: mine"))
    assert len(load(path).algorithms) == 6
    assert load(path, smoke=True).keys.horizon == 4096


def test_the_linear_game_of_the_pages_is_valid(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("experiment: mine\nhorizon: 1000\ntrials: 24\n" + block(EXPERIMENTS, "yaml", "game: linear"))
    assert [setting.n_arms for setting in load(path).settings] == [2, 10]


def asked():
    """The commands that write nothing; an audit at full scale and forty configs are left to `make test-all`."""
    lines = [line for line in commands(*ASKING) if "--include" not in line]
    return some(lines, *(line for line in lines if "audit" not in line and "*" not in line))


@pytest.mark.parametrize("line", asked())
def test_the_commands_of_the_pages_work(line, monkeypatch):
    monkeypatch.chdir(committed())
    assert CliRunner().invoke(app, words_of(line)).exit_code == 0


@pytest.mark.parametrize("line", [line for line in commands("run", "slurm") if "--include" not in line], ids=str.split)
def test_the_runs_of_the_pages_could_be_played(line, monkeypatch):
    monkeypatch.chdir(committed())
    monkeypatch.setattr("privbandits_cli.engine.play.MEASURED", 0.0)  # seconds of play; the estimate is not looked at
    words = words_of(line)
    result = CliRunner().invoke(app, words + ["--dry-run"] * (words[0] == "run"))
    assert result.exit_code == 0 and ("to run: " in result.stdout or "sbatch" in result.stdout)


def on_results():
    """The commands on results; `make test` runs each with its first words only."""
    lines = commands("plot", "report", "check", "compare", "cite")
    return some(lines, *{line.split()[1]: line for line in reversed(lines)}.values())


@pytest.mark.parametrize("line", on_results())
def test_the_commands_on_results_work(line, tmp_path, monkeypatch):
    """On copies of the committed folders. `mine` is a copy of Figure 1; a claim of Figure 1 fails, with exit code 3."""
    for name, source in (("fig1", "fig1"), ("mine", "fig1"), ("frontier", "frontier")):
        if f"results/{name}" in line or (
            name == "fig1" and "results/" not in line
        ):  # without a folder: all of results/
            shutil.copytree(committed() / "results" / source, tmp_path / "results" / name)
    (tmp_path / "mine.yaml").write_text((ROOT / "configs" / "fig1.yaml").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, words_of(line))
    assert result.exit_code == (3 if words_of(line)[0] == "check" else 0), result.output


def test_every_command_of_a_block_is_tested():
    """No block shows a command that the tests above do not run; `merge` needs shards, see tests/actions."""
    tested = "list|show|validate|privacy|tune|plan|audit|run|slurm|plot|report|check|compare|cite|new|merge"
    assert {line.split()[1] for line in commands(r"\S+")} == set(tested.split("|"))


def test_the_error_of_the_pages_is_what_is_printed(tmp_path):
    (shown,) = re.findall(r"configs/mine.yaml:\d+:\d+: (.*)", PAGES[EXPERIMENTS])
    path = tmp_path / "mine.yaml"
    path.write_text(block(EXPERIMENTS, "yaml", "experiment: mine").replace("[0.1, 1, 10]", "[0.1, -1, 10]"))
    result = CliRunner().invoke(app, ["validate", str(path)])
    assert shown in result.stderr


def test_the_ledger_of_the_pages_is_what_is_printed(monkeypatch):
    monkeypatch.chdir(committed())
    printed = CliRunner().invoke(app, ["privacy", "configs/fig1.yaml"]).stdout
    for part in block("docs/privacy/concepts.md", "", "ε at most").split("...\n"):
        assert part.strip() in printed


def test_the_regrets_if_a_person_is_in_eight_rounds():
    found = {
        row["label"].partition(",")[0]: float(row["regret"]) for row in rows("patients") if "person)" in row["label"]
    }
    of_round = next(float(row["regret"]) for row in rows("patients") if "a round" in row["label"])
    page, klucb = "docs/privacy/people.md", found["DP-KLUCB"]
    assert states(page, "has ε = 8 for such a person, and a regret of {}. A person has", of_round)
    assert states(page, "which costs {}, " + f"{klucb / of_round:.2f} times as much.", klucb)
    assert states(
        page, "AdaC-UCB has {}, and LDP-UCB, whose privacy is local, {}.", found["AdaC-UCB"], found["LDP-UCB"]
    )


def test_the_epsilon_of_a_user_on_the_pages_is_what_is_printed(tmp_path, monkeypatch):
    page = "docs/privacy/people.md"
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text(block(page, "", "user_id,age"), encoding="utf-8")
    Path("visits.yaml").write_text(block(page, "yaml", "experiment: visits"), encoding="utf-8")
    printed = CliRunner().invoke(app, ["privacy", "visits.yaml"], env={"COLUMNS": "80"}).stdout
    for part in block(page, "", "unit: one person").split("...\n"):
        assert part.strip() in printed
    (curve,) = make_plan(load(Path("visits.yaml"))).curves
    epsilon, rounds = at_most(curve.promised.epsilon), curve.setting.rounds_per_person
    assert states(page, f"*DP-LinUCB (ε = {epsilon}, δ = 1e-6, {rounds} rounds a person)*")
    (command,) = re.findall(r"`privbandits (tune dp_linucb .*?)`", " ".join(PAGES[page].split()))
    first = json.loads(CliRunner().invoke(app, [*command.split(), "--json"]).stdout)[0]["parameters"]
    assert states(page, f"a row needs ε = {first['epsilon']:.4g} if")


def test_the_least_epsilon_of_the_pages_is_what_is_printed():
    page = "docs/privacy/concepts.md"
    command = block(page, "", "--regret").split()[1:]
    printed, short = (CliRunner().invoke(app, [*command[:-1], rounds]).stdout for rounds in (command[-1], "500"))
    for part in block(page, "", "mean regret from").split("...\n"):
        assert part.strip() in printed
    assert "Warning" not in printed and block(page, "", "Warning: uniform").strip() in short
    table = short.split("\n\n")[0].splitlines()[1:]
    rows = {float(row[0]): row[1] for row in map(str.split, table)}
    assert {rows[one] for one in (0.001, 0.00316, 0.01, 0.0316)} == {"0"}
    assert states(page, "the regret is 0 up to ε = 0.0316, and {} at ε = 0.316.", rows[0.316])


# ------------------------------------------------------------------------------------------- pages and their links


def slug(title):
    """The anchor of a heading, on GitHub and in the site."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def prose(page):
    """The text of a page outside of its blocks."""
    return "".join(PAGES[page].split("\n```")[::2])


def test_the_readme_is_one_page():
    lines = README.splitlines()
    assert len(lines) <= 130 and max(map(len, lines)) <= 120


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    """To files of the repository, so that they work on GitHub and in the site, and to headings that exist."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        path = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        assert path.is_relative_to(ROOT) and (committed() / path.relative_to(ROOT)).exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, titles), target


def test_the_readme_leads_to_every_page():
    """In at most two steps, over another page that it links to; the reference also has generated pages."""
    linked = {link.partition("#")[0] for link in re.findall(r"\]\((docs/[^)]+)\)", README)}
    further = {
        ((ROOT / page).parent / link.partition("#")[0]).resolve().relative_to(ROOT).as_posix()
        for page in linked & set(PAGES)
        for link in re.findall(r"\]\(([^)\s]+\.md[^)\s]*)\)", PAGES[page])
    }
    generated = {page for page, text in PAGES.items() if "{include}" in text or "eval-rst" in text}
    assert {page for page in PAGES if page.startswith("docs/")} - generated <= linked | further


def test_the_counts_of_the_pages():
    registry = Registry()
    (claims,) = re.findall(
        r"^(\d+) claims:", (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    algorithms, adversaries = (len(registry.names(kind)) for kind in ("algorithms", "adversaries"))
    counts = [
        ("README.md", f"`privbandits list algorithms` the {algorithms} algorithms."),
        ("README.md", f"[{claims} claims with verdicts]"),
        ("docs/start/statement_of_need.md", f"{algorithms} algorithms and {adversaries} adversaries"),
        ("docs/privacy/audits.md", f"on {len(MUTANTS)} deliberately broken algorithms"),
    ]
    untold = [f"{page}: {sentence}" for page, sentence in counts if sentence not in TEXTS[page]]
    assert not untold, untold


def test_the_page_of_contents_names_every_player():
    names = {name for kind in ("algorithms", "adversaries") for name in Registry().names(kind)}
    untold = names - set(re.findall(r"`(\w+)`", PAGES["docs/reference/contents.md"]))
    assert not untold, untold


def test_the_floors_of_the_pages_are_those_of_the_imports():
    lines = re.findall(r"^\| (\d+) \| (.*?) \|", PAGES["docs/reference/architecture.md"], re.MULTILINE)
    shown = {int(number): set(re.findall(r"`(\w+)`", rooms)) for number, rooms in lines}
    assert shown == {i: rooms for i, rooms in enumerate(FLOORS, 1) if rooms.isdisjoint({"version", "__init__"})}
    numbers = [int(number) for number, _ in lines]
    assert numbers == sorted(numbers, reverse=True)


def test_the_table_of_lemma_b():
    """L, v and the ε of both lemmas and of the attack, for EXP3 and EXP3-τ as Figure 1 plays them."""
    setting, delta = Setting(2**18, 4), 2.0**-36
    for name, title in (("exp3", "EXP3"), ("exp3_tau", "EXP3-τ")):
        algorithm = make(name).tuned(setting)
        tau = getattr(algorithm, "tau", 1)
        base = getattr(algorithm, "base", algorithm)
        game = base.privacy_model(setting._replace(horizon=setting.horizon / tau), 1 / tau)
        one = draw.draw(game)
        (attack,) = (bound.epsilon for bound in algorithm.bounds(setting, delta) if bound.lower and bound.delta)
        found = (
            f"{game.k:,} | {'1' if tau == 1 else f'1/{tau}'} | {one.ratio:.3g} | {one.variance:.1e}".replace(
                "e-0", "e-"
            ),
            at_most(bounded_range.composed(game.sensitivity, game.k, delta)),
            at_most(draw.composed(one, game.k, delta)),
            at_least(attack),
        )
        assert states(LEMMA_B, f"| {title} | {' | '.join(found)} |")
    assert math.isclose(draw.A, 0.22) and states(LEMMA_B, r"\text{ with } a = 0.22")
    for constant in (draw.REACH, draw.SLOPE, draw.SIZE):
        assert states(LEMMA_B, rf"\le {constant}")


# ------------------------------------------------------------------------------------- numbers from the committed CSVs

TEXTS = {page: " ".join(text.split()) for page, text in PAGES.items()}
TABLE = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8")
OBLIVIOUS = ("deterministic", "stochastic", "fully_oblivious", "oblivious")


@lru_cache(4)
def records(path):
    """All rows of a committed CSV."""
    return tuple(csv.DictReader((committed() / "results" / path).read_text(encoding="utf-8").splitlines()))


def rows(name, file="summary", **where):
    """The rows of a committed CSV with these values; of a summary only those of the last round."""
    found = [row for row in records(f"{name}/{file}.csv") if all(row[key] == value for key, value in where.items())]
    last = max(int(row["round"]) for row in found) if file == "summary" else None
    return [row for row in found if last is None or int(row["round"]) == last]


def stopping(name):
    """The rows of a committed stopping.csv."""
    return records(f"{name}/stopping.csv")


def worst(name, **where):
    """The final regret of the curves with these values; of several, the one with the highest mean."""
    return float(max(rows(name, **where), key=lambda row: float(row["mean"]))["regret"])


def states(page, sentence, *numbers):
    """Whether a page contains a sentence with these numbers in place of its {}."""
    written = sentence.format(*(x if isinstance(x, str) else f"{x:,.0f}" for x in numbers)) if numbers else sentence
    assert written in TEXTS[page], f"{page} does not say: {written}"
    return True


def test_the_table_of_figure_1_is_the_committed_csv():
    found = rows("fig1")
    assert len(found) == 15
    for label in dict.fromkeys(row["label"] for row in found):
        cells = " | ".join(f"{float(row['regret']):,.0f}" for row in found if row["label"] == label)
        assert states("README.md", f"| {label} | {cells} |") and states(ADVERSARIAL, f"| {label} | {cells} |")


def test_the_sentences_of_the_paper_beside_figure_1():
    exp3, laplace, tau = (
        {row["adversary"]: float(row["regret"]) for row in rows("fig1", algorithm=name)}
        for name in ("exp3", "dp_exp3_lap", "exp3_tau")
    )
    more = [f"{100 * (laplace[name] / exp3[name] - 1):.0f}" for name in OBLIVIOUS]
    times = [f"{tau[name] / exp3[name]:.1f}" for name in OBLIVIOUS]
    assert states(
        ADVERSARIAL, "not decided on the fourth; {} to {} % more regret", min(more, key=float), max(more, key=float)
    )
    assert states(ADVERSARIAL, "holds; {} to {} times the regret of EXP3", min(times, key=float), max(times, key=float))
    assert states(
        ADVERSARIAL, "EXP3-τ has {} % of the regret of EXP3", 100 * tau["switching_costs"] / exp3["switching_costs"]
    )
    ends = [end(laplace[name] for name in OBLIVIOUS) for end in (min, max)]
    assert states(ADVERSARIAL, "by 344 | fails; its regret is {} to {} |", *ends) and ends[0] > 344


def test_the_rates_of_heavy_tails():
    _, _, claims = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8").partition("## heavy_scaling")
    for algorithm, name in (("dp_robust_se", "Algorithm 3"), ("ldp_robust_se", "Algorithm 4"), ("ldp_robust_ucb", "")):
        found = re.search(rf"worst gap: slope\({algorithm}\) [^|]*\| [^|]*\| (.*? \(.*?\)),", claims)[1]
        assert re.search(rf"\| {name or f'`{algorithm}`[^|]*'} \| \w+ \| T\^{re.escape(found)} \|", TEXTS[HEAVY_TAILS])


def test_trees_and_phases_on_bounded_rewards():
    for label, name in (
        ("UCB1", "UCB1, without privacy"),
        ("AdaP-UCB (ε = 1)", "AdaP-UCB"),
        ("DP-UCB, with ν (ε = 1)", "DP-UCB with its ν/n bonus"),
        ("DP-SE (ε = 1)", "DP-SE"),
        ("DP-UCB, Chernoff, smooth tree (ε = 1)", "DP-UCB with Chernoff's bonus and a smooth tree"),
        ("DP-UCB, Chernoff, tree (ε = 1)", "DP-UCB with Chernoff's bonus and a binary tree"),
        ("DP-UCB, Mishra & Thakurta (ε = 1)", "DP-UCB with the bonus of Mishra & Thakurta"),
    ):
        found = [row for row in rows("bounded_private", label=label) if '"means":"C2"' in row["parameters"]]
        assert states(STOCHASTIC, f"| {name} | {{}} |", float(found[0]["regret"]))
    without = [float(row["regret"]) for row in rows("bounded_without_nu", "final", label="DP-UCB, without ν (ε = 1)")]
    assert states(STOCHASTIC, "{} of 200 trials have a regret above 50,000", sum(x > 50_000 for x in without))
    assert len(without) == 200 and states(STOCHASTIC, "and {} have a regret below 15", sum(x < 15 for x in without))


def sample(name, label, means):
    """The regrets of all trials of the curve with this label, or its beginning, on an instance."""
    found = [row for row in rows(name) if row["label"].startswith(label) and f'"means":"{means}"' in row["parameters"]]
    (curve,) = {row["curve"] for row in found}
    return [float(row["regret"]) for row in rows(name, "final", curve=curve)]


def test_the_state_of_the_art_on_stochastic_rewards():
    name, instances = "state_of_the_art_stochastic", ("C1", "C2", "C3", "C4")
    for written, label in (
        ("KL-UCB, without privacy", "KL-UCB, not private"),
        ("DP-KLUCB", "DP-KLUCB (ε = {})"),
        ("DP-KLUCB, safe", "DP-KLUCB, safe (ε = {})"),
        ("DP-IMED", "DP-IMED (ε = {})"),
        ("Lazy-DP-TS", "Lazy-DP-TS (ε = {})"),
        ("AdaP-KLUCB", "AdaP-KLUCB (ε = {})"),
        ("AdaP-UCB", "AdaP-UCB (ε = {})"),
        ("DP-UCB, Chernoff, smooth tree", "DP-UCB, Chernoff, smooth tree (ε = {})"),
        ("DP-SE", "DP-SE (ε = {})"),
        ("DP-TS (ln)", "DP-TS (ε = {})"),
    ):
        found = [sample(name, label.format(epsilon), "C2") for epsilon in ("0.1", "1")]
        cells = [x for trials in found for x in (np.mean(trials), np.median(trials))]
        assert states(STOCHASTIC, f"| {written} | {{}} | {{}} | {{}} | {{}} |", *cells)
    means = preset("C2", 5)
    least = [float(least_regret(np.array([1e6]), means, epsilon)[0]) for epsilon in (0.1, 1)]
    assert states(STOCHASTIC, "| lower bound | {} | | {} | |", *least)
    every = list(product(instances, ("0.01", "0.1", "0.25", "0.5", "1", "10")))
    safe = {key: sample(name, f"DP-KLUCB, safe (ε = {key[1]})", key[0]) for key in every}
    least = {key: least_regret(np.array([1e6]), preset(key[0], 5), float(key[1]))[0] for key in every}
    times = {key: np.mean(safe[key]) / least[key] for key in every}
    most = {key: max(safe[key]) / np.mean(safe[key]) for key in every}
    at_one = [times[means, "1"] for means in instances]
    low, high = (f"{end(at_one):.1f}" for end in (min, max))
    assert states(STOCHASTIC, "At ε = 1 its regret is {} to {} times the lower bound", low, high)
    assert states(WHICH, "trials of 10^7 rounds loses {}", max(sample("stochastic_tail", "DP-IMED (ε = 0.1)", "C2")))
    longest = max(sample("stochastic_tail", "DP-KLUCB, safe (ε = 0.1)", "C2"))
    assert states(WHICH, "where the safe variant loses at most {}.", longest)
    high, worst = f"{max(times.values()):.1f}", f"{math.ceil(10 * max(most.values())) / 10}"
    assert states(STOCHASTIC, "its regret is at most {} times the lower bound, and no trial", high)
    assert states(STOCHASTIC, "and no trial has more than {} times the mean. A finite bound", worst)
    assert states(WHICH, "no trial has more than {} times the mean", worst)
    far = twice = 0
    highest = 0.0
    for means, epsilon in every:
        trials = sample(name, f"DP-KLUCB (ε = {epsilon})", means)
        far += sum(x > 5 * np.median(trials) for x in trials)
        twice += sum(x > 2 * least[means, epsilon] for x in trials)
        highest = max(highest, max(trials) / np.median(trials))
        assert np.mean(trials) < 2 * least[means, epsilon]
    assert states(STOCHASTIC, f"and {twice / 24:.1f} % of its trials have more than twice the bound.")
    assert states(STOCHASTIC, "No trial has more than {} times the median,", f"{math.ceil(10 * highest) / 10}")
    assert states(WHICH, "{} of its 2,400 trials in the figure have more than 5 times the median", far)


def test_the_finite_bound():
    algorithm = make("dp_klucb", epsilon=1.0, width="optimal", first=16)
    found, times = [], []
    for means in (preset(name, 5) for name in ("C1", "C2", "C3", "C4")):
        (bound,) = algorithm.instance_regret_bound(np.array([1e6]), means, Setting(10**6, 5))
        found.append(bound)
        times.append(bound / least_regret(np.array([1e6]), means, 1.0)[0])
    assert states(STOCHASTIC, "it is {}, {}, {} and {} on C1 to C4", *found)
    assert states(STOCHASTIC, f"which is {min(times):.1f} to {max(times):.1f} times the lower bound.")


def test_the_tails_of_stochastic_rewards():
    instances = ("C1", "C2", "C3", "C4")
    kl, long_kl, imed, long_imed = (
        {means: sample("stochastic_tail", f"{label} (ε = 0.1)", means) for means in instances}
        for first in ("DP-KLUCB", "DP-IMED")
        for label in (first, f"{first}, first phase of 16/ε rounds")
    )
    largest = max(imed["C1"]), max(imed["C2"]), np.median(imed["C2"])
    assert states(STOCHASTIC, "its largest regret on C1 is {}, and {} on C2, where the median is {}.", *largest)
    assert states(
        STOCHASTIC, "regret of DP-KLUCB on C2 is {}, with a median of {}.", max(kl["C2"]), np.median(kl["C2"])
    )
    ends = max(long_kl["C2"]), max(long_imed["C2"])
    assert states(STOCHASTIC, "the largest regret on C2 is {} for DP-KLUCB and {} for DP-IMED,", *ends)
    pairs = ((long[x], short[x]) for long, short in ((long_kl, kl), (long_imed, imed)) for x in instances)
    more = max(np.median(new) / np.median(old) - 1 for new, old in pairs)
    assert states(STOCHASTIC, "no median is worse than it was by more than {} %", math.ceil(100 * more))
    means = [np.mean(long_imed[x]) for x in instances]
    others = ("DP-KLUCB", "DP-KLUCB, first phase of 16/ε rounds", "DP-KLUCB, safe", "DP-IMED", "AdaP-KLUCB")
    best = [min(np.mean(sample("stochastic_tail", f"{label} (ε = 0.1)", x)) for label in others) for x in instances]
    assert all(np.array(means) < best)
    assert states(STOCHASTIC, "on each instance, {} to {}, but no proof at finite t.", min(means), max(means))
    assert states(STOCHASTIC, "two of its trials have a regret above 2,000, the largest {}.", max(long_imed["C1"]))
    least = [least_regret(np.array([1e7]), preset(x, 5), 0.1)[0] for x in instances]
    assert all(np.array(means) < 2 * np.array(least))
    assert states(STOCHASTIC, "Its mean is within a factor of two of the lower bound on each instance;")
    assert sum(x > 2000 for x in long_imed["C1"]) == 2


def test_regrets_over_their_lower_bounds():
    instances = ("C1", "C2", "C3", "C4")
    for label, epsilon, sentence in (
        ("KL-UCB", None, "After 10^6 rounds KL-UCB has {} to {} times the bound without privacy."),
        ("DP-IMED, first phase of 16/ε rounds", 0.25, "DP-IMED with `first: 16` has {} to {} times the bound,"),
        ("DP-KLUCB (", 0.25, "DP-KLUCB {} to {} times, and its safe variant"),
        ("DP-KLUCB, safe", 0.25, "and its safe variant {} to {} times."),
        ("Lazy-DP-TS", 0.25, "Lazy-DP-TS has {} to {} times,"),
        ("AdaP-KLUCB", 0.25, "and AdaP-KLUCB {} to {} times."),
    ):
        found = []
        for one in instances:
            (least,) = least_regret(np.array([1e6]), preset(one, 5), math.inf if epsilon is None else epsilon)
            found.append(np.mean(sample("near_bound", label, one)) / least)
        assert states(STOCHASTIC, sentence, f"{min(found):.2g}", f"{max(found):.2g}")


def test_the_worst_trials_of_stochastic_rewards():
    epsilons = ("0.05", "0.1", "0.25", "0.5", "1")
    names = ("DP-IMED", "DP-KLUCB, safe", "DP-IMED, first phase of 16/ε rounds", "DP-KLUCB")
    trials = {(one, x): sample("worst_trials", f"{one} (ε = {x})", "C2") for one in names for x in epsilons}
    worst = {key: np.mean(sorted(found)[-50:]) for key, found in trials.items()}
    assert all(len(found) == 1000 for found in trials.values())
    (written,) = rows("worst_trials", label="DP-IMED (ε = 0.1)")
    assert float(written["regret"]) == pytest.approx(worst["DP-IMED", "0.1"])
    imed, safe, longer, plain = ((one, "0.1") for one in names)
    times = [f"{worst[one] / np.mean(trials[one]):.2g}" for one in (imed, safe)]
    sentence = "of the trials of DP-IMED lose {} on average, {} times the mean of all."
    assert states(STOCHASTIC, sentence, worst[imed], times[0])
    assert states(STOCHASTIC, "of the safe variant of DP-KLUCB lose {}, {} times the mean.", worst[safe], times[1])
    assert all(min(names, key=lambda one: worst[one, x]) == names[2] for x in epsilons)
    assert states(STOCHASTIC, "CVaR at every ε of the figure, {} at ε = 0.1.", worst[longer])
    most = [max(trials[one]) for one in (longer, plain, safe)]
    words = "its worst trial there loses {}, where the worst one of DP-KLUCB loses {}, and that of the safe variant {}."
    assert states(STOCHASTIC, words, *most)


def test_the_papers_figures_of_stochastic_rewards():
    def mean(name, label, means="C2"):
        return float(np.mean(sample(name, label, means)))

    for written, read, label in (
        ("AdaP-UCB", "2,200", "AdaP-UCB (ε = 1)"),
        ("AdaP-KLUCB", "1,500", "AdaP-KLUCB (ε = 1)"),
        ("DP-SE", "24,000", "DP-SE (ε = 1)"),
        ("DP-UCB", "130,000", "DP-UCB, Azize (ε = 1)"),
    ):
        assert states(STOCHASTIC, f"| {written} | {read} | {{}} |", mean("stochastic_time", label))
    columns = ("0.1", "0.25", "0.5", "1", "500")
    cells = [
        ("C2", 100_000, "lazy_dp_ts", "Lazy-DP-TS (ln), C2, 10^5 rounds", "3,850", "1,900", "1,080", "490", "100"),
        ("C2", 100_000, "dp_se", "DP-SE, C2, 10^5 rounds", "3,900", "3,450", "3,450", "3,450", "3,450"),
        ("C2", 1_000_000, "dp_ts", "DP-TS (base 2), C2, 10^6 rounds", "140,000", "71,000", "36,000", "", ""),
        ("one good arm", 100_000, "dp_ts", "DP-TS (base 2), one good arm, 10^5 rounds", "", "", "", "12,000", ""),
        ("one good arm", 100_000, "dp_se", "DP-SE, one good arm, 10^5 rounds", "", "", "", "5,900", ""),
        ("one good arm", 100_000, "lazy_dp_ts", "Lazy-DP-TS (ln), one good arm, 10^5 rounds", "", "", "", "400", ""),
    ]
    table = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8").partition("## thompson_private")[2]
    lines = [line for line in table.partition("\n## ")[0].splitlines() if " +- " in line]
    agree = [line for line in lines if "| HOLDS |" in line]
    open_ = {
        re.search(r"in C2: (\w+)\[epsilon=([0-9.]+)", line).groups() for line in lines if "| NOT DECIDED |" in line
    }
    moved = sum("one further trial could change this" in line for line in lines)
    assert (len(open_), moved) == (6, 2) and len(agree) + len(open_) == len(lines)
    assert states(STOCHASTIC, "Of {} values {} agree. The other six are marked *: three", len(lines), len(agree))
    kept = records("thompson_private/summary.csv")
    for means, t, algorithm, written, *read in cells:
        line = [written]
        for epsilon, value in zip(columns, read, strict=True):
            ours = [
                float(row["mean"])
                for row in kept
                if row["algorithm"] == algorithm and row["epsilon"] == epsilon and int(row["round"]) == t
                if f'"{means}"' in row["parameters"] and not (algorithm == "lazy_dp_ts" and "base 2" in row["label"])
            ]
            mark = "*" if means == "C2" and (algorithm, epsilon) in open_ else ""
            line.append(f"{value} / {ours[0]:,.0f}{mark}" if value else "")
        assert states(STOCHASTIC, " ".join(f"| {cell}" if cell else "|" for cell in line) + " |")
    early = {
        row["label"]: float(row["mean"])
        for row in kept
        if row["round"] == "100000" and '"C2"' in row["parameters"] and row["epsilon"] == "0.1"
    }
    two, e = early["Lazy-DP-TS, logarithm of base 2 (ε = 0.1)"], early["Lazy-DP-TS (ε = 0.1)"]
    assert e < two
    assert states(STOCHASTIC, "with base 2 we have {} at ε = 0.1 after 10^5 rounds.", two)
    assert states(
        STOCHASTIC,
        "DP-SE, which eliminates arms under central privacy, has a regret of {}",
        mean("trust", "Central: DP-SE (ε = 0.1)"),
    )
    without, *noisy = (
        mean("zcdp_price", label)
        for label in ("AdaC-UCB, without noise", *(f"AdaC-UCB (rho = {rho}," for rho in ("0.01", "0.1", "1")))
    )
    assert states(STOCHASTIC, "Its regret without noise is {} on C2", without)
    assert states(STOCHASTIC, "and {}, {} and {} at ρ = 0.01, 0.1 and 1.", *noisy)
    assert states(STOCHASTIC, "here it is {} and {}.", noisy[0] - without, noisy[1] - without)
    labels = "Central: DP-KLUCB", "Distributed: Dist-DP-SE", "Local: LDP-UCB, Bernoulli reports"
    central, distributed, local = (mean("trust", f"{label} (ε = 0.1)") for label in labels)
    assert states(STOCHASTIC, "is {} for DP-KLUCB (central), {} for Dist-DP-SE (distributed)", central, distributed)
    assert states(STOCHASTIC, "and {} for LDP-UCB with Bernoulli reports (local).", local)


def test_who_is_safe_where():
    found = rows("best_of_both")
    for name in ("DP-Tsallis-INF", "Batched HTINF", "DP-KLUCB", "DP-KLUCB, safe", "EXP3-τ"):
        own = [row for row in found if row["label"].split(" (")[0].removesuffix(", δ = 1e-6") == name]
        most = [max(float(row["regret"]) for row in own if row["epsilon"] == epsilon) for epsilon in ("0.1", "1", "10")]
        assert states(WHICH, f"| {name} | {{}} | {{}} | {{}} |", *most)


def test_the_advice_without_a_trusted_learner_has_the_committed_regrets():
    def trials(label, means, epsilon):
        found = rows("less_trust", "final", panel=means, label=f"{label} (ε = {epsilon})")
        return [float(row["regret"]) for row in found]

    names = {
        "Distributed: Dist-DP-SE": "Dist-DP-SE (`dist_dp_se`)",
        "DP-EXP2": "DP-EXP2 (`dp_exp2`)",
        "LDP-UCB, Bernoulli reports": "LDP-UCB (`ldp_ucb`)",
        "DP-Tsallis-INF": "DP-Tsallis-INF (`dp_reduction`)",
    }
    for label, name in names.items():
        means = [np.mean(trials(label, game, at)) for at in ("0.1", "0.5", "1", "10") for game in ("C1", "C2")]
        assert states(WHICH, f"| {name} " + "| {} / {} " * 4 + "|", *means)
    assert states(WHICH, "DP-Tsallis-INF loses up to {} in single trials", max(trials("DP-Tsallis-INF", "C1", "1")))


def test_the_advice_follows_from_the_state_of_the_art():
    def trials(label, epsilon):
        found = rows("state_of_the_art", "final", adversary="switching_costs", algorithm=label, epsilon=epsilon)
        return [float(row["regret"]) for row in found]

    tau, tsallis = trials("exp3_tau", "0.1"), trials("dp_reduction", "0.1")
    assert states(WHICH, "its regret is {} to {} in every trial.", min(tau), max(tau))
    assert sorted(tsallis)[len(tsallis) // 2] < 53
    assert states(
        WHICH, "That of DP-Tsallis-INF is below 53 in half of the trials, but up to {} in others", max(tsallis)
    )
    pairs = distributions.paired(
        curves.read(committed() / "results" / "state_of_the_art", finals=True), ("Batched HTINF", "DP-Tsallis-INF")
    )
    less = [row.interval[1] < 0 for members in pairs.panels.values() for row in members if row.at == "ε = 1"]
    assert less == [True, True, True, False, False]
    assert states(WHICH, "on (a) to (c) Batched HTINF; on (d) Batched HTINF or DP-Tsallis-INF, which 144 trials do not")
    (found,) = rows("state_of_the_art", adversary="deterministic", algorithm="dp_reduction", epsilon="0.1")
    (uniform,) = rows("state_of_the_art", adversary="deterministic", algorithm="uniform")
    means = float(found["mean"]), float(uniform["mean"])
    assert states(WHICH, "On (a) its mean regret is {}; that of uniform play is {}.", *means)


def test_privacy_at_epsilon_10_is_no_better_than_none():
    folder = committed() / "results" / "state_of_the_art"
    pairs = distributions.paired(curves.read(folder, finals=True), ("DP-Tsallis-INF", "Tsallis-INF, not private"))
    rows_ = [row for members in pairs.panels.values() for row in members if row.at == "ε = 10"]
    means = [f"{row.mean:z,.0f}".replace("-", "−") for row in rows_]
    assert states(WHICH, "by {} on (a), {} on (b), {} on (c), {} on (d) and {} on (e).", *means)
    ends = [f"{low:z,.0f} to {high:z,.0f}".replace("-", "−") for low, high in (row.interval for row in rows_)]
    assert states(WHICH, "The 95 % intervals are {}, {}, {}, {} and {}.", *ends)
    assert states(WHICH, "costs {} on (c), and nothing that 144 trials can detect on the others", ends[2])
    assert [row.interval[0] > 0 for row in rows_] == [False, False, True, False, False]
    trials = rows("state_of_the_art", "final", adversary="oblivious", algorithm="dp_reduction", epsilon="10")
    assert states(
        WHICH, "where {} of its 144 trials have a negative regret", sum(float(row["regret"]) < 0 for row in trials)
    )


def test_the_price_of_privacy_over_experts():
    def ten(label):
        return worst("price_experts", adversary="gap", dimension="10", label=label)

    ftrl, laplace, gaussian = ten("FTRL"), ten("DP-FTRL, Laplace (ε = 1)"), ten("DP-FTRL, Gaussian (ε = 1, δ = 1e-06)")
    assert states(LINEAR, "With ten experts the regret of FTRL is {}.", ftrl)
    assert states(LINEAR, "which is {} times as much, and {} with Gaussian noise.", f"{laplace / ftrl:.1f}", gaussian)
    assert states(LINEAR, "At ε = 1 its regret with ten experts is {},", laplace)
    k_ary, blt = ten("Laplace, k-ary (ε = 1)"), ten("Gaussian, BLT (ε = 1, δ = 1e-06)")
    assert states(LINEAR, "With ten experts at ε = 1 the regret is {}, and it is", k_ary)
    assert states(LINEAR, "The regret is {}, which is {} % more than FTRL", blt, f"{100 * (blt / ftrl - 1):.1f}")
    dartboard = worst("price_experts", adversary="gap", dimension="10", algorithm="shrinking_dartboard", epsilon="1")
    assert states(LINEAR, "With ten experts at ε = 1 its regret is {}:", dartboard)


def test_experts_at_equal_privacy():
    def at(label):
        return worst("experts_private", panel="gap 0.2", label=label)

    words = "the local regret is {} with Gaussian and {} with Laplace noise, and {} with a central BLT. FTRL, which is"
    labels = (
        "Local: RW-FTPL (ε = 1, δ = 1e-06)",
        "Local: noisy FTRL (ε = 1)",
        "Central: DP-FTRL, BLT (ε = 1, δ = 1e-06)",
    )
    assert states(LINEAR, words + " not private, has {}.", *map(at, labels), at("FTRL, not private"))
    assert states(LINEAR, "and its regret is {} here.", at("Central: RNM-FTNL, Gumbel (ε = 1)"))
    means: dict[str, list[float]] = {}
    for row in records("experts_dynamic/summary.csv"):
        means.setdefault(row["algorithm"], []).append(float(row["mean"]))
    slopes = [np.polyfit(np.log([2**14, 2**16, 2**18]), np.log(own), 1)[0] for own in means.values()]
    assert states(LINEAR, "with slopes from {} to {}.", f"{min(slopes):.2f}", f"{max(slopes):.2f}")
    last = {name: f"{own[-1]:,.0f}" for name, own in means.items()}
    words = "after 2^18 rounds DP-FTRL has {}, and FTRL without privacy {}. Of the {} of RW-FTPL"
    assert states(LINEAR, words, last["dp_ftrl"], last["ftrl"], last["rw_ftpl"])
    assert states(LINEAR, "forgets all but the last epoch and has {},", last["rnm_ftnl"])


def test_all_kinds_of_privacy_on_one_axis():
    def at(algorithm, **privacy):
        return worst("one_axis", algorithm=algorithm, **privacy)

    words = (
        "At ε = 1 the regret is {} for DP-KLUCB (pure), {} for AdaC-UCB (zero-concentrated), {} for LDP-UCB (local, "
        "an ε of one report) and {} for Gaussian Thompson sampling. KL-UCB, which is not private, has {}."
    )
    regrets = (
        at("dp_klucb", epsilon="1"),
        at("adac_ucb", rho="0.028"),
        at("ldp_ucb", epsilon="1"),
        at("gaussian_ts", mu="0.237"),
        at("kl_ucb"),
    )
    assert states(CONCEPTS, words, *regrets)
    noise = math.sqrt(2) / 0.3, 1 / math.sqrt(2 * 0.00296)
    assert states(CONCEPTS, "a deviation of {} there, and", f"{noise[0]:.1f}") and states(
        CONCEPTS, "at δ = 1e-6 has one of {}.", f"{noise[1]:.0f}"
    )


def test_the_regret_on_heavy_tails():
    def mean(label, panel):
        return worst("heavy_central", panel=panel, label=label)

    assert states(
        HEAVY_TAILS, "the regret of Algorithm 3 is {} at v = 0.5, ε = 1", mean("DP-Robust-SE (ε = 1)", "v = 0.5")
    )
    assert states(HEAVY_TAILS, "with a factor of 0.03, still has {},", mean("DP-Robust-UCB (ε = 1)", "v = 0.5"))
    printed = [f"v = {v}, as printed" for v in (0.5, 0.9)]
    shares = [
        100 * mean(f"DP-Robust-UCB (ε = {epsilon})", panel) / mean("Uniform", panel)
        for panel, epsilon in product(printed, ("0.5", "1"))
    ]
    ends = f"{min(shares):.0f} to {max(shares):.0f}"
    assert states(HEAVY_TAILS, "Algorithm 1 has {} % of the regret of uniform play.", ends)


def test_what_alpha_costs_at_the_default_outlier():
    """The paired differences of final regrets with α and without; decided at 95 % by Student's t with 31 degrees."""

    def more(figure, panel, label, end):
        without, known = (rows(figure, "final", panel=panel, label=label + a + end) for a in ("", " with α"))
        assert len(known) == 32 and [row["trial"] for row in known] == [row["trial"] for row in without]
        x = np.array([[float(row["regret"]) for row in side] for side in (known, without)])
        return float(np.mean(x[0] - x[1])), float(np.std(x[0] - x[1], ddof=1) / math.sqrt(32))

    decided = 2.0395
    for label, end in (("Robust UCB", ""), ("DP-Robust-UCB", " (ε = 1)"), ("DP-Robust-SE", " (ε = 1)")):
        mean, error = more("robust_central", "2 % of gains at worst", label, end)
        assert mean > decided * error, label
    mean, error = more("robust_local", "10 % of gains at worst", "bits", " (ε = 1)")
    assert 0 < mean < decided * error
    assert states(HEAVY_TAILS, "the bits have {} more, with a standard error of {} (32 trials, paired).", mean, error)


def test_how_many_users_the_best_arm_takes():
    found = {
        (row["panel"], row["label"].split(" (")[0], row["epsilon"]): row for row in stopping("best_arm_confidence")
    }
    trials, (wrong,) = (
        sum(int(row["trials"]) for row in found.values()),
        [k for k, r in found.items() if int(r["wrong"])],
    )
    assert wrong == ("pair", "CTB-TT", "1") and found[wrong]["wrong"] == "1"
    assert states(
        BEST_ARM, "One of the {} trials of this figure has a wrong answer, that of CTB-TT on the pair", trials
    )

    def times(of, over, panels, epsilons=("0.1", "0.5", "1", "10")):
        pairs = ((found[panel, of, e], found[panel, over, e]) for panel, e in product(panels, epsilons))
        return [float(one["pulls_mean"]) / float(other["pulls_mean"]) for one, other in pairs]

    published = times("DP-TT, as published", "DP-TT", ("μ3", "C2", "pair"))
    assert states(
        BEST_ARM, f"save DP-TT a factor of {min(published):.1f} to {max(published):.1f} on μ3, C2 and the pair"
    )
    adaptive = times("DP-uniform", "DP-TT", ("μ3", "C2"))
    assert states(BEST_ARM, f"is worth a factor of {min(adaptive):.1f} to {max(adaptive):.1f} over equal plays")
    fewer = times("DP-SE", "DP-TT", ("μ3", "pair", "C2"), ("0.01",))
    assert max(fewer) == fewer[-1] < 1 and states(BEST_ARM, "on C2, with {} % of them,", 100 * fewer[-1])
    central = [row for (_, label, epsilon), row in found.items() if epsilon and label != "CTB-TT"]
    assert min(float(row["pulls_mean"]) / float(row["lower_2025"]) for row in central) > 5


def test_wrong_answers_and_trials_that_get_stuck():
    (stylised,) = (
        row
        for row in stopping("best_arm_thresholds")
        if (row["panel"], row["label"]) == ("pair", "stylised, published play (ε = 0.1)")
    )
    share = 100 * int(stylised["wrong"]) / int(stylised["trials"])
    assert states(BEST_ARM, f"it errs in {share:.1f} % of the trials on the pair at ε = 0.1")
    stuck = {
        row["panel"]: row for row in stopping("best_arm_stuck") if row["label"] == "DP-TT, published play (ε = 0.1)"
    }
    one, two = (stuck[f"{name}, ε = 0.1"] for name in ("μ1", "μ2"))
    ends = one["capped"], two["capped"]
    medians = float(one["pulls_median"]), float(two["pulls_median"])
    assert states(BEST_ARM, "{} and {} of 96 trials have no answer after 3,000,000 plays", *ends)
    assert states(BEST_ARM, "while the median is {} on μ1 and {} on μ2.", *medians)
    cured = [
        float(row["pulls"])
        for row in records("best_arm_stuck/final.csv")
        if row["label"].startswith("DP-TT, recommended")
    ]
    assert sum(x > 300_000 for x in cured) == 1 and max(cured) < 3_000_000
    many = {
        row["label"]: row
        for row in stopping("best_arm_budget")
        if (row["panel"], row["horizon"]) == ("many, ε = 1", "2000")
    }
    halving, equal = (
        100 * int(many[f"{label} (ε = 1)"]["wrong"]) / int(many[f"{label} (ε = 1)"]["trials"])
        for label in ("halving, all phases", "equal plays, Laplace")
    )
    assert states(BEST_ARM, f"it errs in {halving:.1f} % of the trials, and equal plays in {equal:.0f} %.")


def test_slopes_are_those_of_the_verdicts():
    def slope(name, number):
        part = TABLE.partition(f"## {name}: ")[2]
        (row,) = re.findall(rf"^\| {number} \|.*slope.*$", part.partition("\n## ")[0], re.MULTILINE)
        return re.findall(r"(\d\.\d+) \(\d\.\d+ to \d\.\d+\), \d+ trials", row)[-1]

    assert states(HEAVY_TAILS, "not decided; the slope is {} |", slope("heavy_scaling", 1))
    assert states(HEAVY_TAILS, "fails; the slope is {}, near the 0.763", slope("heavy_scaling", 2))
    assert states(LINEAR, "not at these T; the slope is {} at ε = 1 |", slope("price_linear_scaling", 2))


def test_what_it_costs_to_hide_a_person():
    """Each curve stands at the rounds that the ledger proves for it, and the page states its regrets."""
    text = (committed() / "results" / "people" / "manifest.json").read_text(encoding="utf-8")
    curves = json.loads(text)["curves"].values()
    at: dict[str, set[int]] = {}
    for curve in curves:
        if curve["epsilon"] is not None:
            at.setdefault(curve["algorithm"]["family"], set()).add(curve["converted"])
    assert len(at) == 3 and all(rounds == {1, 2, 4, 8, 16, 32, 64} for rounds in at.values())
    kinds = {
        "rnm_ftnl": ("sums of disjoint rounds", "1", "0.25", "0.015625"),
        "dp_ftrl": ("a counter (BLT)", "1", "0.2423", "0.01388"),
        "rw_ftpl": ("a report of each round", "1", "0.4749", "0.1079"),
    }
    for name, (kind, one, four, most) in kinds.items():
        found = [worst("people", algorithm=name, epsilon=epsilon) for epsilon in (one, most)]
        row = f"| `{name}`, {kind} | {four} | {float(most):.4g} | {{}} | {{}} |"
        assert states("docs/privacy/people.md", row, *found)
    free = worst("people", algorithm="ftrl")
    assert states("docs/privacy/people.md", "the regret of FTRL without privacy, {}.", free)


def test_the_thresholds_of_free_privacy_are_those_of_the_tables():
    """Each with the row and the column that it comes from."""
    lines = (committed() / "results" / "price_tables.md").read_text(encoding="utf-8").splitlines()
    cells = [
        [cell.strip() for cell in line.split("|")] for line in lines if re.match(r"\| (experts|sphere|cube) \|", line)
    ]
    free = {(row[1], row[2]): [cell.split(" (")[0] for cell in row[3:7]] for row in cells if row[2] in ("2", "10")}
    (tree, k_ary, gaussian, blt), two = free["experts", "10"], free["experts", "2"]
    words = "within 10 % of that for ε ≥ {}, and with Gaussian noise on the tree (δ = 1e-6) for ε ≥ {};"
    assert states(LINEAR, words, tree, gaussian)
    assert states(LINEAR, "with two experts the thresholds are {} and {}.", two[0], two[2])
    assert states(LINEAR, "and it is within 10 % of FTRL for ε ≥ {}.", k_ary)
    assert states(LINEAR, "and it is within 10 % for ε ≥ {}.", blt)
    sphere, cube = free["sphere", "10"], free["cube", "10"]
    words = "On the sphere in ten dimensions the two thresholds are {} and {}, on the cube {} and {}."
    assert states(LINEAR, words, sphere[0], sphere[2], cube[0], cube[2])


def test_one_number_determines_the_price():
    """For ten experts, both horizons and six mechanisms: the smallest and the largest multiple of FTRL's regret."""
    found: dict[str, list[float]] = {}
    for horizon in ("4096", "65536"):
        game = {"adversary": "gap", "dimension": "10", "horizon": horizon}
        floor = worst("price_collapse", **game, algorithm="ftrl")
        labels = {row["label"] for row in rows("price_collapse", **game, algorithm="dp_ftrl")}
        for label in labels:
            (blur,) = {row["blur"] for row in rows("price_collapse", **game, label=label)}
            found.setdefault(blur, []).append(worst("price_collapse", **game, label=label) / floor)
    assert {len(several) for several in found.values()} == {12}
    half, one = ([f"{100 * (end(found[blur]) - 1):.0f}" for end in (min, max)] for blur in ("0.5", "1"))
    five = [f"{end(found['5']):.1f}" for end in (min, max)]
    words = "{} to {} % above that of FTRL when this number is 0.5, {} to {} % when it is 1, and {} to {} times"
    assert states(LINEAR, words, *half, *one, *five)


def test_the_benefit_of_the_tree():
    tree, own, other = (
        worst("price_noisy", label=f"{label} (ε = 1)")
        for label in ("DP-FTRL, Laplace", "noisy losses, own rate", "noisy losses, FTRL's rate")
    )
    (row,) = [
        row for row in rows("price_noisy", label="noisy losses, FTRL's rate (ε = 1)") if float(row["mean"]) == other
    ]
    half = f"{1.96 * float(row['sd']) / float(row['trials']) ** 0.5:.2g}"
    words = "the regret at ε = 1 with ten experts is {}, and {} (± {}) with FTRL's own learning rate:"
    assert states(LINEAR, words, own, other, f"{float(half):.0f}")
    times = f"{own / tree:.1f}", f"{other / tree:.1f}"
    assert states(LINEAR, "{} and {} times the {} of the tree in the same games", *times, tree)


def test_the_regret_against_noise_that_varies():
    labels = {"uneven": "Honaker's tree, Gaussian", "tree": "tree with top-up, Gaussian", "blt": "BLT, Gaussian"}
    labels |= {"digits": "negative digits, Laplace", "laplace": "tree with top-up, Laplace"}

    def final(name, counter):
        (found,) = (
            float(row["regret"])
            for row in rows("uneven_noise")
            if row["label"].startswith(labels[name])
            and f'"counter":"{counter}","spare":"fresh","label"' in row["parameters"]
        )
        return found

    known, end = Setting(2**22, 2, space=Simplex(2)), np.array([2.0**22])
    given = {"epsilon": 0.03, "nodes": "gaussian", "delta": 1e-6}
    bounds = [
        math.ceil(make("dp_ftrl", counter=counter, **given).tuned(known).regret_bound(end, known)[0])
        for counter in ("tree", "blt")
    ]
    uneven, tree, blt = (final(name, "honaker") for name in ("uneven", "tree", "blt"))
    assert states(LINEAR, "built against Honaker's tree gives it a regret of {}.", uneven)
    words = "tree with top-up noise has {}, below its bound of {}, and a BLT {}, below {}."
    assert states(LINEAR, words, tree, bounds[0], blt, bounds[1])
    assert states(LINEAR, "negative digits have {} against the", final("digits", "negative_digits"))
    assert states(LINEAR, "and the tree with top-up noise has {}.", final("laplace", "negative_digits"))


def test_the_price_of_privacy_over_arms_and_points():
    def at(adversary, label):
        return worst("price_bandit", adversary=adversary, label=label)

    def exp2(adversary):
        return [at(adversary, f"DP-EXP2, {how} (ε = 1)") for how in ("as printed", "as proved", "by variance")]

    printed, proved, variance = exp2("deterministic")
    exp3, uniform = at("deterministic", "EXP3"), at("deterministic", "Uniform")
    htinf, small = (at("deterministic", f"Batched HTINF (ε = {epsilon})") for epsilon in ("1", "0.1"))
    assert states(LINEAR, "where EXP3 has a regret of {} and uniform play of {}, the printed tuning", exp3, uniform)
    assert states(LINEAR, "of Theorem 4.1 has {}, and the tuning that its proof requires {}.", printed, proved)
    assert states(LINEAR, "has {} on the deterministic panel, and {} at ε = 0.1.", htinf, small)
    *others, by_variance = exp2("stochastic")
    assert states(LINEAR, "the two have {} and {} (uniform play: {}).", *others, at("stochastic", "Uniform"))
    assert states(LINEAR, "its regret is {} and {}.", variance, by_variance)
    scrible, vector, scalar = (
        worst("price_linear_bandit", dimension="10", label=label)
        for label in ("SCRiBLe", "vector noise (ε = 1)", "scalar noise (ε = 1)")
    )
    assert states(
        LINEAR, "At N = 10, ε = 1 the regret of SCRiBLe is {}; with the noise vector it is {},", scrible, vector
    )
    assert states(LINEAR, "with one Laplace number, which is equally private, {}.", scalar)


def test_the_comparison_at_equal_privacy():
    def three(adversary):
        return [
            worst("fig1_equal_privacy", adversary=adversary, algorithm=a) for a in ("exp3_tau", "dp_exp3_lap", "exp3")
        ]

    first, others = three("deterministic"), [three(adversary) for adversary in OBLIVIOUS[1:]]
    assert states(ADVERSARIAL, "(deterministic: {} against {}; EXP3: {})", *first) and 2 * first[0] < first[1]
    assert states(
        ADVERSARIAL, "(stochastic: {} against {}; EXP3: {}; uniform play: {}).", *others[0], 2**18 * 0.05 * 3 / 4
    )
    assert all(tau < lap for tau, lap, _ in others)
    tau, lap, _ = three("switching_costs")
    assert states(ADVERSARIAL, "its regret is {} against {}, and longer blocks", tau, lap)
    assert states(ADVERSARIAL, "With the same noise, Tsallis-INF has less regret than EXP3 on every panel for ε ≥ 1.")
    for adversary in (*OBLIVIOUS, "switching_costs"):
        for epsilon in ("1", "5", "20", "100", "300"):
            tsallis, exp3 = (
                worst("frontier", adversary=adversary, epsilon=epsilon, algorithm=algorithm)
                for algorithm in ("dp_lambda_lap", "dp_exp3_lap")
            )
            assert tsallis < exp3


def test_the_growth_of_regret_with_the_dimension():
    panels = table.read(committed() / "results" / "linucb_dimension").panels
    slopes = {panel: f"{lines[0].slope[0]:.2f}" for panel, lines in panels.items()}
    gaussian, signs = slopes["Gaussian rewards"], slopes["Rewards 1 and -1"]
    assert states(CONTEXTUAL, "grows like d^{} with Gaussian rewards and like d^{} with rewards of ±1", gaussian, signs)


def test_the_table_of_contextual_bandits():
    """Means over 35 trials, and half their 95 % intervals by the normal approximation."""
    last = []
    for name, label in (
        ("LinUCB, not private", "Non-private"),
        ("Gaussian noise", "Gaussian (ε = 0, δ = 0.1)"),
        ("Wishart noise, shifted", "Wishart (ε = 0, δ = 0.1)"),
        ("Wishart noise, not shifted", "Wishart, not shifted (ε = 0, δ = 0.1)"),
    ):
        found = [
            row for row in records("linucb_time/summary.csv") if (row["label"], row["round"]) == (label, "2000000")
        ]
        pairs = [(float(row["mean"]), 1.96 * float(row["sd"]) / 35**0.5) for row in found]
        assert [row["gap"] for row in found] == ["0", "0.1"]
        assert states(CONTEXTUAL, "| {} | {} ± {} | {} ± {} |", name, *pairs[0], *pairs[1])
        (row,) = rows("linucb_time", label=label, gap="0")
        last.append(float(row["mean"]))
    assert states(CONTEXTUAL, "the regrets without a gap are {}, {}, {} and {} (the", *last)
    half = 1.96 * float(row["sd"]) / 35**0.5
    assert states(CONTEXTUAL, "The last is {} ± {}, which is less than the authors have", last[-1], half)
    assert 2.47e5 - last[-1] > math.hypot(half, 1.6e4)


def test_the_regret_of_linucb_with_no_more_noise_than_it_needs():
    found = {}
    for row in rows("linucb_exact"):
        found.setdefault(row["label"].partition(" (ε")[0], []).append(float(row["regret"]))
    exact, nodes, authors = (found[f"Gaussian, {label}"] for label in ("exact", "nodes counted", "the authors' noise"))
    words = "is {}, where the count of nodes has {} and the authors' noise {} (at a gap of 0.1: {}, {} and {})"
    assert states(CONTEXTUAL, words, *(pair[gap] for gap in (0, 1) for pair in (exact, nodes, authors)))
    blt, smaller = found["Gaussian, BLT"], found["Gaussian, BLT, smaller shift"]
    assert states(CONTEXTUAL, "in place of the tree has {} ({}), and {} ({}) with a shift", *blt, *smaller)
    assert states(CONTEXTUAL, "Without privacy it is {} ({}).", *found["Non-private"])
    wishart, theirs = found["Wishart, calibrated numerically"], found["Wishart, the authors' noise"]
    assert states(CONTEXTUAL, "the regret falls to {} ({}), from {} ({}).", *wishart, *theirs)
    mu = trees.redrawn(5 * 10**7 - 1)
    nodes = gaussian.epsilon_of(gaussian.mu_of(1.0, 0.1) * mu / 27**0.5, 0.1)
    words = "as private as {}² nodes: noise for ε = 1, δ = 0.1 by the count of nodes gives ε = {}, δ = 0.1."
    assert states(CONTEXTUAL, words, at_most(mu), at_most(nodes, 2))
    proved = at_most(epsilon_by_halves(0.1, 40 / 2 - 5, 27))
    assert states(CONTEXTUAL, "the bound that is proved at this δ is {}.", proved)


def test_the_regret_under_plain_privacy():
    found = {row["label"].partition(" (ε")[0]: float(row["regret"]) for row in rows("linucb_plain_dp")}
    ignored, noised = found["Plain, the present ignored"], found["Plain, the present noised"]
    assert states(CONTEXTUAL, "the regret is {} if the arms are ignored and {} if the choice", ignored, noised)
    assert states(CONTEXTUAL, "has {}, and local privacy {} (", found["Joint"], found["Local"])


def test_the_regret_on_fixed_arms():
    """The price of AdaC-GOPE is a mean over trials, with half its 95 % interval by the normal approximation."""
    found = {}
    for row in records("gope_price/final.csv"):
        found.setdefault((row["label"].partition(" (ε")[0], row["epsilon"]), []).append(float(row["regret"]))
    mean = {label: f"{np.mean(regrets):,.0f}" for label, regrets in found.items()}
    for name, label in (("AdaP-GOPE",) * 2, ("LDP-GOPE",) * 2, ("DP-LinUCB, δ = 1e-6", "DP-LinUCB")):
        cells = " | ".join(mean[label, epsilon] for epsilon in ("0.1", "1", "10"))
        assert states(CONTEXTUAL, f"| {name} | {cells} |")
    free = np.array(found["Phased GOPE, not private", ""])
    for name in ("AdaP-GOPE", "LDP-GOPE"):
        cells = []
        for epsilon in ("0.1", "0.3", "1", "3", "10"):
            more = float(epsilon) * (np.array(found[name, epsilon]) - free)
            cells.append(f"{np.mean(more):,.0f} ± {1.96 * np.std(more, ddof=1) / len(more) ** 0.5:,.0f}")
        assert states(CONTEXTUAL, f"| {name} | " + " | ".join(cells) + " |")
    phased, linucb = mean["Phased GOPE, not private", ""], mean["LinUCB, not private", ""]
    assert states(CONTEXTUAL, f"Without privacy Phased GOPE has {phased} and LinUCB {linucb}:")
    epsilon = at_most(gaussian.epsilon_of(0.02**0.5, 1e-6))
    oful = mean["AdaC-OFUL, ρ = 0.01", ""]
    assert states(CONTEXTUAL, f"has {oful} with ρ = 0.01, which is ε = {epsilon} at δ = 1e-6.")
    noisy, silent = (np.array(found[f"AdaC-GOPE, {kind}", ""]) for kind in ("ρ = 0.01", "without noise"))
    price, half = np.mean(noisy - silent), 1.96 * np.std(noisy - silent, ddof=1) / len(noisy) ** 0.5
    silent_mean = mean["AdaC-GOPE, without noise", ""]
    assert states(CONTEXTUAL, f"has {silent_mean} without noise and {price:,.0f} ± {half:,.0f} more with ρ = 0.01.")


def test_the_win_rates_and_regrets_of_oracles():
    page = "docs/papers/contextual.md"
    rows = records("wins.csv")
    won = {(row["epsilon"], row["algorithm"], row["opponent"]): 100 * float(row["rate"]) for row in rows}
    benchmark = {"VPO": (98, 78), "SquareCB": (88, 74), "FastCB": (80.5, 72), "RegCB": (80, 94), "LinUCB": (81, 93)}
    for other, published in benchmark.items():
        cells = (published[0], won["", "BPO", other], published[1], won["1.0", "BPO", other])
        assert states(page, f"| {other} | " + " | ".join(f"{cell:.3g} %" for cell in cells) + " |")
    ours = {epsilon: [won[epsilon, "BPO", other] for other in benchmark] for epsilon in ("", "1.0")}
    assert min(ours[""]) > 50 > min(ours["1.0"])
    assert states(page, "Without privacy BPO has the least loss in most tables, as in the benchmark,")
    unsure, winners = (sum(int(row[name]) for row in rows) // 2 for name in ("open", "games"))
    assert states(page, "could change {} of the {} winners that `wins.csv` counts.", unsure, winners)
    rows = records("wins_best.csv")
    iris = {row["epsilon"]: row["regret"] for row in rows if (row["game"], row["algorithm"]) == ("oracle_iris", "BPO")}
    text = f"names {iris['']} of 150 wrong classes without privacy, {iris['8.0']} at ε = 8 and {iris['1.0']} at ε = 1"
    assert states(page, text)
    found = {}
    for row in records("oracle_sphere/final.csv"):
        if row["gap"] == "0.1":
            found.setdefault(row["label"].partition(" (")[0], []).append(float(row["regret"]))
    mean = {label: f"{np.mean(x):,.0f}" for label, x in found.items()}
    assert states(page, f"its regret is {mean['LinUCB, tree']} with the tree and")
    assert states(page, f"{mean['LinUCB, BLT, smaller shift']} with a BLT and a smaller shift. SquareCB has")
    assert states(
        page, f"{mean['SquareCB, quadratic']} with the quadratic oracle, and {mean['SquareCB, logistic']} with"
    )
    assert states(page, f"RegCB has {mean['RegCB, quadratic']} and {mean['RegCB, logistic']}: the quadratic oracle's")
    bpo = found["BPO, quadratic"]
    assert states(page, f"a mean of {np.mean(bpo):,.0f} and a median of {np.median(bpo):.0f}, and its worst")
    assert states(page, f"and its worst of {len(bpo)} trials has {max(bpo):,.0f}.")
