"""What writes the pages that are generated from the code and from results/."""
