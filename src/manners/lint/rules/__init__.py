"""The rules of the linter, one file each; `RULE` in each is the rule."""
