"""Running a plan: chunks of trials, the engines that play them, the store that keeps them."""

from typing import Literal

Engine = Literal["threads", "processes"]
