"""What an experiment is: the YAML, its faults, and the plan of curves that it asks for."""
