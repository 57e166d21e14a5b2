"""Numbers from trials: statistics, CSVs, the curves of a results folder, comparisons of two."""
