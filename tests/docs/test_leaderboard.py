"""The page of the leaderboard: each committed adversary has a question, and cells say what the results say."""

import csv
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from privbandits_cli.analysis.folder import read_config
from privbandits_cli.experiment.config import keys_of, load
from privbandits_cli.plugins.registry import Registry
from tests.conftest import ROOT, committed

sys.path.append(str(ROOT / "docs"))  # as conf.py does

from _generate import experiments, leaderboard
from _generate.standings import Instance, Kind, instances

from tests.docs.test_standings import entry, instance


def test_each_instance_belongs_to_one_question():
    for path in sorted((ROOT / "configs").glob("*.yaml")):
        keys = keys_of(path)
        adversaries = keys.adversary if isinstance(keys.adversary, list) else [keys.adversary]
        for one in adversaries:
            name = one if isinstance(one, str) else one["name"]
            timed = keys.game == "best_arm" and keys.confidence is not None
            made = Instance(keys.game, keys.feedback if keys.game == "linear" else "", name, "", 1, timed, ())
            assert sum(question.holds(made) for question in leaderboard.QUESTIONS) == 1, (path.stem, name)
    asked = set().union(*(question.adversaries for question in leaderboard.QUESTIONS))
    assert asked <= set(Registry().names("adversaries"))


@pytest.fixture(scope="module")
def played():
    return instances(committed() / "results" / name for name in ("trust", "heavy_central"))


def test_the_page_answers_with_what_the_rows_have(played):
    page, short = "\n".join(leaderboard.written(played)), leaderboard.short(played)
    _, *sections = re.split(r"^\(board-.*\)=\n", page, flags=re.MULTILINE)
    heads = [section.partition("\n")[0].removeprefix("## ") for section in sections]
    assert heads[:3] == [
        f"Arms with fixed means, {kind}" for kind in ("central privacy", "distributed trust", "local privacy")
    ]
    assert re.findall(r"\]\(#(board-[\w-]+)\)", short) == re.findall(r"^\((board-[\w-]+)\)=", page, re.MULTILINE)
    (c2,) = (one for one in played if one.adversary == "bernoulli")
    (row,) = (row for row in c2.rows(Kind(2)) if row.epsilon == 0.5)
    first, (low, high) = row.unbeaten[0], row.unbeaten[0].interval
    cell = f"**{first.mean.value:,.0f}** ({low:,.0f} to {high:,.0f})"
    assert cell in sections[2] and f"../algorithms/{first.algorithm}.md" in sections[2]
    (line,) = (line for line in short.splitlines() if "#board-arms-with-fixed-means-local-privacy" in line)
    name, words = first.player
    assert f"[`{name}`](../algorithms/{name}.md) `{words}` (1 of 1)" in line.split("|")[4]
    (shown,) = (line.split("|") for line in sections[2].splitlines() if cell in line)
    behind = row.next.mean.value / first.mean.value
    assert f"{row.next.mean.value:,.0f}, {behind:.1f} times" in shown[4] and row.next.algorithm in shown[4]
    assert shown[6].strip() == "250,000"  # C2: a quarter of a round on average, in 10^6 rounds


def test_who_has_no_rival_wins_nothing(played):
    (c2,) = (one for one in played if one.adversary == "bernoulli")
    alone = replace(c2, entries=tuple(one for one in c2.entries if one.algorithm in ("dist_dp_se", "kl_ucb")))
    short, page = leaderboard.short([alone]), "\n".join(leaderboard.written([alone]))
    assert "[`dist_dp_se`](../algorithms/dist_dp_se.md) (no rival)" in short and "1 of 1" not in short
    rows = [line.split("|") for line in page.splitlines() if "dist_dp_se" in line]
    assert rows and all(row[4].strip() == "no rival" for row in rows)


def test_what_is_not_surely_better_than_guessing_is_not_an_answer(played):
    (c2,) = (one for one in played if one.adversary == "bernoulli")
    (row,) = (row for row in c2.rows(Kind(2)) if row.epsilon == 0.1)
    best = row.unbeaten[0]
    near = replace(c2, guess=0.5 * (best.mean.value + best.interval[1]))  # within the interval, above the mean
    for made, answer in ((near, False), (replace(c2, guess=2 * best.interval[1]), True)):
        (line,) = (x for x in leaderboard.short([made]).splitlines() if "#board-arms-with-fixed-means-local" in x)
        assert ("nothing beats guessing" in line.split("|")[3]) != answer
        page = "\n".join(leaderboard.written([made]))
        (shown,) = (x for x in page.splitlines() if f"**{best.mean.value:,.0f}**" in x and "| 0.1 |" in x)
        assert shown.rstrip(" |").endswith("**") != answer


def test_a_short_answer_has_the_numbers_with_which_it_beats_most():
    found = instances([committed() / "results" / "worst_trials"])
    (line,) = (x for x in leaderboard.short(found).splitlines() if x.startswith("| Arms with fixed means"))
    (game,) = found
    (row,) = (row for row in game.rows(Kind(0)) if row.epsilon == 0.1)
    assert row.parameters(row.unbeaten[0]) == "first: 16"
    assert "[`dp_imed`](../algorithms/dp_imed.md) `first: 16` (1 of 1)" in line.split("|")[3]


def first_names(games):
    """The names and scores of the short answer to the first question, under central privacy, at ε ≤ 1."""
    (line,) = (x for x in leaderboard.short(games).splitlines() if x.startswith("| Arms with fixed means"))
    return re.findall(r"\[`(\w)`\]\S+ \((\d of \d)\)", line.split("|")[5])


def test_wins_in_games_that_another_did_not_play_put_nobody_before_it():
    """`b` beats three others in two games without `a`, and loses to `a` in the game that both play."""
    others = [entry(name, 300 + i, seed=i) for i, name in enumerate("cde")]
    apart = [instance(entry("b", 100, seed=seed), *others) for seed in (3, 4)]
    together = instance(entry("a", 100, seed=5), entry("b", 200, seed=6))
    assert first_names([*apart, together]) == [("a", "1 of 1"), ("b", "2 of 3")]
    assert first_names(apart) == [("b", "2 of 2")]


def test_the_second_has_met_the_first():
    """`a` beats two in one game, `b` one in another."""
    games = [
        instance(entry("a", 100), entry("c", 200, seed=1), entry("d", 300, seed=2)),
        instance(entry("b", 100), entry("e", 200, seed=3)),
    ]
    assert first_names(games) == [("a", "1 of 1")]
    met = instance(entry("a", 100, seed=4), entry("b", 100.5, seed=5))
    assert first_names([*games, met]) == [("a", "2 of 2"), ("b", "2 of 2")]


def test_a_circle_of_players_has_a_first():
    pairs = [instance(entry(one, 100, seed=1), entry(other, 200, seed=2)) for one, other in ("ab", "bc", "ca")]
    assert first_names(pairs) == [("a", "1 of 2"), ("b", "1 of 2")]


@pytest.mark.slow  # ten seconds: it compares the trials of all results
def test_the_committed_leaderboard_is_that_of_the_results():
    folders = sorted(path.parent for path in (committed() / "results").glob("*/manifest.json"))
    made, file = leaderboard.alone(instances(folders)), committed() / "results" / "LEADERBOARD.md"
    assert made == file.read_text(encoding="utf-8"), "run `make reproducibility`"


def test_links_of_the_committed_leaderboard_exist():
    text = (committed() / "results" / "LEADERBOARD.md").read_text(encoding="utf-8")
    heads = {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in re.findall("^## (.*)$", text, re.M)}
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    assert {link[1:] for link in links if link.startswith("#")} == heads
    files = {link for link in links if not link.startswith("#")}
    assert len(files) > 30 and all((committed() / "results" / file).exists() for file in files)


def test_the_advice_without_a_trusted_learner_is_that_of_the_leaderboard():
    advice = (ROOT / "docs" / "start" / "which_algorithm.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (0\.1|0\.5|1|10) \| (`.*) \| (`.*) \|$", advice, re.MULTILINE)
    board = (committed() / "results" / "LEADERBOARD.md").read_text(encoding="utf-8").splitlines()
    for column, kind in ((1, "distributed-trust"), (2, "local-privacy")):
        (row,) = (x.split("|")[3:-1] for x in board if x.startswith("| ") and f"(#arms-with-fixed-means-{kind})" in x)
        named = [re.findall(r"\[`(\w+)`\]", cell) for cell in row]
        advised = [re.findall(r"`(\w+)`", line[column]) for line in lines]
        assert len(advised) == len(named) == 4
        for ours, theirs in zip(advised, named, strict=True):
            assert ours[0] == theirs[0] and set(ours) <= set(theirs)


def test_means_and_worst_trials_of_the_advice_are_those_of_the_figure():
    advice = (ROOT / "docs" / "start" / "which_algorithm.md").read_text(encoding="utf-8")
    names = {
        "DP-KLUCB, safe": "DP-KLUCB, safe",
        "DP-IMED, `first: 16`": "DP-IMED, first phase of 16/ε rounds",
        "DP-KLUCB": "DP-KLUCB",
    }
    with (committed() / "results" / "worst_trials" / "final.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for written, label in names.items():
        (cells,) = re.findall(rf"^\| {re.escape(written)} \| (\d.*, \d.*) \|$", advice, re.MULTILINE)
        for epsilon, cell in zip((0.05, 0.1, 0.25, 0.5, 1), cells.split(" | "), strict=True):
            own = [float(row["regret"]) for row in rows if row["label"] == f"{label} (ε = {epsilon:g})"]
            assert cell == f"{np.mean(own):,.0f}, {max(own):,.0f}"


def test_every_question_says_what_was_not_played(played):
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in leaderboard.short(played).splitlines()[2:]]
    asked = [row[0] for row in rows if row[0]]
    assert asked == [question.head for question in leaderboard.QUESTIONS]
    heavy = asked.index("Heavy-tailed gains")
    (central,) = (row for row in rows if row[0] == asked[heavy])
    assert central[2] == "nothing played below ε = 0.5" and central[5].startswith("as for ε ≤ 1")
    (table_row,) = (row for row in rows if row[0] == "A table, or a log of clicks")
    assert table_row[2:] == ["nothing played"] * 4  # these two experiments play no table


def test_what_a_section_says_to_run_can_be_run():
    tables = instances([committed() / "results" / "oracle_iris"])
    page = "\n".join(leaderboard.written(tables))
    (command,) = re.findall(r"`privbandits run (.*)`", page)
    config, *overrides = shlex.split(command)
    assert "**Below ε = 1 nothing was played here**" in page
    experiment = load(ROOT / "configs" / f"{config}.yaml", overrides)
    (algorithm,) = experiment.algorithms
    assert algorithm.parameters.epsilon == 0.5


def test_figures_and_algorithms_that_are_linked_exist(played):
    page = "\n".join(leaderboard.written(played))
    for name in set(re.findall(r"\(#experiment-(\w+)\)", page)):
        assert read_config(ROOT / "results" / name) and (ROOT / "results" / name / f"{name}.png").is_file()
    assert set(re.findall(r"algorithms/(\w+)\.md", page)) <= set(Registry().names("algorithms"))


def test_only_committed_results_are_on_pages(tmp_path, monkeypatch):
    for name in ("fig1", "fig1-smoke"):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "manifest.json").write_text("{}")
    for command in (["init", "-q"], ["add", "results/fig1"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(experiments, "ROOT", tmp_path)
    assert experiments.committed.__wrapped__() == {"fig1"}
