"""Verdicts on what papers claim, from the CSVs of a results folder.

`results` reads the folder; `comparisons` finds the curves of a claim, in each panel and at each swept value;
`quantities` estimates both sides; `verdicts` judges the claim and writes down why.

A new quantity, such as `median(exp3)`, is one line in `QUANTITIES` of `experiment/expressions.py`, which says what it
can be compared with, and one function with its line in `QUANTITIES` of `quantities.py`, which computes it. A new
relation, such as `a about b`, is one method of the reader in `experiment/expressions.py` with its line in `RELATIONS`:
it turns the relation into limits. Parsing, checking, intervals and tables follow from these.
"""
