"""ro-crate-metadata.json: what RO-Crate 1.1 demands, and the truth about the files."""

import hashlib
import json
from datetime import datetime
from urllib.parse import unquote

import pytest

from privbandits_cli.analysis.crate import CRATE, crate
from privbandits_cli.experiment.received import inside
from privbandits_cli.figures import write
from tests.cli import call
from tests.conftest import committed
from tests.test_results import COMMITTED

pytestmark = pytest.mark.usefixtures("no_figure")


def checked(folder):
    """The entities of a folder's crate by their ids, after the checks of the specification."""
    data = json.loads((folder / CRATE).read_text(encoding="utf-8"))
    assert data.keys() == {"@context", "@graph"} and data["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = {entity["@id"]: entity for entity in data["@graph"]}
    assert len(entities) == len(data["@graph"]) and all("@type" in entity for entity in data["@graph"])
    assert entities[CRATE]["@type"] == "CreativeWork" and entities[CRATE]["about"] == {"@id": "./"}
    assert entities[CRATE]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = entities["./"]
    assert root["@type"] == "Dataset" and root["name"] and root["description"] and root["license"]
    assert datetime.fromisoformat(root["datePublished"]).tzinfo is not None
    referred = [value["@id"] for entity in data["@graph"] for value in _references(entity)]
    assert {name for name in referred if not name.startswith("https:")} <= entities.keys()
    files = [entity for entity in data["@graph"] if entity["@type"] == "File"]
    assert [{"@id": file["@id"]} for file in files] == root["hasPart"] and files
    for file in files:
        content = inside(folder, unquote(file["@id"])).read_bytes()
        assert file["contentSize"] == str(len(content)) and file["sha256"] == hashlib.sha256(content).hexdigest()
        assert "/" in file["encodingFormat"] and file["name"] and file["description"]
    return entities


def _references(entity):
    for value in entity.values():
        yield from [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]


@pytest.mark.parametrize("name", [name for name, _ in COMMITTED])
def test_the_crate_of_a_committed_figure_is_true(name):
    folder = committed() / "results" / name
    made, entities = json.loads((folder / "manifest.json").read_text(encoding="utf-8")), checked(folder)
    every = {"config.yaml", "summary.csv", "final.csv", f"{name}.pdf", f"{name}.png", f"{name}.svg", "manifest.json"}
    every |= {"stopping.csv"} if made["config"]["game"] == "best_arm" else set()
    assert {entity["name"] for entity in entities.values() if entity["@type"] == "File"} == every
    assert entities["#run"]["endTime"] == made["ended"] == entities["./"]["datePublished"]
    assert entities["#run"]["name"] == " ".join(made["command"])
    assert entities["#privbandits"]["softwareVersion"] == made["versions"]["privbandits"]


def test_a_run_writes_its_crate_and_a_new_picture_renews_it(finished):
    before = checked(finished)
    assert before["#run"]["object"] == [{"@id": "config.yaml"}] and "#paper" not in before
    picture = finished / "small.png"
    picture.write_bytes(b"")
    with pytest.raises(AssertionError):
        checked(finished)
    named = finished.rename(finished.parent / "small")
    write.write(named, write.kind("regret"), ["png"])
    assert checked(named) == before
    assert (named / CRATE).read_text(encoding="utf-8") == crate(named)


@pytest.mark.slow
def test_the_crate_has_the_users_files_and_that_of_a_shard_has_no_csvs(small, tmp_path):
    mine = tmp_path / "mine.py"
    assert call("new", "algorithm", mine).exit_code == 0
    words = ["run", small, "--include", mine, "algorithms=mine", "trials=4", "--results", tmp_path]
    assert call(*words).exit_code == call(*words, "--shard", "1/2").exit_code == 0
    whole, part = checked(tmp_path / "small"), checked(tmp_path / "small-shard-1-of-2")
    assert {"@id": "included/mine.py"} in whole["#run"]["object"] and "summary.csv" in whole
    assert {"experiment.yaml", "included/mine.py", "manifest.json"} <= part.keys() and "summary.csv" not in part


def test_a_lost_record_of_the_run_is_no_reason_to_have_no_crate(finished, small):
    made = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    kept = {key: value for key, value in made.items() if key not in ("command", "started", "ended")}
    (finished / "manifest.json").write_text(json.dumps(kept), encoding="utf-8")
    (finished / CRATE).write_text(crate(finished), encoding="utf-8")
    assert "startTime" not in checked(finished)["#run"]
    (finished / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="does not describe a run: run the experiment again"):
        crate(finished)
