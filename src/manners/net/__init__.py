"""The network: what is sent, what comes back, and where a request may go."""
