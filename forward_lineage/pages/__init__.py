"""A page of linked views in the browser: bars, histograms, heat maps, time lines, tables; a brush updates all of them.

Bokeh draws, and its server (on Tornado) carries what somebody does to Python and numbers back, in binary. Everything a
browser loads comes from this machine. Bokeh's canvas cannot be read aloud or worked with keys; the page's own HTML does
that (`static/page.js`). Nothing here knows Spark: base rows come from a function that is handed in.

Bokeh alone, without Panel: the page needs none of Panel's widgets, and gets by without its 120 MB.
"""

from __future__ import annotations

from forward_lineage.extras import import_extra


def check_installed() -> None:
    """See to it that pages can be served.

    Raises:
        SetupError: Bokeh is not installed, or cannot be loaded here.

    """
    import_extra("bokeh.server.server", "pages", "a page needs")
