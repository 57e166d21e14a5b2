"""AdaP-TT* (Azize, Jourdan, Al Marjani & Basu 2023): AdaP-TT with evidence that is linear in gaps beyond 3ε.

Phases, leader, answer and privacy are those of `adap_tt`. W has g min(3ε, g) in place of g², and the threshold is
`identification.thresholds.adap_tt_star`. Where some gaps exceed 3ε and others do not, its second case grows with the
root of the best arm's plays, so that AdaP-TT may stop far earlier.
"""

from privbandits_cli.algorithms import adap_tt


class Parameters(adap_tt.Parameters):
    """ε, and the share of the leader."""

    read = "paper"
    display = "AdaP-TT*"
    star = True
