"""Names: the text that a reader sees, and its parts."""

import pytest

from privbandits_cli.experiment.names import Name, legends, symbol

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


def test_a_note_can_be_revised_and_taken_away():
    assert PARETO.revised({"v": "v = 1", "set": "", "none": "x"}) == "Pareto (heavy) (v = 1, gap = 0.1), central"


@pytest.mark.parametrize(
    ("label", "guarantee", "legend"),
    [
        (Name("A", {"guarantee": "ε = 8.298, δ = 1e-06"}), (8.2981, 1e-6), "A (ε = 8.299, δ = 1e-6)"),
        (Name("A", {"guarantee": "ε = 8.298"}), (8.2981, 0.0), "A (ε = 8.299)"),
        (Name("A, δ = 1e-6", {"guarantee": "ε = 8.298, δ = 1e-06"}), (8.2981, 1e-6), "A, δ = 1e-6 (ε = 8.299)"),
        (Name("A", {"delta": "delta = 0.1", "guarantee": "ε = 1, δ = 0.1"}), (1.0, 0.1), "A (ε = 1, δ = 0.1)"),
        (Name("A", {"delta": "delta = 0.2", "guarantee": "ε = 1"}), (1.0, 0.0), "A (delta = 0.2, ε = 1)"),
        (Name("A", {"guarantee": "no guarantee"}), None, "A (no guarantee)"),
        (Name("A", {"delta": "delta = 0.1"}), (1.0, 0.1), "A (delta = 0.1)"),  # not a private algorithm
    ],
)
def test_a_legend_rounds_up_and_names_delta_once(label, guarantee, legend):
    assert legends([label], [guarantee]) == [legend]


def test_legends_of_different_labels_differ():
    """Rounded up, both are 0.9551; rounded to the nearest, 0.955 and 0.9551."""
    near = [0.95504, 0.95506]
    labels = [Name("A", {"guarantee": f"ε = {epsilon:.4g}"}) for epsilon in near]
    assert legends(labels, [(epsilon, 0.0) for epsilon in near]) == ["A (ε = 0.95504)", "A (ε = 0.95506)"]
