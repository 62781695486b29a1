"""Evidence: a record of every decision that a request depended on, chained, durable, replayable."""
