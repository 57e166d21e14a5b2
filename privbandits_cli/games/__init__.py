"""The games: what happens in one round, what the learner sees, how regret is counted."""
