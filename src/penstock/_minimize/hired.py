"""A hired process from its first moment: it goes with its line also while it still imports what it is to do.

    python -m penstock._minimize.hired MODULE DESCRIPTOR

Whoever hired it may be killed at any time.  On a machine with much to do the imports take seconds, and a
process that looked at its line only after them would stay behind for so long.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from importlib import import_module
from threading import Thread


def _leave_with_line(descriptor: int) -> None:
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    module, descriptor = sys.argv[1], int(sys.argv[2])
    Thread(target=_leave_with_line, args=(descriptor,), daemon=True).start()
    import_module(module).serve(descriptor)
