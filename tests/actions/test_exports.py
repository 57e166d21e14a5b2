"""Regrets as one Parquet file, and the schema of the ledger."""

import csv
import json
import sys

import pytest

from privbandits_cli.actions.exports import ledger_schema
from privbandits_cli.analysis.folder import Block
from tests.cli import call
from tests.conftest import ROOT, some


def cells(name, file):
    with (ROOT / "results" / name / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_one_parquet_file_has_the_rows_of_all_csvs(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    names = ["heavy_very", "best_arm_budget"]
    path = tmp_path / "all.parquet"
    result = call("report", *(ROOT / "results" / name for name in names), "--parquet", path)
    rows = parquet.read_table(path).to_pylist()
    assert result.stdout == f"{path}: {len(rows):,} rows of 2 experiments\n"
    for name in names:
        for which in ("summary", "final"):
            own = [row for row in rows if (row["experiment"], row["table"]) == (name, which)]
            wanted = cells(name, f"{which}.csv")
            assert [row["curve"] for row in own] == [row["curve"] for row in wanted]
            assert [row["regret"] for row in own] == [float(row["regret"]) if row["regret"] else None for row in wanted]
    assert all((row["trial"] is None) == (row["table"] == "summary") for row in rows)
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("fig1", "--parquet fig1: a Parquet file ends in .parquet"),
        ("all.csv", "--parquet all.csv: a Parquet file ends in .parquet"),
        ("nowhere/all.parquet", "no such folder: nowhere"),
        ("/sys/all.parquet", "choose another place, or change its permissions"),
    ],
)
def test_a_file_of_another_kind_or_in_another_place_is_refused(tmp_path, monkeypatch, file, said):
    monkeypatch.chdir(tmp_path)
    result = call("report", ROOT / "results" / "heavy_scaling", "--parquet", file)
    assert result.exit_code == 2 and said in result.stderr and not list(tmp_path.iterdir())


def test_without_pyarrow_the_message_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = call("report", ROOT / "results" / "heavy_scaling", "--parquet", tmp_path / "x.parquet")
    assert result.exit_code == 2 and "pip install 'privbandits[tables]'" in result.stderr


@pytest.mark.parametrize(
    "words",
    some([["fig1"], ["fig1", "algorithms[1].epsilon=.inf"], ["linucb_rho"], ["heavy_local"]], ["heavy_local"]),
)
def test_the_ledger_is_as_its_schema_says(words):
    blocks = json.loads(call("privacy", ROOT / "configs" / f"{words[0]}.yaml", *words[1:], "--json").stdout)
    assert [Block.model_validate(block).model_dump() for block in blocks] == blocks
    schema = json.loads(call("schema", "--ledger").stdout)
    assert schema == json.loads(json.dumps(ledger_schema()))
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(blocks, schema)
    damaged = [block | {"upper": "much"} for block in blocks]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(damaged, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{key: x for key, x in block.items() if key != "bounds"} for block in blocks], schema)
