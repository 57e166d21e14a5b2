"""Every adversary in every setting with the algorithms tuned for it, as far as they can play."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from privbandits_cli.data.files import PlaysActions
from privbandits_cli.experiment.document import Error, Loc, dotted
from privbandits_cli.experiment.errors import ENOUGH
from privbandits_cli.experiment.keys import Keys
from privbandits_cli.experiment.settings import listed, settings, sized
from privbandits_cli.experiment.variants import Variant
from privbandits_cli.games import bandit, best_arm, linear
from privbandits_cli.games.guards import check_promise
from privbandits_cli.games.parameters import Parameters
from privbandits_cli.games.players import Adversary, Algorithm, Setting
from privbandits_cli.plugins.registry import PlayerKind, Registry

COMPUTING = (ArithmeticError, ValueError, RuntimeError, TypeError)  # what a formula raises outside of its range


@dataclass(frozen=True)
class Matchup:
    """An adversary in a setting, with the algorithms tuned for what they may know of it."""

    adversary: Variant
    algorithms: tuple[Variant, ...]
    setting: Setting  # what the algorithms may know


def matchups(
    registry: Registry, keys: Keys, adversaries: Sequence[Variant], algorithms: Sequence[Variant], errors: list[Error]
) -> tuple[Matchup, ...]:
    """For each adversary a matchup in each setting; players that cannot play, or are listed twice, are errors."""
    stages = []
    for setting in settings(keys) if adversaries or algorithms else ():
        if len(errors) > ENOUGH:
            break
        tuned, known = list(_tuned(adversaries, setting, errors)), []
        for variant in tuned:
            adversary, own = variant.parameters, sized(variant.parameters, setting)
            assert isinstance(adversary, Adversary)
            known.append(_of_people(keys, variant, adversary.revealed(own), errors))
            if keys.game == "best_arm":
                assert isinstance(adversary, bandit.Adversary)
                errors.extend(Error(variant.loc, reason) for reason in best_arm.unfit(adversary, own))
            elif not adversary.bounded:
                errors.extend(_out_of_bounds(registry, adversary, algorithms))
            if own.switches and isinstance(adversary, bandit.Adversary) and adversary.reaction()[0]:
                message = "it reacts to switches, which the best sequence would pay for, too: leave `switches` out"
                errors.append(Error(variant.loc, message))
        # Without a valid adversary the algorithms are still checked.
        without = [setting] if setting.n_arms else []
        lineups = {one: tuple(_tuned(algorithms, one, errors)) for one in dict.fromkeys(known or without)}
        stages.append([Matchup(variant, lineups[one], one) for variant, one in zip(tuned, known, strict=True)])
    return () if errors else tuple(matchup for adversary in zip(*stages, strict=True) for matchup in adversary)


def _of_people(keys: Keys, variant: Variant, setting: Setting, errors: list[Error]) -> Setting:
    """The setting with the most rounds of one person, where a column of the adversary's file names the people."""
    if keys.unit is None or keys.unit.person is None:
        return setting
    adversary = variant.parameters
    if not isinstance(adversary, PlaysActions):
        other = "no column names people here: set `unit: {rounds_per_person: m}`"
        errors.append(Error(("unit", "person"), f"{adversary.name} plays neither a log nor a table, so {other}"))
        return setting
    try:
        return setting._replace(rounds_per_person=adversary.rounds_per_person(keys.unit.person, setting))
    except ValueError as error:
        errors.append(Error(("unit", "person"), str(error)))
        return setting


def of_the_game(
    registry: Registry, keys: Keys, variants: Sequence[Variant], invalid: Collection[str], errors: list[Error]
) -> list[Variant]:
    """The variants that play this game, as far as its valid keys tell; the others are errors.

    An adversary with gains of arms in [0, 1] also plays the game linear on the simplex, as losses of experts. All
    adversaries with gains of arms play the game best_arm, as far as `games.best_arm.unfit` allows it.
    """
    fitting = []
    for variant in variants:
        player = variant.parameters
        kind: PlayerKind = "algorithms" if isinstance(player, Algorithm) else "adversaries"
        experts = (
            kind == "adversaries" and keys.game == "linear" and ("set" in invalid or listed(keys.set) == ["simplex"])
        )
        foe = player if isinstance(player, bandit.Adversary) else None
        if isinstance(player, Algorithm) and keys.game in player.also:
            fitting.append(replace(variant, parameters=player.in_game(keys.game)))
        elif player.game != keys.game and not (foe and (keys.game == "best_arm" or (experts and foe.bounded))):
            fit = ", ".join(name for name, model in registry.every(kind) if _plays(model, keys.game))
            why = f"{player.name} plays the game {player.game}, not {keys.game}"
            if player.game == "bandit" and kind == "adversaries" and keys.game == "linear":
                why = f"{player.name} has gains of arms, which are losses on the simplex only, and only in [0, 1]"
            errors.append(Error(variant.loc, f"{why}; these are possible: {fit}"))
        elif isinstance(player, linear.Algorithm) and player.feedback != keys.feedback and "feedback" not in invalid:
            sees = {"full": "the whole loss vector", "bandit": "only the loss of its own point"}[player.feedback]
            errors.append(Error(variant.loc, f"{player.name} observes {sees}: set `feedback: {player.feedback}`"))
        else:
            fitting.append(variant)
    return fitting


def _plays(model: type[Parameters], game: str) -> bool:
    """Whether a player of this class may play a game."""
    if issubclass(model, Algorithm):
        return model.plays(game)
    return model.game == ("bandit" if game == "best_arm" else game)


def _tuned(variants: Sequence[Variant], given: Setting, errors: list[Error]) -> Iterator[Variant]:
    """The variants with every parameter set; those that cannot play or are listed twice are errors."""
    first: dict[str, Loc] = {}
    for variant in variants:
        parameters, setting = variant.parameters, given
        assert isinstance(parameters, Adversary | Algorithm)
        try:
            setting = sized(parameters, given)
            lacking = f"`arms: means` needs a list of means: give {parameters.name} one"
            unfit = list(parameters.errors(setting)) if setting.n_arms else [lacking]
            ready = parameters.tuned(setting) if not unfit else parameters
        except COMPUTING as error:
            unfit = [f"cannot be tuned for {failure(setting, error)}"]
        errors.extend(Error(variant.loc, message) for message in unfit)
        if unfit:
            continue
        if ready.identity() in first:
            errors.append(Error(variant.loc, f"the same as {dotted(first[ready.identity()])}, with equal parameters"))
        first.setdefault(ready.identity(), variant.loc)
        if isinstance(ready, Algorithm):
            check_promise(ready, setting)
        yield replace(variant, parameters=ready)


def _out_of_bounds(registry: Registry, adversary: Adversary, algorithms: Sequence[Variant]) -> Iterator[Error]:
    """Errors for algorithms that need gains in [0, 1], against an adversary with other gains."""
    for variant in algorithms:
        assert isinstance(variant.parameters, Algorithm)
        if variant.parameters.bounded:
            models = [pair for pair in registry.every("algorithms") if pair[1].game == "bandit"]
            fit = ", ".join(name for name, model in models if issubclass(model, Algorithm) and not model.bounded)
            message = f"{variant.parameters.name} needs gains in [0, 1], which {adversary.name} does not guarantee"
            yield Error(variant.loc, f"{message}; these do not: {fit}")


def failure(setting: Setting, error: Exception) -> str:
    """The setting in which a computation failed, and why, without the words of a root finder."""
    size = "K" if setting.space is None else "N"
    text = str(error) or type(error).__name__
    reason = "no value within reach solves its equation" if "must have different signs" in text else text
    return f"T = {setting.horizon}, {size} = {setting.n_arms}: {reason}"
