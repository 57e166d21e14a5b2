"""Excuses: reasons why coupled games that seem to refute a claim do not, and what a file must change to be audited.

The games assume that a release is a true value plus a multiple of the one number of its round that is moved. An honest
algorithm may release something else. Each excuse is tested on the round in which the games ended.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from privbandits_cli.audit.coupling import Game, Played, Spent
from privbandits_cli.audit.lockstep import AGREED, ARM, BARE, EARLIER, MIXED, NUMBER, OTHER_ARM, SCALE
from privbandits_cli.audit.target import Target
from privbandits_cli.audit.twins import AFTER
from privbandits_cli.games.bandit import Floats
from privbandits_cli.games.views import Noisy, Place, Release, read
from privbandits_cli.numerics.jit import Records

TRANSFORMED = (
    "what is released is rounded, clipped or changed in another way after its noise, or rounding hides its noise: let "
    "{what} a true value plus a multiple of `rng.{noise}`, and change it in another field or in `choose`, which costs "
    "no privacy"
)
OTHERS = (
    "the noise of what is released is not `rng.{0}` alone, the one number a round that this audit moves: let `drawn` "
    "have '{0}', draw no further numbers for noise, and give new noise only to the arm that is played"
)
UNIFORM = "no `rng.{0}` moves what the view names, whose noise is made of `rng.uniform`: make it of `rng.{0}`"
KEPT = "the noise of a release is an `rng.{0}` of an earlier round: use that of the round in which the release changes"
SECRET = (
    "the effect of a gain, or the scale of its noise, depends on `rng.uniform`, which this audit does not take for "
    "secret: let each gain act, with noise of one scale"
)
SEVERAL = (
    "noise enters the values of arms that are not played, or enters in `choose`: let `update` add `rng.{0}` to the "
    "value of the arm that is played, and to no other, as at the end of a batch of this arm"
)
FIELDS = "`{1}` has noise of its own and decides arms, too: keep all that decides in one noisy number for each arm"

STEPS = -1000.0, -1.0, 0.37, 1.0, 1000.0  # by which a number is moved to see whether a release is linear in it
HUGE = 1e12  # a number that moves a release to the end of its range, if it has one
BETWEEN = np.linspace(0.01, 0.99, 50).tolist()  # uniform numbers that are tried
GAINS = 0.0, 0.7  # the gains of games A and B
RELEASES = 4  # releases without new noise that are tried: each must have a number of its own from an earlier round
SEARCHED = 2**10  # rounds in which such releases are searched for


def transformed(target: Target[Noisy | Release]) -> str:
    """What to write if a release is not linear in its noise."""
    what = "the view name" if isinstance(target.view, Noisy) else "`released` return"
    return TRANSFORMED.format(what=what, noise=target.noise)


class Moment(NamedTuple):
    """The round t of a violation: the games A = `states[0]` and B = `states[1]` before it, and the arm of A.

    u, z: the uniform number of the round, and the one that is moved.
    """

    game: Game
    states: Records
    t: int
    arm: int
    u: float
    z: float

    def release(self, which: int, gain: float, z: float, u: float | None = None) -> float:
        """What one of the games would release of a gain with these numbers."""
        return self.game.loops.trial(self.states.copy(), which, self.arm, gain, self.u if u is None else u, z)

    def after(self, place: Place, z: float, u: float) -> Floats:
        """This place of the state of game A after this round, with a gain of 0 and these numbers."""
        states = self.states.copy()
        self.game.loops.trial(states, 0, self.arm, 0.0, u, z)
        return np.array(read(states[AFTER], place))

    def alike(self) -> list[float]:
        """Uniform numbers with which game A plays the same arm."""
        return [u for u in (self.u, *BETWEEN) if self.game.loops.arm(self.states[:1], u, self.z) == self.arm]


def of(game: Game, found: Played, spent: Spent) -> str:
    """What to write, if these games do not refute the algorithm after all; "" if they do."""
    target, outcome = game.target, found.outcome
    if outcome == MIXED:
        return OTHERS
    t = spent.gain - 1 if outcome == AGREED else found.rounds
    states = np.repeat(target.state, 6)
    if outcome == AGREED:
        game.advance(states, 0, t)
    else:
        states[:2] = found.states[3:5]
    u, z = float(game.deal.uniform[t, 0]), float(game.deal.laplace[t])
    now = Moment(game, states, t, game.loops.arm(states[:1], u, z), u, z)
    if outcome == ARM:
        names = game.carriers(found)
        return FIELDS.format(target.noise, names) if target.more and names and _have_noise(now, names) else ""
    if outcome in (OTHER_ARM, NUMBER):
        return SEVERAL if isinstance(target.view, Noisy) and _is_several(now, outcome) else ""
    if outcome in (SCALE, BARE, EARLIER, AGREED) and bent(lambda which, z: now.release(which, GAINS[which], z), now.z):
        return transformed(target)
    if outcome == BARE and len({now.release(1, 0.0, now.z, u) for u in now.alike()}) > 1:
        still = all(now.release(1, 0.0, now.z, u) == now.release(1, 0.0, now.z + 1.0, u) for u in now.alike())
        return OTHERS if target.more else UNIFORM if still else ""
    if outcome == BARE and len({now.release(0, 0.0, now.z + step) for step in STEPS}) == 1:
        unused = np.flatnonzero(found.trace.slopes[:t] == 0.0).tolist()
        if unused and _changes(game, unused, t) and _is_kept(now):
            return KEPT
    if (outcome == AGREED or target.claim.delta > 0) and _is_secret(now):
        return SECRET
    return ""


def bent(release: Callable[[int, float], float], z: float) -> bool:
    """Whether a release is not linear in its random number because it is changed after its noise was added.

    release: what is released, as a function of the datum, 0 or 1, and of the random number; z: the number of the round.

    Huge numbers lead to the ends of the range of the release, if it has any. If an end depends on the datum, the noise
    alone was changed, before it was added to the datum. This is no excuse.
    """
    own = release(0, z)
    slopes = np.array([(release(0, z + step) - own) / step for step in STEPS])
    if np.ptp(slopes) <= 1e-6 * np.abs(slopes).max() + 1e-12 * (1.0 + abs(own)):
        return False
    ends = ((release(0, end), release(0, end / 2.0), release(1, end)) for end in (-HUGE, HUGE))
    return not any(far == half and far != other for far, half, other in ends)  # no end depends on the datum


def _is_secret(now: Moment) -> bool:
    """Whether what a gain or a number adds to a release of game A depends on the uniform number of the round."""
    z, seen = now.z, []
    for u in now.alike():
        own = now.release(0, 0.0, z, u)
        seen.append([now.release(0, 0.0, z + 1.0, u) - own, now.release(0, 1.0, z, u) - own])
    return bool((np.ptp(seen, axis=0) > 1e-6 * np.abs(seen).max(axis=0)).any())


def _is_several(now: Moment, outcome: int) -> bool:
    """Whether random numbers of the round change values of arms that are not played, or `choose` changes any."""
    place, states = vars(now.game.target.view)["values"], now.states.copy()
    now.game.loops.choice(states, 0, now.u, now.z)
    if (read(states[AFTER], place) != read(states[0], place)).any():
        return True
    values = now.after(place, now.z, now.u)
    others = np.arange(len(values)) != now.arm
    moved = [now.after(place, now.z + 1.0, now.u), *[now.after(place, now.z, u) for u in now.alike()]]
    return outcome == OTHER_ARM and any((other != values)[others].any() for other in moved)


def _have_noise(now: Moment, names: str) -> bool:
    """Whether further random numbers of the round enter each of these fields."""
    return all(len({now.after(name, now.z, u).tobytes() for u in now.alike()}) > 1 for name in names.split(", "))


def _is_kept(now: Moment) -> bool:
    """Whether game A has a new number, from an earlier round, for each of some releases without noise of their own."""
    game, used = now.game, set[int]()
    rounds = min(len(game.deal.laplace), now.t + SEARCHED)
    states, unused, bare = np.repeat(game.target.state, 6), list[int](), list[int]()
    for t in range(rounds):
        u, z = float(game.deal.uniform[t, 0]), float(game.deal.laplace[t])
        arm = game.choice(states[:1], u, t)
        own, other = (game.loops.trial(states, 0, arm, gain, u, z) for gain in (0.0, 1.0))
        still = all(game.loops.trial(states, 0, arm, 0.0, u, z + step) == own for step in STEPS)
        if still:
            unused.append(t)
        if still and own != other and t >= now.t:
            bare.append(t)
        game.advance(states, t, t + 1)
    for t in bare[:RELEASES]:
        some = [s for s in unused if s < t and s not in used]
        while len(some) > 1:
            half = some[len(some) // 2 :]
            some = half if _changes(game, half, t) else some[: len(some) // 2]
        if not some or not _changes(game, some, t):
            return False
        used.update(some)
    return True


def _changes(game: Game, rounds: list[int], t: int) -> bool:
    """Whether the numbers of these rounds change what game A releases in round t."""
    seen: list[Any] = []
    for more in (0.0, 1.0):
        z, states = game.deal.laplace.copy(), np.repeat(game.target.state, 6)
        z[rounds] += more
        arms = game.advance(states, 0, t, z)
        u = float(game.deal.uniform[t, 0])
        arm = game.choice(states[:1], u, t)
        seen.append((arms.tobytes(), arm, game.loops.trial(states, 0, arm, 0.0, u, float(game.deal.laplace[t]))))
    return bool(seen[0] != seen[1])
