"""What a figure depends on is found by its imports."""

import shutil

import pytest

from privbandits_cli.figures import sources


@pytest.fixture
def package(tmp_path):
    """A copy of the package."""
    return shutil.copytree(sources.PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))


def drawing(package):
    return sources.modules(package, *sources.DRAWING)


def test_what_draws_is_found_through_its_imports(package):
    found = {file.relative_to(package).as_posix() for file in drawing(package)}
    assert {"figures/plot.py", "figures/table.py", "figures/prices.py", "figures/line.py"} <= found
    assert {"analysis/curves.py", "analysis/rates.py", "experiment/names.py", "numerics/types.py"} <= found
    assert not {
        name for name in found if name.startswith(("cli/", "report/", "claims/", "audit/", "actions/", "engine/"))
    }
    (package / "analysis" / "rates.py").write_text(
        "def rates():\n    from privbandits_cli.audit import (\n        evidence,\n    )"
    )
    assert package / "audit" / "evidence.py" in drawing(package)


@pytest.mark.parametrize(
    ("module", "drawn"), [("analysis/rates.py", True), ("experiment/names.py", True), ("report/page.py", False)]
)
def test_a_change_of_what_draws_changes_the_hash(finished, package, module, drawn):
    before = sources.figure_sources(finished, package)
    with (package / module).open("a") as file:
        file.write("# a change\n")
    assert (sources.figure_sources(finished, package) != before) == drawn


@pytest.mark.parametrize("module", ["algorithms/dp_ftrl.py", "adversaries/sphere_arms.py", "accounting/laplace.py"])
def test_players_and_their_accounting_are_sources_of_drawn_bounds_alone(finished, package, module):
    text = (finished / "manifest.json").read_text()
    assert text.count('"bounds": false') == 1
    for drawn in ("false", "true"):
        (finished / "manifest.json").write_text(text.replace('"bounds": false', f'"bounds": {drawn}'))
        before = sources.figure_sources(finished, package)
        with (package / module).open("a") as file:
            file.write("# a change\n")
        assert (sources.figure_sources(finished, package) != before) == (drawn == "true")


def test_the_data_and_the_names_are_sources(finished):
    before = sources.figure_sources(finished)
    text = (finished / "manifest.json").read_text()
    (finished / "manifest.json").write_text(text.replace('"complete": true', '"complete": false'))
    assert sources.figure_sources(finished) == before
    (finished / "manifest.json").write_text(text.replace("ε = ", "epsilon = "))
    assert sources.figure_sources(finished) != before
