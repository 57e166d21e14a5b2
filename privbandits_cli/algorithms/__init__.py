"""The learners, one file each."""
