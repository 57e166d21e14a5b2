"""Theorems about curves that were read from a results folder; their players are made again from their parameters."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from privbandits_cli.analysis.folder import UNNAMED
from privbandits_cli.analysis.measured import AGAIN, Measured
from privbandits_cli.analysis.rates import LOWER_2023, LOWER_2025, Rate, Theory, pure_epsilon, theory
from privbandits_cli.analysis.stopping import least_times
from privbandits_cli.experiment.consistency import GAME
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.received import Trust
from privbandits_cli.experiment.settings import settings, sized
from privbandits_cli.games import bandit
from privbandits_cli.games.players import Adversary, Algorithm, Setting
from privbandits_cli.numerics.types import Floats
from privbandits_cli.plugins.registry import Registry


class Game(NamedTuple):
    """A config, which determines the game, and the registry of its players: theory depends on both."""

    config: Mapping[str, Any]
    registry: Registry
    trust: Trust  # without it, the theory of users' players is the one that the run has recorded


def theory_of(curve: Measured, rounds: Floats, game: Game) -> Theory | str:
    """What theorems say of a curve after `rounds`, which end at its last one; or why it is not known."""
    if curve.record.get("theory") is not None and not game.trust:
        known = _recorded(curve)
        return known if isinstance(known, str) else known.last(len(rounds))
    drawn = {"label", "panel"}
    sides = {name: {k: x for k, x in side.items() if k not in drawn} for name, side in curve.parameters.items()}
    try:
        opponent = game.registry.rebuilt("adversaries", {"name": curve.adversary} | sides["adversary"])
        algorithm = game.registry.rebuilt("algorithms", {"name": curve.algorithm} | sides["algorithm"])
    except KeyError as error:
        return f"{error.args[0]}.py is needed: --include FILE.py or --trust executes it"
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"the parameters of {curve.legend} cannot be read: {where}: {first['msg']}") from error
    assert isinstance(opponent, Adversary) and isinstance(algorithm, Algorithm)
    given = {key: game.config[key] for key in GAME if key in game.config}
    kinds: dict[str, type] = {"dimension": int, "set": str, "confidence": float}
    given |= {key: kind(curve.of_game[key]) for key, kind in kinds.items() if key in curve.of_game}
    keys = Keys.model_validate(UNNAMED | given | {"horizon": max(1, int(rounds[-1]))})
    setting = opponent.revealed(sized(opponent, settings(keys)[0]))
    if keys.game == "best_arm":
        return _of_answers(algorithm, opponent, setting)
    return theory(algorithm, opponent, setting, rounds)


def _of_answers(algorithm: Algorithm, opponent: Adversary, setting: Setting) -> Theory:
    """The lower bounds on the mean time of learners in the game best_arm that have the central privacy of this one."""
    playing = algorithm if algorithm.game == "best_arm" else algorithm.in_game("best_arm")
    epsilon = pure_epsilon(playing, setting)
    assert isinstance(opponent, bandit.Adversary)
    if playing.local or math.isinf(epsilon) or (found := least_times(opponent, setting, epsilon)) is None:
        return Theory(None, ())
    names = LOWER_2023, LOWER_2025
    return Theory(None, tuple(Rate(name, np.array([time])) for name, time in zip(names, found, strict=True)))


def _recorded(curve: Measured) -> Theory | str:
    """The theory that the run has recorded of a curve at its checkpoints, or why there is none."""
    record = curve.record["theory"]
    if isinstance(record, str):
        return record
    bound = None if record["bound"] is None else np.array(record["bound"], float)
    rates = tuple(Rate(rate["name"], np.array(rate["regret"], float), rate["epsilon"]) for rate in record["rates"])
    known = [rate.regret for rate in rates] + ([] if bound is None else [bound])
    if any(len(values) != len(curve.rounds) for values in known):
        raise ValueError(f"manifest.json and summary.csv are of different runs: {AGAIN}")
    return Theory(bound, rates)


def theory_between(
    curves: Sequence[Measured], known: Sequence[Theory], against: str, values: Floats, game: Game
) -> list[Theory] | None:
    """What theorems say at these values of a swept parameter of an algorithm, after the last round.

    known: what they say of the curves, which differ in this parameter. None if the values in between would need a
    further parameter to change, a user's file, or a number that is not in the manifest.
    """
    first = curves[0]
    if first.record.get("theory") is not None and not game.trust:
        return None
    if not isinstance(first.parameters["algorithm"].get(against), float):
        return None

    def at(value: float) -> Theory | str:
        algorithm = {**first.parameters["algorithm"], against: value}
        moved = replace(first, parameters={**first.parameters, "algorithm": algorithm})
        return theory_of(moved, np.array([max(first.rounds)], float), game)

    own = [float(curve.swept[against]) for curve in curves]
    if not all(_same(at(value), point) for value, point in zip(own, known, strict=True)):
        return None
    found = [at(value) for value in values.tolist()]
    return [point for point in found if isinstance(point, Theory)]


def _same(one: Theory | str, other: Theory) -> bool:
    """Whether two theories state the same numbers."""
    if isinstance(one, str) or (one.bound is None) != (other.bound is None):
        return False
    pairs = [(rate.regret, again.regret) for rate, again in zip(one.rates, other.rates, strict=False)]
    pairs += [] if one.bound is None or other.bound is None else [(one.bound, other.bound)]
    names = [[rate.name for rate in point.rates] for point in (one, other)]
    return names[0] == names[1] and all(np.array_equal(*pair, equal_nan=True) for pair in pairs)
