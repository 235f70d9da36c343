"""Plots as SVG that belongs to its page: colours and fonts are those of the frame, in light and dark.

matplotlib knows no CSS: it draws in stand-in colours, which become the frame's variables afterwards. Text stays text.
Give the plots of one page different titles: names inside an SVG hang on it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from befund.reports.markup import Markup, element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, LINE, AGREE, DIFFER = "#010203", "#010204", "#010205", "#010206", "#010207"
"""Stand-in colours."""
_VARIABLES = {INK: "ink", MUTED: "muted", LINE: "line", AGREE: "agree", DIFFER: "differ"}
_INCHES = (4.4, 3.1)
_ONE_AT_A_TIME = Lock()
"""matplotlib's settings are the process's; drawings take turns with them."""
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "lines.solid_capstyle": "round",
}


class Plot(Struct, frozen=True):
    """A plot with its title, and its description for those who cannot see it in the SVG itself."""

    title: str
    svg: str


class Drawing:
    """What is being drawn; `plot` is there once it is finished."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.description = ""
        self.plot: Plot


@contextmanager
def drawing(title: str, *, height: float = _INCHES[1]) -> Iterator[Drawing]:
    """Draw on the axes inside, and say in `description` what is to be seen.

    Args:
        title: What the plot is called.
        height: Of the drawing, in inches; all are equally wide.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with _ONE_AT_A_TIME, mpl.rc_context(_SETTINGS | {"svg.hashsalt": title}):
        figure = Figure(figsize=(_INCHES[0], height), layout="constrained")
        drawn = Drawing(figure.subplots())
        yield drawn
        drawn.plot = Plot(title, _svg(figure, title, drawn.description))


def _svg(figure: Figure, title: str, description: str) -> str:
    file = io.StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    drawn = file.getvalue()
    box = re.search(r'viewBox="([^"]+)"', drawn)
    inner = re.search(r"<svg[^>]*>(.*)</svg>", drawn, re.DOTALL)
    assert box is not None  # noqa: S101 - matplotlib writes both
    assert inner is not None  # noqa: S101
    said = sha256(f"{title}\0{description}".encode()).hexdigest()[:12]
    return element(
        "svg",
        element("title", title, id_=f"t{said}"),
        element("desc", description, id_=f"d{said}"),
        Markup(_in_colours_of_the_page(inner[1])),
        viewBox=box[1],
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        aria_labelledby=f"t{said}",
        aria_describedby=f"d{said}",
    )


def _in_colours_of_the_page(drawn: str) -> str:
    """Leave out what would reach beyond this drawing: metadata, styles, names of groups; put in the page's colours."""
    drawn = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r'<g id="[^"]*"', "<g", drawn).replace("xlink:href", "href")
    drawn = re.sub(r"font: (\w+) ([\d.]+)px [^;\"]*", r"font-weight: \1; font-size: \2px", drawn)
    drawn = re.sub(r"font-family: [^;\"]*;| transform=\"rotate\(-0 [^\"]*\"", "", drawn)
    drawn = re.sub(r"(\d\.\d\d)\d+", r"\1", drawn)
    for colour, name in _VARIABLES.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    return re.sub(r"\s*\n\s*", "\n", drawn)
