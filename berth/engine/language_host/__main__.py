"""Started by the engine as `pulumi-language-python ENGINE_ADDRESS`."""

import signal
import sys

# Until the server has its own handlers an interrupt just ends this process, without a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from berth.engine.language_host.server import main  # noqa: E402

sys.exit(main())
