# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Settings of the site, `make docs`; rosdoc2 reads them, too."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

from sphinx.application import Sphinx

# rosdoc2 executes this file in a copy of doc/, so the package says where the repository is.
ROOT = Path(importlib.util.find_spec('screw_dynamics_ros').origin).parents[1]
DOC = ROOT / 'doc'
sys.path.insert(0, str(ROOT / 'tools'))

MANIFEST = ElementTree.parse(ROOT / 'package.xml').getroot()
REPOSITORY = MANIFEST.findtext("url[@type='repository']")

project = 'screw_dynamics_ros'
author = 'The screw_dynamics_ros authors'
copyright = f'2026 {author}'
release = version = MANIFEST.findtext('version')
language = 'en'

extensions = [
    'sphinx_site.api_pages',
    'sphinx_site.llms',
    'sphinx_site.mathml',
    'myst_parser',
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',
    'sphinx_copybutton',
    'sphinx_design',
    'sphinx_gallery.gen_gallery',
]
# What rosdoc2 generates of the package for packages without pages of their own.
exclude_patterns = [
    'index.rst',
    'modules.rst',
    'screw_dynamics_ros*.rst',
    'interfaces/**',
    'standard*',
    'user_docs*',
    '__readme_include.rst',
]
# Sections that have no pages yet; names of attributes that several classes have.
suppress_warnings = ['toc.empty_glob', 'ref.python']
default_role = 'py:obj'  # names between single backticks lead to their documentation

toc_object_entries = False  # of 400 modules; the index and the search have them
autodoc_member_order = 'bysource'
autodoc_typehints_format = 'short'
autodoc_type_aliases = {name: name for name in ('Array', 'ArrayLike', 'Links', 'Output')}
autodoc_mock_imports = [name for name in ('torch', 'jax') if importlib.util.find_spec(name) is None]
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

myst_enable_extensions = ['attrs_inline', 'colon_fence', 'dollarmath', 'html_image']
myst_fence_as_directive = ['math']
myst_heading_anchors = 4
myst_dmath_double_inline = True

# Formulas are MathML, which browsers draw without scripts: no network, no waiting.
html_math_renderer = 'mathml'

sphinx_gallery_conf = {
    'examples_dirs': str(ROOT / 'examples'),
    'gallery_dirs': 'gallery',
    'filename_pattern': r'\.py$',
    'within_subsection_order': 'FileNameSortKey',
    'thumbnail_size': (640, 300),
    'abort_on_example_error': True,
    'download_all_examples': False,
    'write_computation_times': False,
    'show_memory': False,
    'show_signature': False,
}

html_theme = 'furo'
html_title = f'{project} {version}'
html_static_path = [str(DOC / 'static')]
html_css_files = ['site.css']
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which pages on a disk may not
copybutton_prompt_text = r'>>> |\.\.\. ?|\$ '
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = '\\'
copybutton_here_doc_delimiter = 'EOF'

# In tables, whose columns may be narrow, a number and its unit stay in one line.
ROW, SPACE = re.compile(r'^\|.*', re.MULTILINE), re.compile(r'(?<=\d) (?=([nµm]?s|[kM]B|k?Hz)\b)')
LINK = re.compile(r'\]\((\.\.?/[^)\s#]*)(#[^)\s]*)?\)')


def lead_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Have links to files outside of doc/ lead to the repository."""

    def target(link: re.Match[str]) -> str:
        path = os.path.normpath((DOC / page).parent / link[1])
        if Path(path).is_relative_to(DOC):
            return link[0]
        return f']({REPOSITORY}/blob/main/{os.path.relpath(path, ROOT)}{link[2] or ""})'

    source[0] = LINK.sub(target, source[0])


def keep_units(app: Sphinx, page: str, source: list[str]) -> None:
    """Put no-break spaces between numbers and units of tables."""
    source[0] = ROW.sub(lambda row: SPACE.sub('\N{NO-BREAK SPACE}', row[0]), source[0])


def setup(app: Sphinx) -> None:
    """Register what is not an extension by itself."""
    app.connect('source-read', lead_outside)
    app.connect('source-read', keep_units)
