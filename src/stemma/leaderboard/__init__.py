"""The leaderboard: every variant on every task, beside baselines, published figures and published effects."""
