"""Programs under test run in a worker: a process of its own, which can neither fool, hang nor outlive us.

The search stays beside the program, in the worker.  What crosses is progress, findings and the end, as plain
values (`crossing.py`).  `containment.py` starts the process and sees to it that nothing of it is left;
`supervision.py` watches it: its time, its memory, what ends it, and what the user wants.
"""
