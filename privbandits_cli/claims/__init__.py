"""Verdicts on what papers claim, from the CSVs of a results folder.

`results` reads the folder; `comparisons` finds the curves of a claim, in each panel and at each swept value;
`quantities` estimates both sides; `verdicts` judges the claim and writes down why.

To add a quantity, such as `median(exp3)`: write one line in `QUANTITIES` of `experiment/expressions.py`, which states
what it can be compared with, and one function with a line in `ESTIMATORS` of `quantities.py`, which computes it.
To add a relation, such as `a about b`: write one branch of `_Reader.limits` in `experiment/expressions.py`, which turns
the relation into limits. The checks, intervals, verdicts and tables follow from these.
"""
