# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Meshes of links, from primitives and from files written here by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('trimesh')

from screw_dynamics_ros.cli.view.link_meshes import GRAY, link_meshes
from screw_dynamics_ros.cli.view.state import MAX_MESH_BYTES, is_mesh
from screw_dynamics_ros.core.description import read_urdf

#: A tetrahedron with corners at the origin and one along each axis.
STL = """solid t
facet normal 0 0 -1
outer loop
vertex 0 0 0
vertex 0 1 0
vertex 1 0 0
endloop
endfacet
facet normal 0 -1 0
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 0 1
endloop
endfacet
facet normal -1 0 0
outer loop
vertex 0 0 0
vertex 0 0 1
vertex 0 1 0
endloop
endfacet
facet normal 1 1 1
outer loop
vertex 1 0 0
vertex 0 1 0
vertex 0 0 1
endloop
endfacet
endsolid t
"""
PLY = """ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 1
property list uchar int vertex_indices
end_header
0 0 0 10 20 30
2 0 0 10 20 30
0 3 0 10 20 30
3 0 1 2
"""
MESH = '<mesh filename="{}" scale="1 2 3"/>'
ORIGIN = '<origin xyz="0 0 5" rpy="0 0 1.5707963267948966"/>'


def robot(*shapes, link='a'):
    """Return a description of two links with these elements in the first one."""
    return (
        f'<robot name="r"><link name="{link}">{"".join(shapes)}</link><link name="b"/>'
        '<joint name="j" type="fixed"><parent link="a"/><child link="b"/>'
        '<origin xyz="0 0.3 0.4"/></joint></robot>'
    )


def visual(geometry, color='', kind='visual', origin=ORIGIN):
    material = f'<material name=""><color rgba="{color} 1"/></material>' if color else ''
    return f'<{kind}>{origin}<geometry>{geometry}</geometry>{material}</{kind}>'


def meshes_of(text, folder):
    return link_meshes(text, read_urdf(text), lambda name: folder / name)


def bounds(mesh):
    return np.array([mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)])


def area(mesh):
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 't.stl').write_text(STL)
    (tmp_path / 'c.ply').write_text(PLY)
    (tmp_path / 'broken.stl').write_bytes(b'solid')
    (tmp_path / 'far.ply').write_text(PLY.replace('2 0 0', 'inf 0 0'))
    points = PLY.replace('element face 1', 'element face 0').replace('3 0 1 2\n', '')
    (tmp_path / 'points.ply').write_text(points)
    return tmp_path


def test_primitives_in_the_frame_of_their_link(folder):
    """One mesh for each color; sizes are those of the elements."""
    shapes = (
        visual('<box size="1 2 4"/>', '1 0 0'),
        visual('<sphere radius="0.5"/>', origin='<origin xyz="7 0 0"/>'),
        visual('<cylinder radius="0.5" length="2"/>', '1 0 0', origin='<origin xyz="0 9 0"/>'),
    )
    meshes, missing = meshes_of(robot(*shapes), folder)
    red, gray = meshes['a']
    assert (red.color, gray.color, missing, meshes['b']) == ((255, 0, 0), GRAY, [], [])
    np.testing.assert_allclose(bounds(red), [[-1.0, -0.5, -1.0], [1.0, 9.5, 7.0]], atol=1e-6)
    np.testing.assert_allclose(bounds(gray), [[6.5, -0.5, -0.5], [7.5, 0.5, 0.5]], atol=1e-6)
    assert area(gray) == pytest.approx(np.pi, rel=0.01)
    assert area(red) == pytest.approx(2 * (2 + 4 + 8) + np.pi * (2 + 0.5), rel=0.01)


def test_meshes_of_files(folder):
    """Scaled in their own axes, then turned and moved; a file may have a color."""
    shapes = (
        visual(MESH.format('t.stl')),
        visual(MESH.format('t.stl'), '0 1 0', origin=''),
        visual(MESH.format('c.ply')),
    )
    meshes, missing = meshes_of(robot(*shapes), folder)
    assert missing == []
    by_color = {each.color: each for each in meshes['a']}
    assert set(by_color) == {GRAY, (0, 255, 0), (10, 20, 30)}
    np.testing.assert_allclose(bounds(by_color[0, 255, 0]), [[0, 0, 0], [1, 2, 3]], atol=1e-6)
    np.testing.assert_allclose(bounds(by_color[GRAY]), [[-2, 0, 5], [0, 1, 8]], atol=1e-6)
    np.testing.assert_allclose(bounds(by_color[10, 20, 30]), [[-6, 0, 5], [0, 2, 5]], atol=1e-6)
    assert area(by_color[10, 20, 30]) == pytest.approx(6.0)


def test_collision_geometry_where_there_is_no_other(folder):
    box = visual('<box size="1 1 1"/>', kind='collision')
    for shapes, missing in (
        ((box,), []),
        ((visual(MESH.format('none.stl')), box), []),
        ((visual(MESH.format('t.stl')), box), []),
    ):
        meshes, lacking = meshes_of(robot(*shapes), folder)
        (mesh,) = meshes['a']
        assert lacking == missing
        assert area(mesh) == pytest.approx(6.0) or 't.stl' in shapes[0]


@pytest.mark.parametrize('name', ['none.stl', 'broken.stl', 'far.ply', 'points.ply'])
def test_capsules_instead_of_missing_meshes(folder, name):
    """From the link to its child, 0.5 m away; the file is named once."""
    text = robot(*(visual(MESH.format(name), kind=kind) for kind in ('visual', 'collision')))
    meshes, missing = meshes_of(text, folder)
    assert missing == [name]
    (capsule,) = meshes['a']
    assert capsule.color == GRAY
    assert meshes['b'] == []
    along = capsule.vertices @ [0.0, 0.6, 0.8]
    assert [along.min(), along.max()] == pytest.approx([-0.06, 0.56], abs=1e-6)
    aside = capsule.vertices - along[:, None] * [0.0, 0.6, 0.8]
    assert np.linalg.norm(aside, axis=1).max() == pytest.approx(0.06, rel=0.02)


def test_capsules_of_a_robot_without_any_shape(folder):
    """None of links that are no further apart than a millimeter."""
    meshes, missing = meshes_of(robot(), folder)
    assert len(meshes['a']) == 1
    assert missing == []
    near = robot().replace('0 0.3 0.4', '0 0 0.0009')
    assert meshes_of(near, folder)[0]['a'] == []
    box = visual('<box size="1 1 1"/>')
    of_child = robot().replace('<link name="b"/>', f'<link name="b">{box}</link>')
    assert meshes_of(of_child, folder)[0]['a'] == []


def test_files_that_are_meshes(folder):
    for name in ('a.DAE', 'a.obj', 'a.glb', 'a.gltf', 't.stl', 'c.ply'):
        (folder / name).touch()
        assert is_mesh(folder / name)
    for name in ('a.txt', 'absent.stl', 'x' * 300 + '.stl', 'a\0.stl'):
        if name == 'a.txt':
            (folder / name).touch()
        assert not is_mesh(folder / name)
    (folder / 'd.stl').mkdir()
    assert not is_mesh(folder / 'd.stl')
    for more, fits in ((0, True), (1, False)):
        with (folder / 'large.stl').open('wb') as file:
            file.truncate(MAX_MESH_BYTES + more)
        assert is_mesh(folder / 'large.stl') == fits
