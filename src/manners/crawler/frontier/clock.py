"""The clock of a store, as a worker sees it. Quiet."""


class StoreTime:
    """The clock of a store, as a worker sees it: its own may be wrong.

    A time goes a little up on its way to the store and back, by as much as is not known: so a host
    is never asked too early by whoever takes it next.
    """

    def __init__(self) -> None:
        self._up = self._down = 0.0

    def set(self, at: float, asked: float, answered: float) -> None:
        """Compare: the store said `at`, between these times of one's own clock."""
        self._up, self._down = at - asked, at - answered

    def to_store(self, at: float) -> float:
        """A time of one's own clock, as the store has it."""
        return at + self._up if at else at

    def from_store(self, at: float) -> float:
        """A time of the store, by one's own clock."""
        return at - self._down if at else at
