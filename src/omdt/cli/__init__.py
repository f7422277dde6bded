"""The command line: parse, call, print. Results go to standard output, everything else to standard error.

One file per command; `arguments.py` declares what several commands take, `problems.py` finds the MDP that a PROBLEM
names, `messages.py` talks to the user, and `app.py` puts the commands together and handles errors and signals.
Commands import what they need when they run, so that `omdt --help` need not wait for numpy.
"""

import os

# The matrices here are small; a second thread for their linear algebra costs more than it brings.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from omdt.cli.app import app, main

__all__ = ["app", "main"]
