"""What an experiment is: the YAML, its errors, and the plan of curves that it asks for."""
