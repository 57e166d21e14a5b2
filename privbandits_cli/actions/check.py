"""Configs and results -> the verdict on every claim, and the committed table of verdicts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privbandits_cli.analysis.folder import folders_at, read_config
from privbandits_cli.analysis.format import table
from privbandits_cli.claims.verdicts import Judgement, Verdict, verdicts
from privbandits_cli.experiment.config import SHIPPED, SMOKE, ConfigError, keys_of, load, shipped
from privbandits_cli.experiment.received import NOBODY, Trust, inside, printable

TABLE = "CLAIMS.md"
CONFIGS = Path("configs")  # the default; configs that it lacks are taken from those shipped with the package
ORDER: tuple[Judgement, ...] = ("HOLDS", "FAILS", "NOT DECIDED", "NOT PLAYED")


@dataclass(frozen=True)
class Checked:
    """An experiment and the verdicts on its claims."""

    name: str
    title: str
    source: str
    verdicts: list[Verdict]


def check(path: Path, config: Path, trust: Trust = NOBODY) -> tuple[list[Checked], list[str]]:
    """The verdicts of all experiments, and the names of the results folders about which no config makes a claim.

    path: a results folder, or a folder of results folders; config: a config, or a folder of configs; trust: the users'
    files that may be executed. ConfigError: a config is missing or has errors; Untrusted: one with claims needs files
    that are not trusted; ValueError: CSVs cannot be read.
    """
    if not config.exists() and config != CONFIGS:
        raise ConfigError([f"{config} does not exist: give --config a config with claims, or a folder of configs"])
    played = folders_at(path)
    if played == [path]:
        file = config_of(path, config)
        if not file.exists() and is_smoke(path):
            full = "claims are about the full experiment: run it without --smoke"
            raise ConfigError([f"{path} holds a smoke run, and {full}"])
        if not file.exists():
            raise ConfigError([f"{path}: its config {file} does not exist; name the config with claims by --config"])
        one = _checked(file, trust, path)
        return [one], [] if one.verdicts else [path.name]
    every = (_checked(file, trust, path, tree=True) for file in _files(played, config))
    checked = [one for one in every if one.verdicts]
    return checked, [folder.name for folder in played if folder.name not in {one.name for one in checked}]


def _files(played: Sequence[Path], config: Path) -> list[Path]:
    """The configs to check: those given; of those shipped with the package, only the ones that have results."""
    if config.is_dir():
        return sorted(config.glob("*.yaml"))
    if config.exists():
        return [config]
    return sorted({file for folder in played if (file := config_of(folder, config)).exists()})


def unknown(path: Path, names: Sequence[str], config: Path) -> list[str]:
    """The results folders among these names of whose experiment there is no config with claims."""
    return [name for name in names if not config_of(path / name, config).exists()]


def _checked(file: Path, trust: Trust, path: Path, tree: bool = False) -> Checked:
    """The claims of a config about a results folder, or about the one of its name in a tree of such folders."""
    keys = keys_of(file)
    folder = path / keys.experiment if tree else path
    trust.check(folder)
    found = verdicts(folder, load(file, include=trust.include, admit=trust.admit)) if keys.claims else []
    return Checked(keys.experiment, keys.title, keys.source, found)


def config_of(folder: Path, config: Path) -> Path:
    """The config with the claims about a results folder: the file given, or the one of its name in a folder.

    A config that is missing from the default folder is replaced by the shipped one of that name.
    """
    if not config.is_dir() and config != CONFIGS:
        return config
    name = _experiment(folder)
    here = config / f"{name}.yaml"
    return SHIPPED / here.name if config == CONFIGS and not here.exists() and name in shipped() else here


def _experiment(folder: Path) -> str:
    """The name of the experiment of a results folder, by its config, or else the folder's."""
    name = folder.resolve().name
    with suppress(OSError, ValueError):
        return str(read_config(folder).get("experiment", name))
    return name


def is_smoke(folder: Path) -> bool:
    """Whether a results folder holds a smoke run, the small version of an experiment."""
    return _experiment(folder).endswith(SMOKE)


def claims_on(folder: Path, config: Path, trust: Trust = NOBODY) -> list[dict[str, Any]]:
    """The verdicts on one results folder as plain data; none without a config. Raises what `check` raises."""
    file = config_of(folder, config)
    return [asdict(verdict) for verdict in _checked(file, trust, folder).verdicts] if file.is_file() else []


def counts(checked: Sequence[Checked]) -> dict[Judgement, int]:
    """The number of claims with each verdict."""
    found = Counter(verdict.verdict for one in checked for verdict in one.verdicts)
    return {name: found[name] for name in ORDER}


def as_data(checked: Sequence[Checked], silent: Sequence[str]) -> dict[str, Any]:
    """The verdicts as plain data."""
    rows = [{"experiment": one.name} | asdict(verdict) for one in checked for verdict in one.verdicts]
    return {"counts": counts(checked), "claims": rows, "without_claims": list(silent)}


HEAD = """\
# What the papers claim, and what was measured

{counts}.
`privbandits check results --write` writes this table from the CSVs beside it and the claims of `configs/`;
`make check-claims` fails if the table no longer follows from them.


Each verdict rests on a 95 % confidence interval for the mean regret over trials, joint over all panels and values that
the claim covers. Two sides are compared trial by trial (paired), because they share random numbers. Before the last
round only means and standard deviations are recorded, so both standard errors are added. The interval of the ratio, or
of the number itself, is given in parentheses. Such an interval is no proof if regrets have a heavy tail. So a verdict
must not change if one further trial is added, twice as far from the mean as any so far; before the last round, as any
that mean and deviation allow. If it does, the interval for regrets of any law between their known limits decides
(Anderson 1969), which often leaves a claim undecided. A slope is, to first order, the mean of one number for each
trial, and is judged like a mean. In best-arm games, the mean of the plays until the answer takes the place of the mean
regret. Shares of trials have the interval of Clopper & Pearson, and medians that of order statistics. If a claim covers
several panels or values, the figures are those of the one that decides the verdict. The worst gap is the one with the
highest mean in the same trials. The column ε lists the certified ε of the private algorithms that a claim names, if
that ε exceeds 20 and therefore promises no protection. The notes below each table explain the verdicts; a claim that
holds without a note holds as it is printed."""


def markdown(checked: Sequence[Checked]) -> str:
    """The committed table, as Markdown."""
    found = counts(checked)
    words = dict(zip(ORDER, ("hold", "fail", "are not decided", "were not run"), strict=True))
    counted = ", ".join(f"{n} {words[name]}" for name, n in found.items() if n)
    head = HEAD.format(counts=f"{sum(found.values())} claims: {counted}")
    return "\n".join([head, *(line for one in checked for line in _section(one))])


def _section(one: Checked) -> Iterator[str]:
    yield from ("", f"## {one.name}: {one.title}", "", f"{one.source}.", "")
    rows = []
    for i, verdict in enumerate(one.verdicts, 1):
        shown = f"**{verdict.verdict}**" if verdict.verdict == "FAILS" else verdict.verdict
        cells = (str(i), verdict.source, f"`{verdict.claim}`", shown, verdict.figures, verdict.epsilon)
        rows.append([cell.replace("|", "\\|") for cell in cells])
    yield table(["", "source", "claim", "verdict", "figures, interval, trials", "ε"], rows, numbers=0)
    played = [(i, verdict) for i, verdict in enumerate(one.verdicts, 1) if verdict.verdict != "NOT PLAYED"]
    notes = [f"{i}. {verdict.verdict}: {verdict.note}" for i, verdict in played if verdict.note]
    yield from ["", *notes] if notes else []


def changed(checked: Sequence[Checked], path: Path) -> list[str]:
    """The lines in which the recorded table differs, `-` as recorded, `+` as found; OSError if there is no table."""
    text = inside(path.parent, path.name).read_text(encoding="utf-8")
    recorded, found = printable(text).splitlines(), (markdown(checked) + "\n").splitlines()
    gone = [f"- {line}" for line in recorded if line not in found]
    return gone + [f"+ {line}" for line in found if line not in recorded]
