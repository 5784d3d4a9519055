# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packaging for colcon and pip; name, version and texts come from package.xml."""

import os
import runpy
from xml.etree import ElementTree

from setuptools import find_packages, setup

manifest = ElementTree.parse('package.xml').getroot()
package_name = manifest.findtext('name')
maintainer = manifest.find('maintainer')
registry = runpy.run_path(f'{package_name}/registry.py')  # by path: nothing is installed yet


def shared(*folders):
    """Every file below the folders, as (target folder, files) of setuptools' data_files."""
    return [
        (f'share/{package_name}/{folder}', [os.path.join(folder, name) for name in sorted(names)])
        for top in folders
        for folder, _, names in os.walk(top)
        if names and '__pycache__' not in folder
    ]


setup(
    name=package_name,
    version=manifest.findtext('version'),
    description=' '.join(manifest.findtext('description').split()),
    maintainer=maintainer.text,
    maintainer_email=maintainer.get('email'),
    license=manifest.findtext('license'),
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={package_name: ['py.typed', 'core/robot/*.pyi']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *shared('launch', 'config', 'urdf', 'rviz'),
    ],
    python_requires='>=3.10',
    install_requires=['setuptools'],
    extras_require={'native': ['llvmlite'], 'test': ['pytest'], 'view': ['viser>=1,<2']},
    zip_safe=True,
    entry_points={
        'console_scripts': [
            f'{name} = {package_name}.entry:{name}' for name in registry['EXECUTABLES']
        ],
    },
)
