"""A real browser, whose requests are all sent by a client: a gate, its policy, a renderer."""
