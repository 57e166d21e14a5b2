"""Tables with classes: formats, texts, scaling; every error in a file is reported with its location."""

import gzip
import json
import os
import re
import tracemalloc
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privbandits_cli.data import tables
from privbandits_cli.data.tables import MOST_CLASSES, MOST_TEXTS, READ_AS, labelled

FRAME = pd.DataFrame(
    {
        "size": [1.5, -2.0, 0.25, 4.0, 3.0],
        "colour": ["red", "blue", "red", "green", "blue"],
        "new": [True, False, True, True, False],
        "kind": ["b", "a", "c", "a", "b"],
    }
)
ROWS = [[1.5, 0, 0, 1, 1], [-2, 1, 0, 0, 0], [0.25, 0, 0, 1, 1], [4, 0, 1, 0, 1], [3, 1, 0, 0, 0]]


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A working directory."""
    monkeypatch.chdir(tmp_path)


def written(name, frame=FRAME):
    """The path of a table in the format of its name."""
    if name.endswith(".parquet"):
        frame.to_parquet(name)
    elif name.endswith(".npy"):
        np.save(name, frame.to_numpy(float))
    else:
        frame.to_csv(name, index=False)
    return name


@pytest.mark.parametrize("name", ["five.csv", "five.parquet"])
def test_texts_become_columns_and_the_target_classes(name):
    found = labelled(written(name), "kind")
    assert found.rows.tolist() == ROWS
    assert found.names == ("size", "colour = blue", "colour = green", "colour = red", "new")
    assert found.classes == ("a", "b", "c") and found.labels.tolist() == [1, 0, 2, 0, 1]


def test_the_target_may_be_any_column_of_any_kind():
    path = written("five.csv")
    assert labelled(path, 4).classes == ("a", "b", "c")
    assert labelled(path, "new").classes == ("False", "True")
    assert labelled(path, "size").labels.tolist() == [2, 0, 1, 4, 3]
    assert labelled(path, 3).names[-1] == "kind = c"


def test_an_array_has_columns_without_names():
    found = labelled(written("five.npy", pd.DataFrame(ROWS)), 5)
    assert found.rows.tolist() == [row[:4] for row in ROWS]
    assert found.names == ("1", "2", "3", "4") and found.classes == ("0.0", "1.0")


def test_an_array_with_named_columns():
    array = np.array([(1.0, 2, 0), (3.0, 4, 1)], [("x", float), ("y", int), ("kind", int)])
    np.save("named.npy", array)
    found = labelled("named.npy", "kind")
    assert found.rows.tolist() == [[1, 2], [3, 4]] and found.names == ("x", "y") and found.labels.tolist() == [0, 1]


def test_numbers_are_read_to_the_last_digit():
    x = np.random.default_rng(3).standard_normal(200)
    frame = pd.DataFrame({"x": x, "kind": x > 0})
    assert (labelled(written("x.csv", frame), "kind").rows[:, 0] == x).all()


@pytest.mark.parametrize("part", [2, tables.PART])
def test_scaled_rows_fill_the_unit_ball(monkeypatch, part):
    monkeypatch.setattr(tables, "PART", part)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(5, 9, 50), "b": rng.random(50), "same": 7.0, "kind": rng.integers(0, 2, 50)})
    found = labelled(written(f"{part}.csv", frame), "kind")
    scaled = (found.rows - found.low) * found.factor
    assert scaled.min() == 0 and (scaled[:, 2] == 0).all()
    assert np.sqrt((scaled**2).sum(1)).max() == pytest.approx(1, abs=1e-15)
    assert scaled[:, 0].max() == pytest.approx(scaled[:, 1].max())


def test_a_table_whose_features_never_change():
    found = labelled(written("same.csv", pd.DataFrame({"x": [2.0, 2.0], "kind": [0, 1]})), "kind")
    assert found.low == 2 and found.factor == 0


def test_a_file_that_changes_is_read_again():
    path = written("five.csv")
    assert len(labelled(path, "kind").rows) == 5
    written(path, FRAME[:4])
    assert len(labelled(path, "kind").rows) == 4


@pytest.mark.parametrize(("name", "place"), [("five.csv", 4), ("five.parquet", 4), ("five.npy", 2)])
def test_a_target_by_its_place_or_its_name_is_one_table(monkeypatch, name, place):
    path, reads = written(name, FRAME[["size", "new"]] if name == "five.npy" else FRAME), []
    read = tables.columns_of
    monkeypatch.setattr(tables, "columns_of", lambda path, wanted: [reads.append(path), read(path, wanted)][1])
    found = labelled(path, place)
    assert labelled(path, found.target) is found and reads == [path]


def lines(*some):
    """A CSV with these lines."""
    Path("t.csv").write_text("".join(f"{line}\n" for line in some))
    return "t.csv"


MANY = [f"name{i},{i % 2}" for i in range(MOST_TEXTS + 1)]
CLASSES = [f"1.5,{i}" for i in range(MOST_CLASSES, -1, -1)]
WRONG = {
    "t.csv: no column is called 'sort': `target` is one of x, kind": (["x,kind", "1,a", "2,b"], "sort"),
    "t.csv: no column is called '3': `target` is one of x, kind": (["x,kind", "1,a", "2,b"], 3),
    "t.csv: no column is called '0': `target` is one of x, kind": (["x,kind", "1,a", "2,b"], 0),
    "t.csv: every row has the class a: a game needs two or more": (["x,kind", "1,a", "2,a"], "kind"),
    "t.csv: there is no column beside the target 'kind'": (["kind", "a", "b"], "kind"),
    "t.csv: row 2 has no value in column 'x': fill it in, or leave the row out": (["x,kind", "1,a", ",b"], "kind"),
    "t.csv: row 1 has no finite number in column 'x'": (["x,kind", "inf,a", "2,b"], "kind"),
    "t.csv: row 2 has no value in column 'colour'": (["colour,kind", "red,a", ",b"], "kind"),
    "t.csv: row 2 has no value in column 'kind'": (["x,kind", "1,a", "2,"], "kind"),
    f"t.csv: column 'name' has {MOST_TEXTS + 1} different texts: group them, or leave it out: name": (
        ["name,kind", *MANY],
        "kind",
    ),
    f"t.csv: column 'kind' has {MOST_CLASSES + 1} different values: each is to name a class": (
        ["x,kind", *CLASSES],
        "kind",
    ),
    "t.csv: column 1 is an index of the rows: leave it out": (["row,x,kind", "0,3,a", "1,3,b", "2,4,a"], "kind"),
    "t.csv: column 1 is an index": ([",x,kind", "7,3,a", "1,3,b"], "kind"),
    "t.csv: the first line has numbers: replace them by the names of the columns, or, if it is a row, add": (
        ["5.1,setosa", "4.9,virginica", "5.5,setosa"],
        2,
    ),
    "t.csv: two features are called 'colour = red': rename a column": (
        ["colour,colour = red,kind", "red,1.5,a", "blue,2,b"],
        "kind",
    ),
    "t.csv: column 'x' ranges from -1e+308 to 1e+308: rescale it": (["x,kind", "1e308,a", "-1e308,b"], "kind"),
    "t.csv: column 'x' ranges from 0 to 1e-309: rescale it": (["x,kind", "1e-309,a", "0.0,b"], "kind"),
    "t.csv: column 1 is an index of the rows: leave": (["x,kind", "0.0,a", "1.0,b", "2.0,a"], "kind"),
    "t.csv: the file has no row": (["x,kind"], "kind"),
    "t.csv: Empty CSV file": ([], "kind"),
    "t.csv: CSV parse error: Row #3: Expected 2 columns, got 4": (["x,kind", "1,a", "1,2,3,4"], "kind"),
    "t.csv: CSV parse error: Row #3: Expected 2 columns, got 1: # end: a line has as many columns as the first; delete "
    "comments, and separators at the ends": (["x,kind", "1,a", "# end"], "kind"),
    "t.csv: there is a single column, 'x|kind': columns are separated by commas, semicolons or tabs": (
        ["x|kind", "1|a", "2|b"],
        "kind",
    ),
    "t.csv: the last column has no name: give one, or delete the separator": (["x,kind,", "1,a,", "2,b,"], "kind"),
    "t.csv: row 1 has '50%' in column 'x': write numbers like 12000 or 0.5, without commas and signs; here 0.5": (
        ["x,kind", "50%,a", "0.6,b", "0.7,b"],
        "kind",
    ),
    "t.csv: two columns are called 'x'": (["x,x ,kind", "1.5,1,a", "2,1,b"], "kind"),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_table_is_refused_with_the_place(message):
    some, target = WRONG[message]
    with pytest.raises(ValueError) as error:
        labelled(lines(*some), target)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("index", ["shuffled", "named"])
def test_the_index_of_a_data_frame_is_no_feature(index):
    """pandas writes an index that is not 0, 1, ... as a column."""
    kept = FRAME.sample(frac=1, random_state=1) if index == "shuffled" else FRAME.set_index(pd.Index(list("vwxyz")))
    with pytest.raises(ValueError, match="column 5 is an index of the rows"):
        labelled(written("index.parquet", kept), "kind")


def test_the_index_of_an_array_is_no_feature():
    with pytest.raises(ValueError, match="column 1 is an index of the rows"):
        labelled(written("five.npy", pd.DataFrame(ROWS).reset_index()), 6)


def test_three_classes_in_order_are_no_index():
    assert labelled(lines("x,kind", "1.5,0", "2,1", "2,2"), "kind").classes == ("0", "1", "2")


def test_categories_decimals_and_whole_numbers_of_any_order():
    frame = pd.DataFrame(
        {
            "price": [Decimal("1.10"), Decimal("2.20"), Decimal("0.35")],
            "colour": pd.Categorical(["red", "blue", "red"]),
            "kind": pd.Categorical([7, 3, 7]),
        }
    )
    found = labelled(written("mixed.parquet", frame), "kind")
    assert found.rows.tolist() == [[1.1, 0, 1], [2.2, 1, 0], [0.35, 0, 1]]
    assert found.classes == ("3", "7") and found.labels.tolist() == [1, 0, 1]
    np.save("big.npy", np.array([[5, 1], [3, 0], [9, 1]], ">i4"))
    assert labelled("big.npy", 2).rows.tolist() == [[5], [3], [9]]


def test_a_byte_order_mark_spaces_and_empty_lines_are_read():
    Path("bom.csv").write_text("\ufeffx, colour ,kind\n1.5, red,a\n\n2,red ,b\n\n")
    found = labelled("bom.csv", "kind")
    assert found.names == ("x", "colour = red") and found.rows.tolist() == [[1.5, 1], [2, 1]]


def test_a_column_whose_name_is_a_number_can_be_the_target():
    frame = FRAME.rename(columns={"kind": "2020"})
    assert labelled(written("years.parquet", frame), 2020).target == "2020"


def test_one_long_text_takes_no_room_in_other_rows():
    frame = pd.DataFrame({"text": ["a"] * 9999 + ["b" * 100_000], "kind": [0, 1] * 5000})
    path = written("long.csv", frame)
    labelled(written("short.csv", frame[:4]), "kind")
    tracemalloc.start()
    labelled(path, "kind")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6  # as wide texts of NumPy, 4 GB


def test_other_formats_and_folders_are_refused():
    Path("t.txt").write_text("x,kind\n1,a\n2,b\n")
    os.mkdir("t.csv")
    np.save("flat.npy", np.zeros(3))
    np.save("none.npy", np.zeros((3, 0)))
    np.save("nested.npy", np.zeros(3, [("x", float, 2), ("kind", int)]))
    Path("empty.npy").write_bytes(b"")
    Path("broken.npy").write_text("x")
    np.save("objects.npy", np.array([{"x": 1}, 2], object), allow_pickle=True)
    np.savez("all.npz", np.zeros((3, 2)))
    os.link("all.npz", "all.npy")
    Path("broken.parquet").write_text("x")
    Path("latin.csv").write_bytes("x,kind\n1,é\n2,b\n".encode("latin-1"))
    for path, message in (
        (
            "t.txt",
            "t.txt: tables are read from .csv, .tsv, .jsonl (these three also with .gz), .arff, .parquet or .npy files",
        ),
        ("t.csv", "t.csv: a folder, a pipe or a device"),
        ("flat.npy", "flat.npy: an array of shape (3,), float64"),
        ("none.npy", "none.npy: an array of shape (3, 0), float64"),
        ("nested.npy", "nested.npy: column 'x' holds float64 values"),
        ("empty.npy", "empty.npy: not an array of numbers"),
        (
            "broken.npy",
            "broken.npy: not an array of numbers, or not all of it: save one by `np.save('broken.npy', np.arr",
        ),
        ("objects.npy", "objects.npy: not an array of numbers, or not all of it: save one by `np.save("),
        ("all.npy", "all.npy: not an array of numbers, or not all of it: save one by `np.save("),
        ("all.npz", f"all.npz: {READ_AS}: rename it if it is one of these, or save it as one"),
        ("broken.parquet", "broken.parquet: "),
        ("latin.csv", "latin.csv: it is not UTF-8 text (line 2 has the byte 0xe9, as in Latin-1): save it as UTF-8"),
    ):
        with pytest.raises(ValueError) as error:
            labelled(path, "kind")
        assert str(error.value).startswith(message)
    with pytest.raises(FileNotFoundError):
        labelled("none.csv", "kind")


@pytest.mark.parametrize("name", ["FIVE.CSV", "five.tsv", "five.csv.gz", "five.TSV.GZ", "five.jsonl", "five.ndjson.gz"])
def test_text_files_of_other_formats_are_one_table(name):
    if "json" in name.lower():
        FRAME.to_json(name, orient="records", lines=True)
    else:
        text = FRAME.to_csv(index=False, sep="\t" if "tsv" in name.lower() else ";").encode()
        Path(name).write_bytes(gzip.compress(text) if name.lower().endswith("gz") else text)
    found = labelled(name, "kind")
    assert found.rows.tolist() == ROWS and found.classes == ("a", "b", "c")
    assert found.names == ("size", "colour = blue", "colour = green", "colour = red", "new")


STRAYS = {
    "row 3 has '?' in column 'x', where numbers are expected": ["1", "2.5", "?", "4"],
    "row 1 has 'n.a.' in column 'x', where numbers are expected": ["n.a.", "1", "n.a.", "1"],
    "row 2 has '0,5' in column 'x': write numbers like 12000 or 0.5, without": ["0.3", "0,5", "1", "0.7"],
    "row 1 has '0,3' in column 'x': write numbers like 12000 or 0.5, without": ["0,3", "0,5", "0,7", "1,5"],
    "row 3 has '-' in column 'x', where numbers are expected": ["0", "0", "-", "none"],
    "row 4 has '12,000' in column 'x'": ["900", "950", "999", "12,000"],
    "row 1 has '5%' in column 'x'": ["5%", "7 %", "-3%", "5%"],
    "row 2 has '$3.50' in column 'x'": ["3", "$3.50", "4", "5"],
    "row 4 has '\u22120.1' in column 'x': write numbers like 12000 or 0.5, without": ["3", "1", "4", "\u22120.1"],
    "row 3 has '1e-3x' in column 'x'": ["1e-3", "-.5", "1e-3x", "2."],
}


def test_numbers_with_a_unit_are_no_features():
    """More than 20 texts that begin with a number and end in the same word; few of them may be names."""
    for n, word in ((30, "kg"), (20, None)):
        frame = pd.DataFrame({"x": [f"0.{i + 10} kg" for i in range(n)], "kind": list("ab") * (n // 2)})
        written(f"{n}.csv", frame)
        if word is None:
            labelled(f"{n}.csv", "kind")
            continue
        with pytest.raises(ValueError, match="in column 'x': write the numbers without 'kg'"):
            labelled(f"{n}.csv", "kind")


@pytest.mark.parametrize("format", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("message", STRAYS)
def test_a_stray_text_among_numbers_is_no_feature(message, format):
    frame = pd.DataFrame({"x": STRAYS[message], "y": [0.5, 0.1, 0.2, 0.3], "kind": list("abab")})
    if format == "jsonl":
        values = [json.loads(x) if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", x) else x for x in STRAYS[message]]
        rows = [{"x": x, "y": y, "kind": k} for x, y, k in zip(values, frame["y"], frame["kind"], strict=True)]
        Path("stray.jsonl").write_text("\n".join(map(json.dumps, rows)))
    else:
        written(f"stray.{format}", frame)
    with pytest.raises(ValueError) as error:
        labelled(f"stray.{format}", "kind")
    assert str(error.value).startswith(f"stray.{format}: {message}")


def test_texts_that_are_not_mostly_numbers_are_features():
    sizes = ["S", "M", "L", "38", "12a", "18-25"]
    frame = pd.DataFrame({"size": sizes, "version": ["1.2.3", "1.2.4"] * 3, "kind": ["5%", "10%"] * 3})
    found = labelled(written("sizes.csv", frame), "kind")
    assert len(found.names) == 8 and found.classes == ("10%", "5%")
    frame = pd.DataFrame({"code": ["1", "2", "10"] * 2, "kind": list("ab") * 3})
    assert labelled(written("codes.parquet", frame), "kind").names == ("code = 1", "code = 10", "code = 2")


def test_a_stray_class_among_numbers_is_refused():
    frame = pd.DataFrame({"x": [0.5, 0.1, 0.7, 0.2], "kind": ["1", "2", "?", "1"]})
    with pytest.raises(ValueError, match=r"row 3 has '\?' in column 'kind', where numbers are expected"):
        labelled(written("kinds.csv", frame), "kind")
    assert labelled(written("two.csv", frame[1:3]), "kind").classes == ("2", "?")


def test_a_quoted_NA_is_a_name_and_a_bare_one_is_missing():
    assert labelled(lines("x,kind", '1.5,"NA"', "2,EU"), "kind").classes == ("EU", "NA")
    with pytest.raises(ValueError, match="NA, null and the like are read as missing, and as texts in quotes"):
        labelled(lines("x,kind", "1.5,NA", "2,EU"), "kind")
    with pytest.raises(ValueError, match="row 2 has no value in column 'kind'"):
        labelled(lines("x,kind", "1.5,EU", '2,""', "3,US"), "kind")


def test_features_are_chosen():
    path = written("days.parquet", FRAME.assign(day=pd.to_datetime(["2026-01-01"] * 5), row=range(5)))
    found = labelled(path, "kind", ["new", "size"])
    assert found.names == ("new", "size") and found.rows.tolist() == [[row[4], row[0]] for row in ROWS]
    assert labelled(path, "kind", ["row"]).rows[:, 0].tolist() == [0, 1, 2, 3, 4]  # a column that was chosen may count
    for message, features in (
        (
            "no column of features is called 'age': `features` are of 'size', 'colour', 'new', 'day', 'row'",
            ["size", "age"],
        ),
        ("no column of features is called 'kind'", ["kind"]),
        ("there is no column beside the target", []),
        ("column 'day' holds datetime64", ["day"]),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            labelled(path, "kind", features)


def test_names_that_are_numbers_are_names_if_the_target_is():
    frame = pd.DataFrame({0: [0.5, 0.1], 1: [2.5, 3.5], "kind": ["a", "b"]})
    assert labelled(written("pandas.csv", frame), "kind").names == ("0", "1")


def test_wrong_lines_of_json_are_refused():
    for text, message in (
        ('[{"x": 1, "kind": "a"}, {"x": 2, "kind": "b"}]', "t.jsonl:1: write an object on each line, like"),
        ('{"x": 1, "kind": "a"}\n{"x": 2,', "t.jsonl:2: write an object on each line"),
        ('{"x": 1, "kind": "a"}\n\n{"x": 2}', "t.jsonl: row 2 has no value in column 'kind'"),
        ('{"x": 1, "kind": "a"}\n{"x": 2, "kind": "b", "y": 1}', "t.jsonl: row 2 has a column 'y', which the first"),
        ('{"x": [1], "kind": "a"}\n{"x": [2], "kind": "b"}', "t.jsonl: column 'x' holds list values"),
        ('{"x": 1, "kind": "a"}\n{"x": {}, "kind": "b"}', "t.jsonl: column 'x' holds dict values"),
        ("", "t.jsonl: the file has no row"),
    ):
        Path("t.jsonl").write_text(text)
        with pytest.raises(ValueError) as error:
            labelled("t.jsonl", "kind")
        assert str(error.value).startswith(message)


def test_encodings_and_torn_files_are_named():
    excel = "x,kind\n1,a\n2,b\n"
    for name, data, message in (
        ("t.csv", excel.encode("utf-16"), "it is not UTF-8 text (UTF-16, as Excel and PowerShell write it)"),
        ("t.tsv", excel.encode("utf-16-le"), "it is not UTF-8 text (line 1 has a zero byte, as UTF-16 has)"),
        ("t.csv", "größe,kind\n".encode("latin-1"), "it is not UTF-8 text (line 1 has the byte 0xf6, as in Latin-1)"),
        ("t.csv", "x,kind\n1,€".encode()[:-1], "it is not UTF-8 text (line 2 has the byte 0xe2"),
        ("t.csv.gz", excel.encode(), "not a whole file that gzip made"),
        ("t.csv", gzip.compress(excel.encode()), "it is not UTF-8 text (compressed by gzip, whose files end in .gz)"),
        ("t.csv", b"PK\x03\x04...", "it is not UTF-8 text (a zip archive, as .xlsx files are)"),
    ):
        Path(name).write_bytes(data)
        with pytest.raises(ValueError) as error:
            labelled(name, "kind")
        assert str(error.value).startswith(f"{name}: {message}")


def test_dates_are_refused():
    frame = FRAME.assign(day=pd.to_datetime(["2026-01-01"] * 5))
    with pytest.raises(ValueError, match=r"column 'day' holds datetime64.* values: make them numbers or texts"):
        labelled(written("days.parquet", frame), "kind")


def test_without_pyarrow_the_message_says_what_to_install(monkeypatch):
    path = written("five.csv")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ValueError, match="pip install pyarrow"):
        labelled(path, "kind")
