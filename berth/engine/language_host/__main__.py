"""Started by the engine as `pulumi-language-python ENGINE_ADDRESS`."""

import os
import signal
import sys

# Until the server has its own handlers an interrupt just ends this process, without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from berth.engine.language_host.server import main

exit_code = main()
sys.stdout.flush()
sys.stderr.flush()
os._exit(exit_code)  # a thread that still reads from an escaped process must not keep this one
