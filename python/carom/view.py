"""Models and motions in the browser: live, inline in a notebook, or as a file that works without a network."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import TracebackType

from . import _core

_HEIGHT = 520


def _in_notebook() -> bool:
    """Whether results are shown by a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _opens(browser: bool | None) -> bool:
    """Unless told otherwise, a notebook shows results itself, and so does nobody in a program without a screen."""
    return not _in_notebook() if browser is None else browser


class Page:
    """A page that shows a motion: complete in itself, it needs no server and no network.

    A notebook shows it in the cell.

    >>> import carom
    >>> model = carom.Model.load("models/cube.xml")
    >>> page = model.rollout(steps=100).view(browser=False)
    >>> page.html.count('id="carom-recording"')
    1
    """

    html: str
    """The page."""

    def __init__(self, html: str, inputs: Sequence[Path] = ()) -> None:
        """``inputs`` are files that it was made from: :meth:`save` does not write over them."""
        self.html = html
        self._inputs = tuple(inputs)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page; the file is complete or not there, and never one that the page was made from."""
        _core.write_text(path, self.html, self._inputs)
        return Path(path)

    def open(self) -> Path:
        """Opens the page in the browser, from a file among the temporary ones."""
        import tempfile
        import webbrowser

        folder = Path(tempfile.mkdtemp(prefix="carom-"))
        path = self.save(folder / "motion.html")
        webbrowser.open(path.as_uri())
        return path

    def _repr_html_(self) -> str:
        # The frame is kept apart from the notebook: the page runs its own script and reaches nothing else.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts allow-downloads" allowfullscreen '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<carom.Page: {len(self.html) / 1e6:.1f} MB>"


class LiveView:
    """A model that is simulated for the browser, on this machine alone, until :meth:`stop` or the end of the program.

    A notebook shows it in the cell. Its address holds a secret; whoever has it, and an account on this machine, can watch and steer.

    >>> import carom
    >>> model = carom.Model.load("models/humanoid.xml")
    >>> with model.view(browser=False) as view:
    ...     view.url.startswith("http://127.0.0.1:")
    True
    >>> view.is_running
    False
    """

    def __init__(self, core: _core.Viewer) -> None:
        """For internal use: :meth:`carom.Model.view` makes one."""
        self._core = core

    @property
    def url(self) -> str:
        """The address to open."""
        return self._core.url

    @property
    def is_running(self) -> bool:
        """Whether it still serves."""
        return self._core.is_running

    def open(self) -> None:
        """Opens it in the browser."""
        import webbrowser

        # By a file of this user's: other accounts can read the arguments of a browser, and with them the address.
        doorway = self._core.doorway()
        if doorway is None:
            raise RuntimeError("the view has ended; start another with model.view()")
        webbrowser.open(doorway.as_uri())

    def stop(self) -> None:
        """Ends the simulation and all connections."""
        self._core.stop()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        return (
            f'<iframe src="{escape(self.url)}" allowfullscreen '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        state = self.url if self.is_running else "stopped"
        return f"<carom.LiveView: {state}>"
