"""Names: the text that a reader sees, and its parts."""

from privbandits_cli.experiment.names import Name, symbol

PARETO = Name("Pareto (heavy)", {"v": "v = 0.5", "gap": "gap = 0.1"}, {}, {"set": "cube"}, suffix="central")


def test_a_name_is_its_text():
    assert PARETO == "Pareto (heavy) (v = 0.5, gap = 0.1) (cube), central"
    assert PARETO.lines == "Pareto (heavy)\n(v = 0.5, gap = 0.1)\n(cube), central"
    assert Name("Pareto") == Name("Pareto", {}) == Name("Pareto").lines == "Pareto"


def test_notes_go_by_their_parameter():
    assert PARETO.without({"gap"}) == "Pareto (heavy) (v = 0.5) (cube), central"
    assert PARETO.without({"gap", "v", "set"}) == "Pareto (heavy), central"
    assert PARETO.without({"heavy", "cube"}) == PARETO
    assert PARETO.noted({"dimension": "N = 2"}) == "Pareto (heavy) (v = 0.5, gap = 0.1) (cube, N = 2), central"
    assert Name("Pareto (heavy)").noted({"dimension": "N = 2"}) == "Pareto (heavy) (N = 2)"
    assert Name("A", {"x": "x = 1"}).bracketed({"y": "y = 2"}).suffixed("") == "A (x = 1) (y = 2)"


def test_parameters_in_the_fields_symbols():
    assert [symbol(name) for name in ("epsilon", "base.gamma", "penalty_observed")] == [
        "ε",
        "base γ",
        "penalty observed",
    ]
    name = Name("A", {"gamma": "gamma = 0.1", "guarantee": "ε = 1"}, {"base.eta": "base.eta = 2"}, suffix="gamma = 3")
    assert name.in_symbols() == "A (γ = 0.1, ε = 1) (base η = 2), gamma = 3"  # what a user wrote stays
    assert PARETO.in_symbols() == PARETO
