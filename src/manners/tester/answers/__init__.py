"""Answers: one file for each question of the page, with `answer(question)`."""
