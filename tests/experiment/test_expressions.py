"""The text of claims: the grammar, and errors at their positions in the text and in the config."""

import re

import pytest

from privbandits_cli.claims import quantities
from privbandits_cli.experiment import expressions
from privbandits_cli.experiment.config import ConfigError, load
from privbandits_cli.experiment.expressions import ClaimError, Condition, Side, parse
from privbandits_cli.experiment.plan import make_plan
from tests.claims.test_verdicts import CONFIG, experiment

LEADING = " or ".join(f"{name}(...)" for name, quantity in expressions.QUANTITIES.items() if quantity.against)


def test_a_claim_is_read():
    found = parse("at round 2^18, the worst gap, epsilon >= 0.5 in C2, 'a b': 3 x dp_ftrl[nodes=gaussian] <= 6 x ftrl")
    assert found.scope.round == (2**18, 3) and found.scope.worst == ("gap", 25)
    assert found.scope.where == (Condition("epsilon", ">=", 0.5, 30),)
    assert [name for name, _ in found.scope.panels] == ["C2", "a b"]
    assert found.limits == ((2.0, "<="),) and found.left.quantity == found.right.quantity == "final"
    assert found.left.curve.where == (Condition("nodes", "=", "gaussian", 71),)


@pytest.mark.parametrize(
    ("text", "limits", "left", "right"),
    [
        ("a > b", ((1.0, ">"),), "final", "final"),
        ("a within 15% of b", ((0.85, ">="), (1.15, "<=")), "final", "final"),
        ("slope(a, c) in 0.5 +- 0.1", ((0.4, ">="), (0.6, "<=")), "slope", "number"),
        ("slope(a) > -0.5", ((-0.5, ">"),), "slope", "number"),
        ("slope(a) in -1 +- 0.25", ((-1.25, ">="), (-0.75, "<=")), "slope", "number"),
        ("2 x slope(a) in -1 to -.5", ((-0.5, ">="), (-0.25, "<=")), "slope", "number"),
        ("a in 1 to 2", ((1.0, ">="), (2.0, "<=")), "final", "number"),
        ("final(a) <= bound(a)", ((1.0, "<="),), "final", "bound"),
        ("2 x a <= 3 x lower_bound(b)", ((1.5, "<="),), "final", "lower_bound"),
        ("cvar(a) <= 2 x final(b)", ((2.0, "<="),), "cvar", "final"),
        ("epsilon('It''s A') <= 1", ((1.0, "<="),), "epsilon", "number"),
        ("in all: a < 1e3", ((1000.0, "<"),), "final", "number"),
    ],
)
def test_each_form_is_read(text, limits, left, right):
    found = parse(text)
    assert (found.left.quantity, found.right.quantity) == (left, right)
    assert [pytest.approx(limit) for limit, _ in limits] == [limit for limit, _ in found.limits]
    assert [relation for _, relation in limits] == [relation for _, relation in found.limits]
    assert text.startswith("in all") <= (found.scope.panels == ())


def test_a_doubled_quote_is_one_and_a_slope_may_name_its_panel():
    assert parse("'It''s A' < b").left.curve.name == "It's A"
    assert parse("slope(a, c) < 1").scope.panels == (("c", 9),)
    assert parse("slope(a) < slope(b)").right == Side("slope", parse("a < b").right.curve.__class__("b", at=17))


def test_every_quantity_of_the_grammar_can_be_computed():
    assert quantities.ESTIMATORS.keys() == {*expressions.QUANTITIES, expressions.NUMBER} - {"epsilon"}
    for known in expressions.QUANTITIES.values():
        assert {*known.against} <= quantities.ESTIMATORS.keys()


@pytest.mark.parametrize(
    ("text", "at", "message"),
    [
        ("a <", 3, "expected an algorithm or a 'label' here, found the end"),
        ("a $ b", 2, "'$' has no meaning in a claim"),
        ("'a < b", 0, "this quote is not closed"),
        ("a within 5 of b", 11, "expected '%' here, found of"),
        ("3 < a", 0, f"a claim begins with a curve or {LEADING}"),
        ("slope(a) < b", 11, "slope(...) can only be compared with a number or slope(...)"),
        ("a < cvar(b)", 4, "final(...) can only be compared with a number or final(...) or bound(...) or lower_bo"),
        ("epsilon(a) < epsilon(b)", 13, "epsilon(...) can only be compared with a number"),
        ("lower_bound(a) < b", 0, f"a claim begins with a curve or {LEADING}"),
        ("slope(a) < lower_bound(b)", 11, "slope(...) can only be compared with a number or slope(...)"),
        ("in c in d: a < b", 5, "a second 'in': join the two with a comma"),
        ("at round x: a < b", 9, "expected a round here, found x"),
        ("at epsilon 3: a < b", 11, "expected '=' or '<=' or '>=' here, found 3"),
        ("a < b c", 6, "expected the end here, found c"),
        ("cvr(a) < b", 0, "there is no quantity 'cvr', did you mean 'cvar'?"),
        ("a < 2 x regret(b)", 8, "there is no quantity 'regret' (known: final, cvar, slope, "),
        ("a < 0 x b", 4, "a factor must be positive"),
        ("a < -2 x b", 4, "a factor must be positive"),
        ("a within -5% of b", 9, "expected a percentage here, found -5"),
        ("slope(a) in 0.5 +- -0.1", 19, "expected a number here, found -0.1"),
        ("at round -5: a < b", 9, "expected a round here, found -5"),
        ("in c: slope(a, d) < 1", 15, "the panel is named twice"),
    ],
)
def test_an_error_in_a_claim_is_reported_at_its_position(text, at, message):
    with pytest.raises(ClaimError, match=re.escape(message)) as caught:
        parse(text)
    assert caught.value.at == at


@pytest.mark.parametrize(
    ("claim", "caret", "message"),
    [
        ("exp < exp3", "exp <", "this experiment has no algorithm 'exp', did you mean 'exp3'?"),
        ("'EXP4' < exp3", "'EXP4'", "this experiment has no label 'EXP4', did you mean 'EXP3'?"),
        ("in stochastik: exp3 < exp3_tau", "stochastik", "has no panel 'stochastik', did you mean 'stochastic'?"),
        (
            "at round 100: exp3 < exp3_tau",
            "round",
            "round 100 is not a checkpoint; the nearest checkpoints are 250, 500, 75",
        ),
        ("dp_exp3_lap[epsilon=3] < exp3", "epsilon", "no curve has epsilon = 3; the values are 1, 2"),
        ("exp3[tau=3] < exp3", "tau", "no curve has a parameter 'tau'"),
        ("at the worst gap: exp3 < exp3_tau", "gap", "this experiment does not sweep a parameter 'gap'"),
        ("at gap = 3: exp3 < exp3_tau", "gap", "no curve has a parameter 'gap'"),
        (
            "at round 500: cvar(exp3) < 1",
            "round",
            "cvar(...) needs single trials, which are recorded after the last round only: leave out the round",
        ),
        ("at round 500: slope(exp3) < 1", "round", "a slope is fitted to several points, so it has no round"),
    ],
)
def test_a_claim_that_does_not_fit_its_experiment_is_reported_at_its_position(tmp_path, claim, caret, message):
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG + f'claims:\n  - claim: "{claim}"\n    source: x\n  - {{claim: exp3 <, source: x}}\n')
    with pytest.raises(ConfigError) as caught:
        load(path)
    first, second = caught.value.errors
    line, column = f'  - claim: "{claim}"', len('  - claim: "') + claim.index(caret)
    head, shown, pointer = first.splitlines()
    assert head.startswith(f"{path}:15:{column + 1}: ") and message in head
    assert shown == f"    {line}" and pointer == " " * (column + 4) + "^"
    assert ":17:" in second


def test_a_name_that_matches_several_entries_needs_parameters_or_a_label(tmp_path):
    text = CONFIG.replace("  - exp3_tau\n", "  - {name: exp3_tau, tau: 3}\n  - {name: exp3_tau, tau: 9, label: long}\n")
    with pytest.raises(ConfigError, match="'exp3_tau' is 2 entries of this experiment: select one"):
        experiment(tmp_path, "exp3_tau < exp3", text=text)
    assert experiment(tmp_path, "exp3_tau[tau=3] < exp3", "long < exp3".replace("long", "'long'"), text=text).claims


def test_claims_change_neither_keys_nor_the_resolved_config(tmp_path):
    without, claiming = experiment(tmp_path), experiment(tmp_path, "exp3 < exp3_tau")
    assert claiming.resolved() == without.resolved() and claiming.given == without.given
    assert [c.key for c in make_plan(claiming).curves] == [c.key for c in make_plan(without).curves]
    path = tmp_path / "small.yaml"
    assert load(path).claims and not load(path, ["trials=12"]).claims  # an override makes it another experiment
    assert not load(path, ["algorithms=[exp3]"]).claims and not load(path, smoke=True).claims
    with pytest.raises(ConfigError, match="override 'claims"):
        load(path, ["claims[0].claim=exp3 <"])
