"""The JSON schema that editors read."""

import json

from privbandits_cli.experiment.schema import schema
from tests.conftest import ROOT


def test_the_committed_schema_is_the_generated_one():
    committed = json.loads((ROOT / "configs" / "experiment.schema.json").read_text())
    assert committed == json.loads(json.dumps(schema())), "run `make schema`"


def test_the_schema_knows_every_name_and_key():
    made = schema()
    assert set(made["required"]) == {"experiment", "horizon", "trials", "adversary", "algorithms"}
    assert "dp_exp3_lap" in made["$defs"]["algorithms"]["anyOf"][0]["enum"]
    assert made["$defs"]["exp3_tau"]["properties"]["tau"]["description"]
    references = {word for word in json.dumps(made).split('"') if word.startswith("#/$defs/")}
    assert all(reference.removeprefix("#/$defs/") in made["$defs"] for reference in references)
