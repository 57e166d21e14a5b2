"""The sets that a linear game is played on, and the barriers inside of them."""
