"""Times carom's Python package, one JSON line per request on standard input.

A request is {"model": path, "steps": n, "trajectories": m, "threads": k}; the answer has the CPU time of the whole process per step
in microseconds, over a batch of trajectories that start alike.
"""

import time

import peer

import carom


class Batch:
    """A model with start states and controls."""

    def __init__(self, request):
        self.model = carom.Model.load(request["model"])
        start = self.model.state(0 if self.model.nkey else None)
        self.start = start.repeat(request["trajectories"])
        self.controls = peer.controls(self.model, request["steps"])
        self.threads = request["threads"]

    def measure(self):
        begin = time.process_time()
        rollout = self.model.rollout(self.start, self.controls, threads=self.threads)
        seconds = time.process_time() - begin
        return {"microseconds": seconds / (len(self.start) * rollout.steps) * 1e6, "contacts": 0}


if __name__ == "__main__":
    peer.serve(Batch)
