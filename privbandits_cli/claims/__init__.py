"""Verdicts on what papers claim, from the CSVs of a results folder.

`results` reads the folder; `comparisons` finds the curves of a claim, in each panel and at each swept value;
`quantities` estimates both sides; `verdicts` judges the claim and writes down why. CONTRIBUTING.md says how to add a
quantity. A relation, such as `a about b`, is one more branch of `_Reader.limits` in `experiment/expressions.py`.
"""
