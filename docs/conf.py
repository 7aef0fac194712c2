"""The documentation site: `./dev docs` builds it into build/docs."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))

project = "mlx"
author = "The project's authors"
project_copyright = author
version = release = re.search(
    r"project\(mlx VERSION ([\d.]+)", (HERE.parent / "CMakeLists.txt").read_text()
).group(1)

extensions = [
    "myst_parser",
    "members",
    "headers",
    "c_headers",
    "graphs",
    "runs",
    "timelines",
    "pages",
    "results",
]
exclude_patterns = ["_site", "_extra"]
source_suffix = {".md": "markdown"}
templates_path = []
default_role = "code"
highlight_language = "python"
toc_object_entries_show_parents = "hide"
add_module_names = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"mlx {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_favicon = "_static/favicon.svg"
html_extra_path = ["_extra"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which a site opened from a folder cannot
html_theme_options = {"navigation_with_keys": True}
