# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""The picture of the benchmark: nothing hides anything, of the committed results and of others."""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import replace
from itertools import combinations

import pytest

from support.paths import ROOT

Bbox = pytest.importorskip('matplotlib.transforms').Bbox
sys.path.insert(0, str(ROOT / 'benchmarks'))
try:
    import page_pictures
    import picture
    from figures import Figure, read
finally:
    sys.path.pop(0)

PERFORMANCE = ROOT / 'doc' / 'reference' / 'performance'
COMMITTED = [
    figure
    for path in sorted((ROOT / 'benchmarks' / 'results').glob('*.json'))
    for figure in read(path)
]


def like_c_code() -> list[Figure]:
    """Return figures with the names of the part 'c_code', a peer that is faster among them."""
    single = [f for f in COMMITTED if f.group == 'Single calls' and f.peer == 'Pinocchio C++']
    kept = [f for f in single if 'dynamics' in f.name and 'as is' not in f.robot]
    assert kept
    return [
        replace(f, group='C code', name=f'{f.name}, {how}', ratio=ratio, required=15.0)
        for how, ratio in (('C', 0.6), ('object file', 14.0))
        for f in kept
    ]


@pytest.fixture(scope='module', params=['committed', 'with C code', 'nodes alone'])
def axes(request):
    """Return the panels of a picture that was laid out."""
    figures = {
        'committed': COMMITTED,
        'with C code': [f for f in COMMITTED if f.group != 'C code'] + like_c_code(),
        'nodes alone': [f for f in COMMITTED if f.group.startswith('Node latency')],
    }[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # a layout that does not fit only warns
        drawn = picture.drawn(figures, 'where it was measured')
        drawn.canvas.draw()
    yield drawn.axes
    picture.plt.close(drawn)


def boxes(axis):
    """Return (what, bounding box) of everything that is drawn in a panel, but for its legend."""
    for artist in (*axis.patches, *(line for line in axis.lines if len(line.get_xdata()))):
        seen = Bbox.intersection(artist.get_window_extent(), axis.bbox)
        if seen is not None:
            yield type(artist).__name__, seen
    low, high = sorted(axis.get_ylim())
    ticks = zip(axis.get_yticks(), axis.get_yticklabels())
    seen_labels = [text for place, text in ticks if low <= place <= high]
    texts = [*axis.texts, axis.title, axis.xaxis.label, *seen_labels]
    for text in texts:
        if text.get_text():
            yield text.get_text(), text.get_window_extent()


def test_no_legend_covers_anything(axes):
    """Neither in its own panel nor in another one."""
    content = [box for axis in axes for box in boxes(axis)]
    for axis in axes:
        legend = axis.get_legend().get_window_extent()
        covered = [what for what, box in content if legend.fully_overlaps(box)]
        assert not covered, axis.get_title()


def test_all_is_inside_of_the_picture(axes):
    picture_box = axes[0].get_figure(root=True).bbox
    for axis in axes:
        for what, box in (*boxes(axis), ('legend', axis.get_legend().get_window_extent())):
            assert picture_box.x0 <= box.x0 <= box.x1 <= picture_box.x1, what
            assert picture_box.y0 <= box.y0 <= box.y1 <= picture_box.y1, what


def test_no_number_covers_another_one(axes):
    for axis in axes:
        places = [(text, text.get_window_extent()) for text in axis.texts]
        for (a, one), (b, other) in combinations(places, 2):
            assert not one.fully_overlaps(other), (a, b)
        drawn = [box for what, box in boxes(axis) if what in ('Rectangle', 'Line2D')]
        for text, place in places:
            assert not any(place.fully_overlaps(box) for box in drawn), text


def test_panels_are_there_if_their_figures_are():
    titles = [title for _, content, title, _ in picture.panels_of(like_c_code()) if content]
    assert titles == ['C code: times faster than Pinocchio in C++']
    committed = [f for f in COMMITTED if f.group != 'C code']
    titles = [title for _, content, title, _ in picture.panels_of(committed) if content]
    assert len(titles) == 4
    assert titles[-1].startswith('Nodes')
    assert picture.drawn([f for f in COMMITTED if f.group == 'Trajectories'], '') is None


def test_node_delays_are_those_of_the_results(axes):
    """Median and 99th percentile of each candidate, ours once beside several peers."""
    (panel,) = (axis for axis in axes if axis.get_title().startswith('Nodes'))
    shown = {
        label.get_text(): text.get_text().split(', ')
        for label, text in zip(panel.get_yticklabels(), panel.texts, strict=True)
    }
    for f in COMMITTED:
        if f.group.startswith('Node latency'):
            assert shown[f'{f.name}: ours'] == [f' {f.ours:.0f}', f'{f.ours_p99:.0f}']
            assert shown[f'{f.name}: {f.peer}'] == [f' {f.theirs:.0f}', f'{f.theirs_p99:.0f}']


@pytest.mark.parametrize('page', sorted(PERFORMANCE.glob('*.md')), ids=lambda page: page.stem)
def test_each_page_begins_with_its_picture(page):
    """And three sentences; the picture has a bar of ours and of the peer in each row."""
    _, shown, text, *_ = page.read_text(encoding='utf-8').split('\n\n')
    name = f'performance_{page.stem}.png'
    assert shown.endswith(f'](../../pictures/{name})')
    assert (page_pictures.PICTURES / name).stat().st_size > 5000
    assert len(re.findall(r'[.]( |\n|$)', text)) == 3
    for *which, _ in page_pictures.ROWS.get(page.stem, ()):
        figure = page_pictures.figure_of(*which)
        assert figure.unit == 'us'
        assert min(figure.ours, figure.theirs) > 0.0
