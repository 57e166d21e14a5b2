"""How algorithm and adversary files are found, including the user's own."""
