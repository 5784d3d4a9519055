# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""`export` writes a URDF with the dynamics of the file it reads."""

from pathlib import Path

import numpy as np
import pytest

from screw_dynamics_ros.cli import export
from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.entry import DONE, NEGATIVE, UNUSABLE

PART = """<mujoco><worldbody><body name="arm" pos="0 0 1" euler="10 20 30">
<joint name="j" axis="1 2 0" pos="0.1 0 0" armature="0.2" stiffness="3" springref="20" ref="5"/>
<geom type="box" size="0.1 0.2 0.3"/><body name="rod" pos="0.3 0 0">
<joint name="k" type="slide" axis="0 0 1" range="0 1"/><geom size="0.1" pos="0.1 0 0"/></body>
</body></worldbody></mujoco>"""


def test_urdf_of_mjcf(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Armature and spring included; a file may include others; findings are printed."""
    pytest.importorskip('mujoco')
    source, target = tmp_path / 'robot.xml', tmp_path / 'robot.urdf'
    (tmp_path / 'part.xml').write_text(PART, encoding='utf-8')
    source.write_text(
        '<mujoco><option gravity="0 0 -2"/><include file="part.xml"/></mujoco>', encoding='utf-8'
    )
    assert export.main([str(source), str(target)]) == DONE
    assert 'gravity is 0 0 -2' in caplog.text
    mjcf = Robot.from_mjcf(source, backend='reference')
    urdf = Robot.from_urdf(target, gravity=(0.0, 0.0, -2.0), backend='reference')
    q, v, a = np.array([[0.3, 0.4], [1.0, -2.0], [3.0, 0.5]])
    close = {'rtol': 1e-12, 'atol': 1e-12}
    np.testing.assert_allclose(urdf.mass_matrix(q), mjcf.mass_matrix(q), **close)
    np.testing.assert_allclose(
        urdf.inverse_dynamics(q, v, a), mjcf.inverse_dynamics(q, v, a), **close
    )


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file is written."""
    source, target = tmp_path / 'robot.xml', tmp_path / 'robot.xml' / 'robot.urdf'
    source.write_text('<scene/>', encoding='utf-8')
    assert export.main([str(source), str(target)]) == NEGATIVE
    source.write_text('<robot><link name="a"/></robot>', encoding='utf-8')
    assert export.main([str(source), str(target)]) == UNUSABLE
    assert export.main([str(tmp_path / 'no.xml'), str(target)]) == UNUSABLE
    errors = capsys.readouterr().err
    assert 'root element is <scene>' in errors
    assert 'argument URDF' in errors
