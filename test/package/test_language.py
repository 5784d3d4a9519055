# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Plain language: phrases with a standard term, and the width of pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

# Phrase as a regular expression, and the better word.
PHRASES = {
    r'told': 'estimated, identified, reported or informed',
    r'in force': 'active, current',
    r'(?:are|is|was|were) none': 'is not one, is missing',
    r'be it': 'whether',
    r'of late': 'recently',
    r'to be had': 'available',
    r'whoever': 'the node that, the program that',
    r'somebody': 'a node, a user, another program',
    r'anew': 'again',
    r'(?:take|taken|takes|taking|took)(?: it| them)? over': 'adopt',
    r'(?:take|taken|takes|taking|took)(?: it| them)? off': 'remove, subtract',
    r'nobody (?:asks|else|listens|looks|reads|subscribes|wants)': 'no subscribers, no other node',
    r'whole turns?': 'multiples of 2 pi',
    r'what (?:is left )?of (?:it|them) is left': 'the residual, the remainder',
    r'just if': 'if and only if',
    r'(?:are|is|was|were) not looked at': 'is not checked, is ignored',
    r'(?:(?:takes?|took|in) the place of|takes its place)': 'replaces, instead of',
    r'(?:is|are) no (?:rigid motions?|rotations?|unit \w+)': 'is not a',
    r'where there is none': 'for no limit, if it is missing, without one',
    r'(?:to the last bit|bit for bit)': 'bitwise equal, exactly',
    r'(?:for )?want of': 'without',
}
PAGE_PHRASES = {
    r'peers?': 'other libraries',
    r'nobody': 'no node, no user, no subscribers',
    r'tells?': 'report, show, state, determine',
    r'(?:said|say|says) (?:so|why)': 'report; give the reason',
    r'what (?:is|was) left': 'the remainder, the residual',
    r'run by itself': 'that runs alone',
    r'process(?:es)? of (?:its|their) own': 'separate',
    r'for ever': 'forever',
}
# In messages, docstrings and comments of nodes and commands.
CODE_PHRASES = {
    r'by (?:itself|themselves)': 'alone, internally',
    r'of (?:its|their|your) own': 'separate, own',
    r'left out': 'omitted, skipped, excluded',
    r'(?:go|goes|going|went) on': 'continue',
    r'nobody': 'no node, no user, no subscribers',
    r'present (?:state|robot|values?|time|pose|joint|positions?|energy|results?)': 'current',
    r'stands? for': 'represents, means',
    r'stands? still': 'is at rest, stalls, pauses',
    r'(?:tells?|says)': 'report, determine, return',
    r'usable': 'valid',
    r'(?:is|are|was|were) not known': 'unknown',
    r'so many': 'this number of',
    r'in place of': 'instead of, replaces',
    r'any more': 'no longer',
    r'under way': 'active, pending, in progress',
    r'on (?:its|their) way': 'pending',
    r'what (?:is|was|are|were|has|have|must)': 'a noun',
    r'how (?:long|many|much|far)': 'time, number, amount, distance',
}
CODE = ('screw_dynamics_ros/nodes/**/*.py', 'screw_dynamics_ros/cli/**/*.py')
# In all sources and messages; `usable` is the name of a mask there.
LIBRARY_PHRASES = {
    **{phrase: better for phrase, better in CODE_PHRASES.items() if phrase != 'usable'},
    r'(?:take|taken|takes) for': 'treated as, interpreted as, mistaken for',
    r'put down to': 'attributed to',
    r'one (?:after|below) the other': 'in order, concatenated, stacked',
    r'(?:go|goes) with': 'corresponds to, matches',
    r'belongs? together': 'is consistent',
    r'brings?': 'has, provides, moves',
    r'gives? way': 'leaves, yields',
    r'(?:is|are) said': 'reported',
    r'(?:feel|feels|bear|bears)': 'supports, is loaded by',
    r'(?:counts? as|(?:does|do) not count)': 'is, is included, is ignored',
    r'turns? about': 'rotates about',
}
LIBRARIES = ('screw_dynamics_ros/**/*.py', 'screw_dynamics_msgs/**/*.[ms][sr][gv]')
PAGES = ('*.md', '*.rst', 'doc/**/*.md', 'package.xml', 'screw_dynamics_msgs/**/*.[ms][sr][gv]')
SOURCES = ('benchmarks', 'examples', 'launch', 'screw_dynamics_ros', 'studies', 'test', 'tools')
FILES = (
    *PAGES,
    'screw_dynamics_msgs/package.xml',
    'screw_dynamics_control/package.xml',
    'screw_dynamics_control/**/*.[ch]pp',
    '*.py',
    *(f'{folder}/**/*.py' for folder in SOURCES),
)
# The only places that name the phrases.
EXEMPT = ('CONTRIBUTING.md', 'test/package/test_language.py')
PAGE_WIDTH = 120  # columns of prose


def files(globs: tuple[str, ...]) -> list[Path]:
    """Return the files of these globs, without virtual environments and builds."""
    return sorted({path for glob in globs for path in ROOT.glob(glob)})


def findings(path: Path, phrases: dict[str, str]) -> Iterator[str]:
    """Yield each banned phrase with its line and the better word; phrases may cross lines."""
    text = path.read_text()
    for phrase, better in phrases.items():
        pattern = phrase.replace(' ', r'(?:\s|[#*"\'])+')
        for match in re.finditer(rf'(?<![\w`-]){pattern}(?![\w`-])', text, re.IGNORECASE):
            if 'None' in match[0] or re.search(r'[Tt]here[\s#]*$', text[: match.start()]):
                continue  # the object of Python; "there is none"
            line = text.count('\n', 0, match.start()) + 1
            yield f'{path.relative_to(ROOT)}:{line}: "{match[0]}": {better}'


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Yield numbered lines that are not table, code, formula, HTML or written by a tool."""
    closing = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        text = line.strip()
        if closing:
            closing = None if closing in text else closing
        elif text.startswith('```'):
            closing = '```'
        elif text.startswith('<!-- table'):
            closing = '<!-- end of'
        elif text.startswith('$$'):
            closing = None if text.endswith('$$') and len(text) > 2 else '$$'
        elif not text.startswith(('|', '<')) and not line.startswith('    '):
            yield number, line


@pytest.mark.parametrize(
    ('globs', 'phrases'),
    [
        (FILES, PHRASES),
        (PAGES, PAGE_PHRASES),
        (CODE, CODE_PHRASES | LIBRARY_PHRASES),
        (LIBRARIES, LIBRARY_PHRASES),
    ],
    ids=['files', 'pages', 'code', 'libraries'],
)
def test_standard_terms(globs, phrases):
    found = [
        finding
        for path in files(globs)
        if not str(path.relative_to(ROOT)).startswith(EXEMPT)
        for finding in findings(path, phrases)
    ]
    assert not found, '\n'.join(found)


@pytest.mark.parametrize(
    'path', files(('*.md', '*.rst', 'doc/**/*.md')), ids=lambda path: str(path.relative_to(ROOT))
)
def test_width_of_pages(path):
    """Links and code that cannot be broken may be longer."""
    wide = [
        f'{path.relative_to(ROOT)}:{number}: {len(line)} columns, at most {PAGE_WIDTH}'
        for number, line in prose(path)
        if len(line) > PAGE_WIDTH and len(re.sub(r'`[^`]*`|\]\([^)]*\)', '', line)) > PAGE_WIDTH
    ]
    assert not wide, '\n'.join(wide)


def test_a_phrase_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(f'{__name__}.ROOT', tmp_path)
    page = tmp_path / 'page.md'
    page.write_text('The map that is in\nforce, untold, `not_told`, is None; there is none.\n')
    assert list(findings(page, PHRASES)) == ['page.md:1: "in\nforce": active, current']
