"""The service: pages for people, an API for programs in any language. A face, beside the command.

Each page is one file in `pages`, each resource of the API one file in `api`; nothing else names
them. `application.py` puts them together, `guarding.py` stands in front of all of them, and
`serving.py` listens.
"""
