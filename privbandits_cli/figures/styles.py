"""Colours, markers and strokes of curves: an algorithm has the same ones in every figure and on every page."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from privbandits_cli.numerics.text import number_of

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "h")
# The sizes of markers that would look larger or smaller than the others.
SIZES = {"D": 0.85, "^": 1.15, "v": 1.15, "<": 1.15, ">": 1.15, "p": 1.15, "h": 1.1, "P": 1.2, "X": 1.2, "*": 1.5}
Stroke = tuple[float, ...]  # lengths of strokes and gaps in widths of the line; () is solid
STROKES: tuple[Stroke, ...] = (  # the dotted ones, which look like a bound, are last
    (), (3.7, 1.6), (6.4, 1.6, 1, 1.6), (4, 1, 1, 1, 1, 1), (1.8, 0.9), (5, 1, 2, 1), (9, 2), (9, 2, 1, 2),
    (9, 1.5, 3, 1.5), (5, 1, 5, 1, 1, 1), (1, 1), (1, 2.2),
)  # fmt: skip
# The strokes of rates, none dotted either, and their colour if they are about every learner.
RATES: tuple[Stroke, ...] = ((8, 2), (8, 2, 1, 2), (3, 3), (8, 2, 1, 2, 1, 2), (3, 8))
RATE = "#555555"
Shape = tuple[str, Stroke]  # a marker and a stroke
SHAPES = [(marker, stroke) for stroke in STROKES for marker in MARKERS]

# Colour-blind readers can tell the hues from each other and from the greys.
BLUE, VERMILION, INDIGO, SKY = "#1a72f0", "#c85a00", "#330291", "#34c2fd"
PURPLE, GOLD, GREEN = "#aa45a2", "#e2b000", "#005a24"
BLACK, DARK, LIGHT = "#000000", "#666666", "#a6a6a6"
HUES, GREYS = (BLUE, VERMILION, INDIGO, SKY, PURPLE, GOLD, GREEN), (BLACK, DARK, LIGHT)


@dataclass(frozen=True)
class Style:
    """How a curve is drawn."""

    colour: str  # as in CSS
    marker: str  # one of MARKERS
    stroke: Stroke  # one of STROKES

    @property
    def size(self) -> float:
        """The size of its marker, as a multiple of most markers' size."""
        return SIZES.get(self.marker, 1.0)


def family(colour: str, markers: Mapping[str, str], first: int = 0) -> dict[str, Style]:
    """The styles of algorithms of one colour: the markers are given by name, the strokes follow each other.

    first: the place in STROKES of the first algorithm's stroke.
    """
    return {name: Style(colour, marker, STROKES[first + k]) for k, (name, marker) in enumerate(markers.items())}


# What has no guarantee of privacy is black or grey.
PLAIN = {
    # bandits
    **family(BLACK, {"exp3": "o", "exp3_ix": "v", "exp3_p": "^", "exp3_pp": "D", "mini_batch": "s", "exp2": "P"}),
    **family(BLACK, {"kl_ucb": ">", "ucb1": "p", "ucb_v": "h", "moss": "X", "imed": "*"}),
    **family(DARK, {"tsallis_inf": "<", "robust_se": "D", "robust_ucb": "X", "ftpl_frechet": "h", "htinf": "p",
                    "tsallis_switch": ">"}),
    **family(LIGHT, {"uniform": "h", "thompson": "*"}),
    # linear games
    **family(BLACK, {"ftrl": "o", "ftpl": "^"}),
    **family(BLACK, {"scrible": "s"}),
    # contextual bandits; those with an oracle are also below, for private oracles
    **family(BLACK, {"linucb": "o", "lints": "s", "phased_gope": "^"}),
    **family(DARK, {"squarecb": "s", "fastcb": "^", "vpo": "X", "bpo": "*", "regcb": "p"}, first=2),
    # best-arm identification
    **family(BLACK, {"eb_tci": "o", "track_and_stop": "<"}),
    **family(DARK, {"successive_elimination": ">"}, first=2),
    **family(LIGHT, {"uniform_best_arm": "h"}),
}  # fmt: skip

# Private algorithms have a hue. Families that share a hue belong to different games, are alike, or seldom meet.
PRIVATE = {
    # bandits
    **family(BLUE, {"dp_ucb": "X", "adap_ucb": "<", "adac_ucb": "*", "dp_robust_ucb": "v"}),  # confidence bounds
    **family(INDIGO, {"dp_klucb": "D"}),  # Kullback-Leibler indices
    **family(INDIGO, {"adap_klucb": "P"}, first=2),  # not the dashes of AdaP-UCB, beside which it runs
    **family(GREEN, {"dp_imed": "s"}, first=1),  # the index of IMED
    **family(SKY, {"dp_se": "^", "dist_dp_se": "o", "dist_rdp_se": "v", "dp_robust_se": "s"}),  # elimination
    **family(PURPLE, {"lazy_dp_ts": "p", "dp_ts": "h", "gaussian_ts": "o"}),  # Thompson sampling
    **family(VERMILION, {"dp_exp3_lap": "s", "dp_lambda_lap": "^", "dp_exp2": "D"}),  # noise on each gain
    **family(VERMILION, {"ldp_ucb": "*", "ldp_robust_ucb": ">", "ldp_robust_se": "p"}),  # noise that users add
    **family(GOLD, {"dp_reduction": "P", "batched_htinf": "X", "dp_tsallis_switch": "<"}),  # noise on each batch
    **family(GREEN, {"exp3_tau": "v"}),  # blocks, and no noise
    # linear games
    **family(BLUE, {"dp_ftrl": "D"}),  # noise on the sums of losses
    **family(VERMILION, {"noisy_ftrl": "v", "rw_ftpl": "<"}),  # noise on each loss
    **family(PURPLE, {"dp_ftpl": "p", "rnm_ftnl": "h"}),  # perturbed leaders
    **family(GREEN, {"shrinking_dartboard": "P"}),  # few changes, and no noise
    **family(GOLD, {"dp_scrible": "X"}),  # a barrier
    # contextual bandits
    **family(BLUE, {"dp_linucb": "D", "adac_oful": "h"}),  # confidence bounds
    **family(VERMILION, {"ldp_linucb": "v", "ldp_gope": "<"}),  # noise on each report
    **family(GREEN, {"adap_gope": "^", "adac_gope": "o"}),  # elimination among fixed arms
    **family(PURPLE, {"plain_dp_linucb": "P"}),  # the chosen action is private, too
    **family(SKY, {"squarecb": "s", "fastcb": "^"}),  # the gap to the predicted best
    **family(GOLD, {"vpo": "X", "bpo": "*"}),  # optimised policies
    **family(INDIGO, {"regcb": "p"}),  # confidence sets of regressors
    # best-arm identification; DP-SE is above
    **family(BLUE, {"dp_tt": "D"}),  # top two, all gains in the sums
    **family(INDIGO, {"adap_tt": "P", "adap_tt_star": "X"}),  # top two, the last phase alone
    **family(VERMILION, {"ctb_tt": "v"}),  # reports of users
    **family(GREEN, {"dp_uniform": "s", "dp_uniform_best_arm": "h"}, first=1),  # arms in turn
    **family(PURPLE, {"dp_sprt": "p"}),  # a test whose noisy sums are secret
    **family(GOLD, {"dp_halving": "*"}),  # sequential halving
}
# The shapes that no user's algorithm has by its name.
OWNED = {(style.marker, style.stroke) for style in (*PLAIN.values(), *PRIVATE.values())}

FEWEST = 5  # from this number on, curves that differ by one number have shades that follow it
DARKEST, LIGHTEST = 15.0, 78.0  # CIE lightness of the ends of a scale of shades
GAMMA, WEIGHTS = 2.2, (0.2126, 0.7152, 0.0722)  # of a screen: its light, and the luminance of red, green and blue


@dataclass(frozen=True)
class Drawn:
    """What decides the style of a curve."""

    algorithm: str
    label: str
    private: bool = True  # whether it has a guarantee of privacy
    own: Mapping[str, str] = field(default_factory=dict)  # swept values of the algorithm

    @property
    def shipped(self) -> bool:
        """Whether its algorithm has a place in the tables."""
        return self.algorithm in PLAIN or self.algorithm in PRIVATE

    def style(self) -> Style:
        """The style of its algorithm; a user's algorithm has one by its name."""
        if self.shipped:
            table, other = (PRIVATE, PLAIN) if self.private else (PLAIN, PRIVATE)
            return table.get(self.algorithm) or other[self.algorithm]
        number = int.from_bytes(sha256(self.algorithm.encode()).digest()[:8], "big")
        colours = HUES if self.private else GREYS
        start = number // len(colours) % len(SHAPES)
        shape = next(shape for shape in SHAPES[start:] + SHAPES[:start] if shape not in OWNED)
        return Style(colours[number % len(colours)], *shape)


@dataclass(frozen=True)
class Sweep:
    """Curves of one algorithm that differ by one number, which decides their shades."""

    colour: str
    parameter: str
    values: Mapping[str, float]  # by label

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return min(self.values.values()), max(self.values.values())

    @property
    def log(self) -> bool:
        """Whether its scale is logarithmic."""
        low, high = self.ends
        return low > 0 and high >= 10 * low

    def shade(self, value: float) -> str:
        """The colour of a value: the lighter, the larger."""
        low, high, at = (math.log(x) if self.log else x for x in (*self.ends, value))
        return shade(self.colour, (at - low) / (high - low))


def styles_of(curves: Iterable[Drawn]) -> dict[str, Style]:
    """The styles of a figure's curves, by label: no two have the same marker with the same stroke.

    The first curve of an algorithm has the algorithm's own style. Further ones have its colour with another marker and
    another stroke. The shades of a sweep follow its numbers.
    """
    named = {curve.label: curve for curve in curves}
    found: dict[str, Style] = {}
    for curve in _ordered(list(named.values())):
        found[curve.label] = _next(curve.style(), list(found.values()))
    for sweep in sweeps(named.values()):
        for label, value in sweep.values.items():
            found[label] = replace(found[label], colour=sweep.shade(value))
    return {label: found[label] for label in named}


def _ordered(curves: Sequence[Drawn]) -> list[Drawn]:
    """The first curve of each shipped algorithm, that of each other one by its name, and all further curves."""
    first: dict[tuple[str, bool], Drawn] = {}
    for curve in curves:
        first.setdefault((curve.algorithm, curve.private), curve)
    shipped = [curve for curve in first.values() if curve.shipped]
    others = sorted((curve for curve in first.values() if not curve.shipped), key=lambda curve: curve.algorithm)
    return [*shipped, *others, *(curve for curve in curves if curve not in first.values())]


def _next(own: Style, taken: Sequence[Style]) -> Style:
    """The style itself if no other curve has its marker with its stroke; else one of its colour with both new."""
    shapes = Counter((style.marker, style.stroke) for style in taken)
    if (own.marker, own.stroke) not in shapes:
        return own
    alike = [style for style in taken if style.colour == own.colour]
    markers, strokes = {style.marker for style in alike}, {style.stroke for style in alike}
    every = {style.marker for style in taken}

    def cost(shape: Shape) -> tuple[int, ...]:
        marker, stroke = shape
        steps = (MARKERS.index(marker) - MARKERS.index(own.marker)) % len(MARKERS)
        clashes = (marker in markers) + (stroke in strokes)
        return shapes[shape], clashes, marker in every, shape in OWNED, STROKES.index(stroke), steps

    return Style(own.colour, *min(SHAPES, key=cost))


def sweeps(curves: Iterable[Drawn]) -> list[Sweep]:
    """The algorithms of which all curves, at least FEWEST, differ by the value of one number."""
    groups: dict[tuple[str, bool], list[Drawn]] = {}
    for curve in {curve.label: curve for curve in curves}.values():
        groups.setdefault((curve.algorithm, curve.private), []).append(curve)
    found = []
    for members in groups.values():
        parameters = {tuple(curve.own) for curve in members}
        if len(members) >= FEWEST and len(parameters) == 1 and len(members[0].own) == 1:
            (parameter,) = members[0].own
            known = {curve.label: number_of(curve.own[parameter]) for curve in members}
            numbers = {label: x for label, x in known.items() if x is not None and math.isfinite(x)}
            if len(set(numbers.values())) == len(members):
                found.append(Sweep(members[0].style().colour, parameter, numbers))
    return found


def shade(colour: str, at: float) -> str:
    """The shade of a colour at a place on its scale, from 0 (almost black) to 1 (pale); lightness grows evenly."""
    light = DARKEST + (LIGHTEST - DARKEST) * at
    wanted = ((light + 16) / 116) ** 3
    parts = [(int(colour[i : i + 2], 16) / 255) ** GAMMA for i in (1, 3, 5)]
    luminance = sum(weight * part for weight, part in zip(WEIGHTS, parts, strict=True))
    if wanted <= luminance:
        mixed = [part * wanted / luminance for part in parts]
    else:
        white = (wanted - luminance) / (1 - luminance)
        mixed = [part + (1 - part) * white for part in parts]
    return "#" + "".join(f"{round(255 * part ** (1 / GAMMA)):02x}" for part in mixed)
