"""Becomes a command that is interrupted when its parent ends: `python -I bound.py CMD ARGS...`.

Started by file name, with the standard library alone; Linux only.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606  what the caller names
