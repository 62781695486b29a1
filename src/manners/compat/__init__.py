"""Drop-ins: this package behind the interfaces of other libraries, one file each.

Each is imported only when it is used, and none imports another.
"""
