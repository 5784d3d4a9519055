# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""llms.txt of the site: all pages with their first sentences, for programs that write programs."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

HEAD = """\
# {project}

> Kinematics, dynamics and external wrenches of robots: ROS 2 nodes, and a library without ROS.

Begin with start/recipes.html: ten programs that tests run. reference/parameters.html and
reference/messages.html are complete.

## Pages

"""


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the file beside the pages."""
    if error is not None or app.builder.format != 'html':
        return
    lines = []
    for page in sorted(app.env.found_docs):
        tree = app.env.get_doctree(page)
        paragraphs = tree.findall(nodes.paragraph)  # not the notes above programs
        first = next((each for each in paragraphs if not isinstance(each.parent, nodes.note)), None)
        text = ' '.join(first.astext().split()) if first is not None else ''
        title = app.env.titles[page].astext()
        lines.append(f'- [{title}]({page}.html): {text}' if text else f'- [{title}]({page}.html)')
    text = HEAD.format(project=app.config.project) + '\n'.join(lines) + '\n'
    (Path(app.outdir) / 'llms.txt').write_text(text, encoding='utf-8')


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect('build-finished', write)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
