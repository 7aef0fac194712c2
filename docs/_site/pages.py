"""Changes of the site to pages that are also read outside of it.

Links of the pages of the root lead into docs/, and the list of decisions becomes navigation.
"""

import re

#: A link of an included page of the root into docs/.
INTO_DOCS = re.compile(r"\]\(docs/")


def included(app, relative_path, parent_docname, content):
    """Edit the text of a page of the root where a page includes it."""
    content[0] = INTO_DOCS.sub("](", content[0])


def change(app, docname, source):
    """Edit the text of a page before it is parsed."""
    if docname == "adr/README":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n0*\n```\n"


def setup(app):
    """Connect the change."""
    app.connect("source-read", change)
    app.connect("include-read", included)
    return {"parallel_read_safe": True}
