"""Drop-ins: the engine behind the interfaces people already use, one file each.

None is imported unless it is used, and none knows another.
"""
