"""Runs of a recipe over a Ray cluster.

``carom.ray.scale("recipe.toml", "/shared/runs", workers=8)`` makes what ``carom scale`` makes, to the same bits. Workers
live as long as the call, own the compiled recipe, and write shards themselves to the folder, which all machines must see
under one path. The driver gives out numbers of shards and keeps the manifest. A worker that dies loses the shard that it
was at, which another one makes again; a driver that dies is started again with the same call.

Needs Ray: ``pip install carom[ray]``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from . import _core

__all__ = ["scale"]

# A shard at which so many workers died is not to blame on machines.
_MAX_DEATHS = 20


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("carom.ray needs Ray; install it with: pip install carom[ray]") from error
    return ray


class _Worker:
    """Owns the compiled recipe."""

    def __init__(self, recipe: str) -> None:
        self._maker = _core.Maker(recipe)

    def make(self, folder: str, index: int) -> str:
        """Writes one shard; its entry of the manifest."""
        return self._maker.write_shard(folder, index)


def scale(
    recipe: str | os.PathLike[str],
    out: str | os.PathLike[str],
    workers: int | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Makes the runs of a recipe that a folder lacks; gives the manifest.

    Args:
        recipe: The recipe (TOML), on a path that all machines see.
        out: Folder of the shards, on a path that all machines see. What is complete there is kept.
        workers: How many workers, one processor each; as many as the cluster has processors if not given.
        progress: Called with the number of runs that are there, and of those asked for, after every shard.

    Raises:
        ImportError: Where Ray is not installed.
        IdentificationError: Where the recipe is wrong, a run cannot be made, or the folder has shards of another recipe.
    """
    ray = _ray()
    path, folder = os.path.abspath(recipe), os.path.abspath(out)
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: it must be 1 or more")
    maker = _core.Maker(path)
    manifest, waiting = maker.open(folder)
    if not ray.is_initialized():
        ray.init()
    count = workers if workers is not None else max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote = ray.remote(num_cpus=1, max_restarts=0)(_Worker)
    waiting = list(reversed(waiting))
    idle = [remote.remote(path) for _ in range(min(count, len(waiting)))]
    busy: dict[Any, tuple[Any, int]] = {}
    deaths: dict[int, int] = {}
    try:
        while waiting or busy:
            while waiting and idle:
                worker, index = idle.pop(), waiting.pop()
                busy[worker.make.remote(folder, index)] = (worker, index)
            done, _ = ray.wait(list(busy), num_returns=1)
            for reference in done:
                worker, index = busy.pop(reference)
                try:
                    entry = ray.get(reference)
                except ray.exceptions.RayActorError:
                    deaths[index] = deaths.get(index, 0) + 1
                    if deaths[index] > _MAX_DEATHS:
                        raise
                    # The worker is gone, with its shard unfinished: another one takes its place.
                    waiting.append(index)
                    idle.append(remote.remote(path))
                    continue
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from error
                idle.append(worker)
                manifest = maker.enter(folder, manifest, [entry])
                if progress is not None:
                    found = json.loads(manifest)
                    progress(sum(shard["runs"] for shard in found["shards"]), found["runs"])
    finally:
        for worker in [*idle, *(worker for worker, _ in busy.values())]:
            ray.kill(worker)
    found = json.loads(manifest)
    assert isinstance(found, dict)
    return found
