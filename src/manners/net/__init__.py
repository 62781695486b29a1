"""The network: requests, replies, and which addresses a request may go to."""
