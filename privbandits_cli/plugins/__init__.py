"""How algorithm and adversary files are found, the user's own ones included."""
