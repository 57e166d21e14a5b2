"""The algorithms of the game `best_arm`, one file each."""
