# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Formulas of the site as MathML, by latex2mathml."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number if it has one."""
    writer.body.append(writer.starttag(node, 'div', CLASS='math'))
    writer.body.append(convert(node.astext(), display='block'))
    writer.body.append('</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer('mathml', (inline, None), (block, None))
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
