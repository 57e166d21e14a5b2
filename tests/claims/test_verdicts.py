"""Claims are judged on hand-made results whose verdict is known, and `check` prints the verdicts."""

import csv
import json
import math
import re

import numpy as np
import pytest
import yaml

from privbandits_cli.actions.check import claims_on
from privbandits_cli.analysis import estimates, summary
from privbandits_cli.analysis.folder import FINAL, SUMMARY
from privbandits_cli.analysis.measured import planned
from privbandits_cli.claims.verdicts import verdicts
from privbandits_cli.experiment.config import keys_of, load
from privbandits_cli.experiment.plan import make_plan
from tests.cli import call
from tests.conftest import ROOT, committed

pytestmark = pytest.mark.usefixtures("no_figure")

CONFIG = """\
experiment: small
horizon: 1000
arms: 4
trials: 9
seed: 3
checkpoints: 4
adversary: [stochastic, switching_costs]
algorithms:
  - exp3
  - {name: dp_exp3_lap, epsilon: [1, 2]}
  - exp3_tau
  - {name: uniform, label: "at random, A's"}
summary: {centre: mean}
"""

SWEPT = """\
experiment: swept
horizon: [2^8, 2^10, 2^12]
arms: 4
trials: 9
seed: 3
checkpoints: 1
adversary: {name: bernoulli, gap: [0.4, 0.2]}
algorithms: [exp3, tsallis_inf]
summary: {centre: mean}
plot: {against: horizon, worst: gap, slopes: true}
"""
NOISE = np.array([-4, -3, -2, -1, 0, 1, 2, 3, 4]) / math.sqrt(7.5)  # nine trials: mean 0, deviation 1


def experiment(tmp_path, *claims, text=CONFIG):
    """An experiment with these claims."""
    listed = [{"claim": claim, "source": "the paper"} for claim in claims]
    path = tmp_path / "small.yaml"
    path.write_text(text + yaml.safe_dump({"claims": listed} if listed else {}, allow_unicode=True).replace("{}", ""))
    return load(path)


def played(folder, experiment, regrets, trials=range(9)):
    """A results folder; regrets(curve, round) is the array of its trials' regrets `[9]`."""
    folder.mkdir(exist_ok=True)
    plan = make_plan(experiment)
    swept = summary.swept_columns(plan)
    finals, rows = [], []
    for curve in plan.curves:
        wanted = planned(curve)
        shared = {
            "experiment": "small",
            "curve": curve.key,
            "adversary": wanted.adversary,
            "algorithm": curve.algorithm.name,
        }
        shared |= {"label": curve.label} | wanted.swept
        for rounds in curve.checkpoints.tolist():
            x = regrets(curve, rounds)
            if x is None:
                continue
            x = np.broadcast_to(x, max(9, len(trials)))[list(trials)]
            columns = {"parameters": json.dumps(wanted.parameters), "round": rounds, "trials": len(x)}
            rows.append(shared | columns | {"mean": x.mean(), "sd": x.std(ddof=1)})
            if rounds == curve.horizon:
                finals += [shared | {"trial": t, "regret": v} for t, v in zip(trials, x, strict=True)]
    for name, columns, found in (("summary", SUMMARY, rows), ("final", FINAL, finals)):
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [*columns, *swept], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(found)
    (folder / "config.yaml").write_text(yaml.safe_dump(experiment.resolved()))
    return folder


def judged(tmp_path, claim, regrets, text=CONFIG, **how):
    """The verdict on one claim and its figures."""
    made = experiment(tmp_path, claim, text=text)
    (found,) = verdicts(played(tmp_path / made.keys.experiment, made, regrets, **how), made)
    return found.verdict, found.figures


def means(**of):
    """Regrets of these means by algorithm, with deviation 1, the same in each trial's game."""
    return lambda curve, rounds: of.get(curve.algorithm.name, 50.0) * rounds / curve.horizon + NOISE


# ----------------------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("exp3 < exp3_tau", "HOLDS"),
        ("exp3 > exp3_tau", "FAILS"),
        ("2 x exp3 <= exp3_tau", "NOT DECIDED"),  # equal up to the same noise
        ("exp3_tau >= 1.9 x exp3", "HOLDS"),
        ("exp3 within 51% of exp3_tau", "HOLDS"),
        ("exp3 within 49% of exp3_tau", "FAILS"),
        ("exp3 within 50% of exp3_tau", "NOT DECIDED"),
        ("exp3 in 98 to 102", "HOLDS"),
        ("exp3 in 99 to 101", "NOT DECIDED"),  # one further trial could be outside
        ("exp3 in 100 to 101", "NOT DECIDED"),
        ("exp3 in 102 to 103", "FAILS"),
        ("exp3 < 300", "HOLDS"),
        ("final(exp3) <= bound(exp3)", "NOT PLAYED"),  # no theorem covers switching costs
        ("in stochastic: final(exp3) <= bound(exp3)", "HOLDS"),
        ("in stochastic: final(exp3_tau) <= bound(exp3)", "FAILS"),  # 195
        ("at round 500: exp3 in 47 to 53", "HOLDS"),
        ("at round 500: exp3 in 49 to 51", "NOT DECIDED"),  # single trials are not known: one may be far out
        ("at round 500: exp3 < 0.9 x exp3_tau", "HOLDS"),
        ("slope(exp3) in 1 +- 0.1", "HOLDS"),  # over the rounds of a run
        ("slope(exp3) < 0.9", "FAILS"),
        ("'at random, A''s' < exp3", "HOLDS"),
        ("dp_exp3_lap[epsilon=1] <= dp_exp3_lap[epsilon=2]", "HOLDS"),  # exactly equal
        ("dp_exp3_lap[epsilon=1] < dp_exp3_lap[epsilon=2]", "FAILS"),
    ],
)
def test_forms_and_verdicts(tmp_path, claim, verdict):
    assert judged(tmp_path, claim, means(exp3=100, exp3_tau=200))[0] == verdict


def test_a_vacuous_bound_is_called_so(tmp_path):
    claim = "in stochastic: final(dp_exp3_lap[epsilon=1]) <= bound(dp_exp3_lap[epsilon=1])"
    verdict, figures = judged(tmp_path, claim, means(exp3=100))
    assert verdict == "HOLDS" and " (vacuous: no regret exceeds 1,000): " in figures
    _, figures = judged(tmp_path, "in stochastic: final(exp3) <= bound(exp3)", means(exp3=100))
    assert "100 against a bound of 196: " in figures  # 195.2, rounded up


COINS = CONFIG.replace("[stochastic, switching_costs]", "[stochastic, switching_costs, {name: bernoulli, means: C2}]")


@pytest.mark.parametrize(
    ("claim", "verdict", "shown"),
    [
        # ln 1000 Σ Δ/kl = 3 x 0.05 ln 1000 / 0.0050252 = 206.2 without privacy
        ("in stochastic: exp3 <= lower_bound(exp3)", "HOLDS", "100 against a lower bound of 206 (asymptotic): "),
        ("in stochastic: exp3 >= 0.5 x lower_bound(exp3)", "FAILS", "against a lower bound of 206"),
        ("at round 500 in stochastic: exp3 <= lower_bound(exp3)", "HOLDS", "a lower bound of 185"),  # 206.2 x 2.7 / 3
        ("in bernoulli: exp3 >= lower_bound(exp3_tau)", "HOLDS", "against a lower bound of "),  # δ > 0
        ("exp3 <= lower_bound(exp3)", "NOT PLAYED", "the arms of Switching costs are not Bernoulli arms with fixed"),
    ],
)
def test_the_lower_bound_is_a_quantity(tmp_path, claim, verdict, shown):
    found, figures = judged(tmp_path, claim, means(exp3=100, exp3_tau=200), COINS)
    assert found == verdict and shown in figures


def test_the_lower_bound_of_a_private_curve_is_that_of_its_certified_epsilon(tmp_path):
    text = COINS.replace("{name: dp_exp3_lap,", "{name: dp_klucb,")
    figures = [
        judged(
            tmp_path, f"in bernoulli: dp_klucb[epsilon={x}] <= 9 x lower_bound(dp_klucb[epsilon={x}])", means(), text
        )
        for x in (1, 2)
    ]
    gaps, mu = [1 / 6, 1 / 3, 1 / 2], [7 / 12, 5 / 12, 1 / 4]  # C2 with four arms
    for x, (_, shown) in zip((1, 2), figures, strict=True):
        least = sum(gap / divergence(m, 0.75, x) for gap, m in zip(gaps, mu, strict=True)) * math.log(1000)
        assert f"a lower bound of {math.floor(10 * least) / 10:.1f} (asymptotic)" in shown


def divergence(x, y, epsilon):
    """d_ε by its definition, on a grid."""
    z = np.linspace(x, y, 200_001)
    return float((epsilon * (z - x) + z * np.log(z / y) + (1 - z) * np.log((1 - z) / (1 - y))).min())


def test_pairing_decides_where_independent_means_do_not(tmp_path):
    def regrets(curve, rounds):
        return {"exp3": 100.0, "exp3_tau": 101.0}.get(curve.algorithm.name, 0.0) + 30 * NOISE

    assert judged(tmp_path, "exp3 < exp3_tau", regrets)[0] == "HOLDS"
    verdict, figures = judged(tmp_path, "at round 500: exp3 < exp3_tau", regrets)  # only means are recorded
    assert verdict == "NOT DECIDED" and "errors added, 9 trials" in figures


def test_one_trial_far_out_leaves_a_mean_undecided(tmp_path):
    """Eight regrets of 1 and one of 22: a further one could be as large. Control: the same mean without a tail."""

    def tail(curve, rounds):
        return np.array([1.0] * 8 + [22.0]) if curve.algorithm.name == "exp3" else np.full(9, 50.0)

    def even(curve, rounds):
        return 10 / 3 + NOISE if curve.algorithm.name == "exp3" else np.full(9, 50.0)

    verdict, figures = judged(tmp_path, "in stochastic: exp3 < 12", tail)
    assert verdict == "NOT DECIDED" and "one further trial could change this" in figures
    assert judged(tmp_path, "in stochastic: exp3 < 12", even)[0] == "HOLDS"
    assert judged(tmp_path, "in stochastic: exp3 < 900", tail)[0] == "HOLDS"  # no further trial reaches it


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("cvar(exp3) in 115 to 145", "HOLDS"),
        ("cvar(exp3) <= 115", "FAILS"),
        ("cvar(exp3) > 1.15 x final(exp3)", "HOLDS"),
        ("cvar(exp3) <= 1.1 x cvar(exp3_tau)", "FAILS"),
        ("cvar(exp3) in 130.19 to 131", "NOT DECIDED"),  # it is 130.2
    ],
)
def test_the_mean_of_the_worst_trials_is_a_quantity(tmp_path, claim, verdict):
    """500 trials: every fourth of EXP3 has 130 instead of 90, so that its worst fifth has a mean of 130."""
    size = 500
    spread = np.linspace(-1, 1, size)
    text = CONFIG.replace("trials: 9", f"trials: {size}").replace("{centre: mean}", "{centre: cvar, level: 0.8}")
    regrets = {"exp3": np.where(np.arange(size) % 4, 90.0, 130.0) + spread, "exp3_tau": 100 + spread}

    def of(curve, rounds):
        return regrets.get(curve.algorithm.name, 50 + spread)

    found, figures = judged(tmp_path, claim, of, text, trials=range(size))
    assert found == verdict and "130 (the worst 20 %)" in figures


def test_the_number_of_trials_that_would_decide_is_estimated(tmp_path):
    """d of mean 1, deviation 2, nine trials, two panels: t(8; 0.9875) = 2.7515; 9 (t 2/3)² = 30.3."""

    def regrets(curve, rounds):
        return 100 + 2 * NOISE if curve.algorithm.name == "exp3" else np.full(9, 101.0)

    verdict, figures = judged(tmp_path, "exp3 < exp3_tau", regrets)
    t = estimates.quantile(8, 1 - 0.05 / 2)
    assert t == pytest.approx(2.7515, abs=1e-4) and 9 * (t * 2 / 3) ** 2 == pytest.approx(30.28, abs=0.01)
    assert verdict == "NOT DECIDED" and figures.endswith("about 31 trials would decide")


def test_one_failing_panel_decides(tmp_path):
    """A single failing panel decides the claim: 1 apart at deviation 2, which 31 trials would show."""

    def decided(stochastic, costs):
        def regrets(curve, rounds):
            if curve.algorithm.name != "exp3":
                return np.full(9, 100.0)
            return 100 + 2 * NOISE + (costs if curve.adversary.name == "switching_costs" else stochastic)

        return judged(tmp_path, "exp3 < exp3_tau", regrets)[1]

    both = decided(-0.01, 1.0)
    assert both.startswith("2 of 2 undecided; Switching costs needs the fewest further trials: 101 against 100")
    assert both.endswith("about 31 trials would decide")
    # two panels fail: the note names the one that decides earlier
    assert "; Stochastic needs the fewest further trials" in decided(1.0, 0.1)
    holding = decided(-0.5, -1.0)  # 4 x 30.3 trials
    assert "Stochastic needs the most further trials" in holding and holding.endswith("about 130 trials would decide")


def test_a_claim_about_several_panels_and_values_holds_only_if_it_holds_for_all(tmp_path):
    def regrets(curve, rounds):
        high = curve.adversary.name == "switching_costs" and curve.swept.get("epsilon") == 2
        return (300.0 if high else 100.0 if curve.algorithm.name == "dp_exp3_lap" else 200.0) + NOISE

    assert judged(tmp_path, "in stochastic: dp_exp3_lap < exp3", regrets)[0] == "HOLDS"
    assert judged(tmp_path, "at epsilon = 1: dp_exp3_lap < exp3", regrets)[0] == "HOLDS"
    assert judged(tmp_path, "at epsilon >= 1 in 'Switching costs': dp_exp3_lap < exp3", regrets)[0] == "FAILS"
    verdict, figures = judged(tmp_path, "dp_exp3_lap < exp3", regrets)
    assert verdict == "FAILS" and figures.startswith("fails in 1 of 4, most in Switching costs, ε = 2: 300 against 200")


def test_slopes_over_the_horizon_at_the_worst_gap(tmp_path):
    """Regret grows like √T at gap 0.4, which is the worst, and like T at gap 0.2, where it is small."""

    def regrets(curve, rounds):
        root = 10 * math.sqrt(curve.horizon) if curve.algorithm.name == "exp3" else curve.horizon**0.8
        apart = np.roll(NOISE, curve.horizon.bit_length())  # a trial's deviation is another at each horizon
        return (root if curve.adversary.gap == 0.4 else curve.horizon / 1e4) * (1 + 0.01 * apart)

    for claim, verdict in (
        ("at the worst gap: slope(exp3) in 0.5 +- 0.05", "HOLDS"),
        ("at the worst gap: slope(exp3) in 0.5 +- 0.006", "NOT DECIDED"),  # one further trial could change it
        ("at the worst gap: slope(tsallis_inf) > slope(exp3)", "HOLDS"),
        ("at gap = 0.2: slope(exp3) in 1 +- 0.05", "HOLDS"),
        ("at the worst gap, horizon = 2^12: exp3 in 630 to 650", "HOLDS"),
        ("at the worst gap: exp3 <= tsallis_inf", "FAILS"),  # at T = 256
        ("slope(exp3) in 0.5 +- 0.01", "FAILS"),  # not at every gap
    ):
        assert judged(tmp_path, claim, regrets, text=SWEPT)[0] == verdict, claim


def test_privacy_is_decided_by_proofs_and_attacks(tmp_path):
    for claim, verdict in (
        ("epsilon(dp_exp3_lap[epsilon=1]) <= 1", "HOLDS"),
        ("epsilon(dp_exp3_lap[epsilon=2]) <= 1", "FAILS"),  # an attack shows 2
        ("epsilon(exp3_tau) >= 500", "FAILS"),
        ("epsilon(exp3_tau) <= 2.5", "NOT DECIDED"),
    ):
        found, figures = judged(tmp_path, claim, means())
        assert found == verdict and "proved ε ≤ " in figures and "attack ε ≥ " in figures, (claim, figures)
        assert "trials" not in figures


def test_of_several_epsilons_the_one_that_is_nearest_to_the_limit_decides(tmp_path):
    for claim, verdict, decisive in (
        ("epsilon(dp_exp3_lap) <= 2", "HOLDS", "closest of 2, Switching costs, ε = 2: proved ε ≤ 2 "),
        ("epsilon(dp_exp3_lap) >= 0.5", "HOLDS", "closest of 2, Switching costs, ε = 1: proved ε ≤ 1 "),
        ("epsilon(dp_exp3_lap) <= 0.5", "FAILS", "fails in 2 of 2, most in Switching costs, ε = 2: proved ε ≤ 2 "),
        ("epsilon(dp_exp3_lap) >= 1.5", "FAILS", "fails in 1 of 2, most in Switching costs, ε = 1: proved ε ≤ 1 "),
    ):
        found, figures = judged(tmp_path, claim, means())
        assert found == verdict and figures.startswith(decisive), (claim, figures)
    several = CONFIG.replace("- exp3_tau", "- {name: exp3_tau, tau: [3, 4]}")
    found, figures = judged(tmp_path, "epsilon(exp3_tau) <= 2.5", means(), text=several)
    assert found == "NOT DECIDED" and figures.startswith("2 of 2 undecided; ") and "trials" not in figures


def test_an_epsilon_that_promises_no_protection_is_shown(tmp_path):
    text = CONFIG.replace("epsilon: [1, 2]", "epsilon: [1, 30]")
    made = experiment(tmp_path, "dp_exp3_lap < exp3", "dp_exp3_lap[epsilon=1] < exp3", text=text)
    found = verdicts(played(tmp_path / "small", made, means()), made)
    assert [one.epsilon for one in found] == ["DP-EXP3-Lap 30", ""]


def test_a_slope_needs_several_points_along_the_axis_of_the_figure(tmp_path):
    text = CONFIG + "plot: {against: epsilon}\n"
    assert judged(tmp_path, "slope(dp_exp3_lap) <= 0.1", means(), text=text)[0] == "HOLDS"
    assert judged(tmp_path, "slope(exp3) < 1", means(), text=text) == (
        "NOT PLAYED",
        "EXP3 has no epsilon: a slope needs several",
    )


# ----------------------------------------------------------------------------------------------- what is not there


@pytest.mark.parametrize("claim", ["exp3 < exp3_tau", "at round 500: exp3 < exp3_tau", "slope(exp3) < 3"])
def test_no_claim_about_missing_or_partial_curves_holds(tmp_path, claim):
    regrets = means(exp3=100, exp3_tau=200)
    assert judged(tmp_path, claim, regrets)[0] == "HOLDS"
    verdict, figures = judged(tmp_path, claim, regrets, trials=range(8))
    assert verdict == "NOT DECIDED" and figures.startswith("PARTIAL, 8 of 9 trials; so far: ")

    def absent(curve, rounds):
        return (
            None if (curve.algorithm.name, curve.adversary.name) == ("exp3", "stochastic") else regrets(curve, rounds)
        )

    assert judged(tmp_path, claim, absent) == ("NOT PLAYED", "no trial of EXP3, stochastic")


def test_results_of_another_experiment_decide_nothing(tmp_path):
    claim = "exp3 < exp3_tau"
    made = experiment(tmp_path, claim)
    folder = played(tmp_path / "small", made, means(exp3=100, exp3_tau=200))
    assert verdicts(folder, made)[0].verdict == "HOLDS"
    for old, new, why in (
        ("seed: 3", "seed: 4", "it was played with another seed"),
        ("horizon: 1000", "horizon: 2000", "it was played with another horizon"),
        ("  - exp3\n", "  - {name: exp3, gamma: 0.5}\n", "EXP3, stochastic was played with another algorithm.gamma"),
    ):
        found = verdicts(folder, experiment(tmp_path, claim, text=CONFIG.replace(old, new)))
        assert found[0].verdict == "NOT PLAYED" and why in found[0].figures
    assert verdicts(tmp_path / "none", made)[0].figures == "no results in none"
    (folder / "config.yaml").unlink()
    assert verdicts(folder, made)[0].verdict == "NOT PLAYED"


@pytest.mark.parametrize(("parameter", "verdict"), [("others", "HOLDS"), ("best", "NOT PLAYED")])
def test_results_may_lack_a_parameter_that_a_later_version_added_at_its_default(tmp_path, parameter, verdict):
    claim = "in stochastic: exp3 < exp3_tau"
    given = CONFIG.replace("adversary: [stochastic,", "adversary: [{name: stochastic, best: 0.7},")
    made = experiment(tmp_path, claim, text=given)
    folder = played(tmp_path / "small", made, means(exp3=100, exp3_tau=200))
    assert verdicts(folder, made)[0].verdict == "HOLDS"
    text = (folder / "summary.csv").read_text(encoding="utf-8")
    shortened, count = re.subn(rf'""{parameter}"": [0-9.]+, |, ""{parameter}"": [0-9.]+', "", text)
    (folder / "summary.csv").write_text(shortened, encoding="utf-8")
    assert count and verdicts(folder, made)[0].verdict == verdict


def test_a_single_trial_decides_nothing(tmp_path):
    made = experiment(tmp_path, "exp3 < exp3_tau", text=CONFIG.replace("trials: 9", "trials: 1"))
    folder = played(tmp_path / "small", made, means(exp3=100, exp3_tau=200), trials=range(2))
    rows = list(csv.reader((folder / "final.csv").read_text().splitlines()))
    column = rows[0].index("trial")
    with (folder / "final.csv").open("w", newline="") as file:
        csv.writer(file).writerows([row for row in rows if row[column] in ("trial", "0")])
    assert verdicts(folder, made)[0].verdict == "NOT DECIDED"


# ----------------------------------------------------------------------------------------------- the command


@pytest.fixture
def results(tmp_path):
    """Writes results/small and its config with the given claims."""

    def make(*claims, **how):
        made = experiment(tmp_path, *claims)
        (tmp_path / "results").mkdir(exist_ok=True)
        played(tmp_path / "results" / "small", made, means(exp3=100, exp3_tau=200), **how)
        return tmp_path / "results", "--config", tmp_path

    return make


@pytest.mark.parametrize(
    ("claims", "how", "code"),
    [
        (("exp3 < exp3_tau", "2 x exp3 < exp3_tau"), {}, 0),  # the second is not decided
        (("exp3 < exp3_tau", "exp3 > exp3_tau"), {}, 3),
        (("exp3 < exp3_tau",), {"trials": range(5)}, 1),
        (("exp3 < bound(exp3)",), {}, 1),  # no theorem
    ],
)
def test_check_exits_by_the_verdicts(results, claims, how, code):
    where = results(*claims, **how)
    assert call("check", *where).exit_code == code
    assert call("check", where[0] / "small", *where[1:]).exit_code == code


def test_check_prints_80_columns_and_json(results, tmp_path):
    where = results("exp3 < exp3_tau", "in stochastic, switching_costs: exp3 > exp3_tau")
    played(tmp_path / "results" / "other", experiment(tmp_path, "exp3 < exp3_tau", "exp3 > exp3_tau"), means())
    result = call("check", *where)
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "2 claims: 1 HOLDS, 1 FAILS, 0 NOT DECIDED, 0 NOT PLAYED" in result.stdout
    assert "without claims: other" in result.stdout
    made = json.loads(call("check", *where, "--json").stdout)
    assert made["counts"]["FAILS"] == 1 and made["without_claims"] == ["other"]
    keys = {"experiment", "claim", "source", "verdict", "figures", "note", "epsilon", "partial"}
    assert set(made["claims"][0]) == keys


def test_a_report_is_given_the_verdicts(results, tmp_path):
    where = results("exp3 < exp3_tau", "exp3 > exp3_tau")
    found = claims_on(where[0] / "small", where[2])
    assert [claim["verdict"] for claim in found] == ["HOLDS", "FAILS"]
    assert claims_on(where[0] / "small", tmp_path / "results") == []


def test_recorded_verdicts_are_compared_with_the_present_ones(results, tmp_path):
    where = results("exp3 < exp3_tau", "exp3 > exp3_tau")
    assert call("check", *where, "--recorded").exit_code == 2  # nothing is recorded
    assert call("check", *where, "--write").exit_code == 3
    table = (tmp_path / "results" / "CLAIMS.md").read_text()
    assert "`exp3 > exp3_tau` | **FAILS**" in table and "2 claims: 1 hold, 1 fail." in table
    result = call("check", *where, "--recorded")
    assert result.exit_code == 0 and "unchanged" in result.stdout
    results("exp3 < exp3_tau")
    result = call("check", *where, "--recorded")
    assert result.exit_code == 3 and "- | 2 | the paper | `exp3 > exp3_tau`" in result.stdout


def test_check_without_results_or_config_says_so(results, tmp_path):
    where = results("exp3 < exp3_tau")
    assert "run an experiment first" in call("check", tmp_path / "none", *where[1:]).stderr
    result = call("check", where[0] / "small", "--config", tmp_path / "results")
    assert result.exit_code == 2 and "name the config with claims by --config" in result.stderr
    result = call("check", where[0], "--config", tmp_path / "nowhere")
    assert result.exit_code == 2 and "give --config a config" in result.stderr
    (tmp_path / "small.yaml").write_text(CONFIG + "claims: [{claim: exp3 <, source: x}]\n")
    assert call("check", *where).exit_code == 2


def test_shipped_configs_replace_a_missing_folder_of_configs(results, tmp_path, monkeypatch):
    results("exp3 < exp3_tau")
    played(tmp_path / "results" / "fig1", experiment(tmp_path), means())
    made = yaml.safe_load((tmp_path / "results" / "fig1" / "config.yaml").read_text()) | {"experiment": "fig1"}
    (tmp_path / "results" / "fig1" / "config.yaml").write_text(yaml.safe_dump(made))
    monkeypatch.chdir(tmp_path)
    alone = call("check", "results/fig1")
    assert alone.exit_code == 3 and alone.stdout.startswith("fig1: ")  # claims about ε are judged without trials
    both = call("check")
    assert "fig1: " in both.stdout and "heavy_central" not in both.stdout
    assert both.stdout.endswith("without a config in configs: small\n")
    report = call("report", "results")
    assert report.stderr.splitlines()[0] == "no claims: configs has no config of results/small; name one by --config"


def test_check_says_that_a_folder_holds_a_smoke_run(results, tmp_path, monkeypatch):
    results("exp3 < exp3_tau")
    folder = tmp_path / "results" / "fig1-smoke"
    played(folder, experiment(tmp_path), means())
    made = yaml.safe_load((folder / "config.yaml").read_text()) | {"experiment": "fig1-smoke"}
    (folder / "config.yaml").write_text(yaml.safe_dump(made))
    monkeypatch.chdir(tmp_path)
    alone = call("check", "results/fig1-smoke")
    assert alone.exit_code == 2
    assert alone.stderr.startswith("results/fig1-smoke holds a smoke run, and claims are about the full experiment")
    line = "smoke runs, which no claim is about: fig1-smoke\n"
    assert call("check").stdout.endswith(f"without a config in configs: small\n{line}")
    assert call("check", "results/fig1-smoke", "--config", ROOT / "configs" / "fig1.yaml").stdout.endswith(line)
    assert "smoke" not in call("check", "results/small", "--config", "small.yaml").stdout


def test_every_shipped_claim_is_in_the_committed_table_and_explained():
    table = (committed() / "results" / "CLAIMS.md").read_text(encoding="utf-8")
    configs = {path.stem: keys_of(path) for path in (ROOT / "configs").glob("*.yaml")}
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    assert sum(len(made.claims) for made in configs.values()) == len(rows) >= 40
    for name, made in configs.items():
        if (committed() / "results" / name / "summary.csv").exists() and not name.startswith("smoke"):
            assert made.claims, name
        for claim in made.claims:
            found = [line for line in rows if f"| {claim.source} | `{claim.claim}` |" in line]
            assert found and all(claim.note or "HOLDS" in row or "NOT PLAYED" in row for row in found), claim.claim
            assert claim.note in table or all("NOT PLAYED" in row for row in found), claim.claim
