"""Learners of sessions: episodes, their steps and rewards, and the plans that are made aside."""
