"""What users give: numbers and counts, or a sentence about what was expected."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .errors import NotFiniteError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .state import Array


def numbers(given: npt.ArrayLike, name: str) -> Array:
    """Real numbers with memory of their own, in C order: what the caller's array becomes later changes nothing."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths") from None
    # Numbers of other kinds, which numpy keeps as objects, can be numbers yet.
    is_number = array.dtype.kind in "biuf" or not array.size
    if array.dtype.kind == "O" and None not in array.flat:
        try:
            array, is_number = array.astype(np.float64), True
        except (TypeError, ValueError):
            is_number = False
    if not is_number:
        text = f"{given!r}"
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise TypeError(f"{name} must be real numbers, not {shown}")
    return np.array(array, dtype=np.float64, order="C")


def finite(given: npt.ArrayLike, name: str) -> Array:
    """Real numbers in C order, none of them infinite or not a number."""
    array = numbers(given, name)
    if not np.isfinite(array).all():
        place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        where = "".join(f"[{index}]" for index in place)
        raise NotFiniteError(f"{name}{where} is {array[place]}")
    return array


def count(given: Any, name: str, least: int = 0) -> int:
    """A whole number."""
    try:
        number = int(given.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"{name} is a whole number, not {given!r}") from None
    if not least <= number < 2**63:
        raise ValueError(f"{name} is at least {least}, not {number}" if number < least else f"{name} cannot be {number}")
    return number


def threads(given: int | None) -> int | None:
    """A number of threads; none or 0 for all cores, and never more than these."""
    return None if given is None else count(given, "threads")


def plain(given: Any) -> Any:
    """Numbers and lists of numpy as those of Python."""
    if isinstance(given, (np.ndarray, np.generic)):
        return given.tolist()
    if isinstance(given, (list, tuple)):
        return [plain(one) for one in given]
    return given


def nearest(wrong: str, known: Iterable[str]) -> str:
    """What was probably meant, or all that there is."""
    listed = list(known)
    near = get_close_matches(wrong, listed, n=1, cutoff=0.5)
    return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(listed)}"
