"""Clustering: a search that lets the workers of a cluster explore."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from omdt.cluster import ClusterExecutor
from omdt.methods.options import SearchOptions


@contextmanager
def on_cluster(options: SearchOptions) -> Iterator[SearchOptions]:
    """The options with an executor in place of the address of a scheduler, if there is one."""
    if options.scheduler is None:
        yield options
        return
    with ClusterExecutor(options.scheduler) as executor:
        yield replace(options, scheduler=None, executor=executor)
