"""One database: its connection, its one writer, its locks and its migrations."""
