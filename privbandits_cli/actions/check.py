"""Configs and results -> what came of every claim, and the table of it that is committed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from privbandits_cli.claims.verdicts import Judgement, Verdict, verdicts
from privbandits_cli.experiment import shipped
from privbandits_cli.experiment.config import ConfigError, Experiment, load

TABLE = "CLAIMS.md"
CONFIGS = Path("configs")  # where they are looked for unless said otherwise, and then among those shipped
ORDER: tuple[Judgement, ...] = ("HOLDS", "FAILS", "NOT DECIDED", "NOT PLAYED")


@dataclass(frozen=True)
class Checked:
    """An experiment whose claims were looked at."""

    name: str
    title: str
    source: str
    verdicts: list[Verdict]


def check(path: Path, config: Path) -> tuple[list[Checked], list[str]]:
    """The claims of all experiments, and the names of the results folders of which no config claims anything.

    path: one results folder, or the folder of them all; config: an experiment's, or the folder of them all; without a
    folder `configs` those shipped stand for it. Raises ConfigError of a faulty config or where one is missing,
    ValueError of CSVs that cannot be read.
    """
    if not config.exists() and config != CONFIGS:
        raise ConfigError([f"{config}: not there; name the config with the claims, or a folder of them, by --config"])
    if (path / "summary.csv").exists():
        found = [_only(path, config)]
        return [_checked(path, found[0])], [] if found[0].claims else [path.name]
    played = sorted(summary.parent.name for summary in path.glob("*/summary.csv"))
    if not played:
        raise ValueError(f"{path}: no summary.csv here or one folder below; run an experiment first")
    experiments = [load(file) for file in _files(path, played, config)]
    claiming = [experiment for experiment in experiments if experiment.claims]
    named = {experiment.keys.experiment for experiment in claiming}
    checked = [_checked(path / experiment.keys.experiment, experiment) for experiment in claiming]
    return checked, [name for name in played if name not in named]


def _files(path: Path, played: Sequence[str], config: Path) -> list[Path]:
    """The configs whose claims are looked at: those given; of those shipped only the ones that were played."""
    if config.is_dir():
        return sorted(config.glob("*.yaml"))
    if config.exists():
        return [config]
    return sorted({file for name in played if (file := _file(path / name, config)).exists()})


def unknown(path: Path, names: Sequence[str], config: Path) -> list[str]:
    """Of the results folders of these names those whose experiment has no config anywhere, where claims could stand."""
    return [name for name in names if not _file(path / name, config).exists()]


def _checked(folder: Path, experiment: Experiment) -> Checked:
    keys = experiment.keys
    return Checked(keys.experiment, keys.title, keys.source, verdicts(folder, experiment))


def _only(folder: Path, config: Path) -> Experiment:
    """The experiment of one results folder; ConfigError where its config is missing or faulty."""
    file = _file(folder, config)
    if not file.exists():
        raise ConfigError([f"{folder}: its claims would stand in {file}, which is not there: name it by --config"])
    return load(file)


def _file(folder: Path, config: Path) -> Path:
    """Where the claims on a results folder stand: the config given, or that of its name among those of a folder.

    Of `configs` that are not said otherwise, a shipped config stands for one that is missing.
    """
    if not config.is_dir() and config != CONFIGS:
        return config
    try:
        played = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
        name = str(played["experiment"])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        name = folder.resolve().name
    here = config / f"{name}.yaml"
    return shipped.FOLDER / here.name if config == CONFIGS and not here.exists() and name in shipped.names() else here


def claims_on(folder: Path, config: Path) -> list[dict[str, Any]]:
    """The verdicts on one results folder as plain data; none where no config claims anything. ConfigError: a fault."""
    file = _file(folder, config)
    return [asdict(verdict) for verdict in verdicts(folder, load(file))] if file.is_file() else []


def counts(checked: Sequence[Checked]) -> dict[Judgement, int]:
    """How many claims came out in which way."""
    found = Counter(verdict.verdict for one in checked for verdict in one.verdicts)
    return {name: found[name] for name in ORDER}


def as_data(checked: Sequence[Checked], silent: Sequence[str]) -> dict[str, Any]:
    """The same as plain data."""
    rows = [{"experiment": one.name} | asdict(verdict) for one in checked for verdict in one.verdicts]
    return {"counts": counts(checked), "claims": rows, "without_claims": list(silent)}


def markdown(checked: Sequence[Checked]) -> str:
    """The table that is committed, as Markdown."""
    return "\n".join([*_head(checked), *(line for one in checked for line in _section(one))])


def _head(checked: Sequence[Checked]) -> Iterator[str]:
    found = counts(checked)
    words = dict(zip(ORDER, ("hold", "fail", "are not decided", "are not played"), strict=True))
    told = ", ".join(f"{n} {words[name]}" for name, n in found.items() if n)
    yield "# What the papers say, and what came out"
    yield ""
    yield f"{sum(found.values())} claims: {told}."
    yield "Written by `privbandits check results --write` from the CSVs beside it and the claims of `configs/`;"
    yield "`make check-claims` says whether it still is what they say."
    yield ""
    yield "A verdict rests on an interval of 95 %, in common over all panels and values that a claim speaks of, of the"
    yield "mean regret over trials: of the difference trial by trial where both sides met the same games (paired), else"
    yield "of independent means (unpaired) or, of rounds before the last, with errors added. In parentheses stands the"
    yield "interval of the ratio, or of the number itself. Where a claim speaks of several panels or values, the"
    yield "figures are of the one on which the verdict rests. The worst gap is that of the highest mean, in the same"
    yield "trials. ε: what is certified of the private algorithms that a claim names, where that is above 20 and"
    yield "promises no protection. The notes say why a claim came out as it did; one that holds without a note holds as"
    yield "it is printed."


def _section(one: Checked) -> Iterator[str]:
    yield from ("", f"## {one.name}: {one.title}", "", f"{one.source}.", "")
    yield "| | where it is said | claim | verdict | figures, interval, trials | ε |"
    yield "|---:|---|---|---|---|---|"
    for i, verdict in enumerate(one.verdicts, 1):
        told = f"**{verdict.verdict}**" if verdict.verdict == "FAILS" else verdict.verdict
        cells = (str(i), verdict.source, f"`{verdict.claim}`", told, verdict.figures, verdict.epsilon)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    played = [(i, verdict) for i, verdict in enumerate(one.verdicts, 1) if verdict.verdict != "NOT PLAYED"]
    notes = [f"{i}. {verdict.verdict}: {verdict.note}" for i, verdict in played if verdict.note]
    yield from ["", *notes] if notes else []


def changed(checked: Sequence[Checked], path: Path) -> list[str]:
    """The lines that the recorded table has otherwise, `-` as recorded, `+` as found; OSError where there is none."""
    recorded, found = path.read_text(encoding="utf-8").splitlines(), (markdown(checked) + "\n").splitlines()
    gone = [f"- {line}" for line in recorded if line not in found]
    return gone + [f"+ {line}" for line in found if line not in recorded]
