# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Packaging for colcon and pip; name, version and texts come from package.xml."""

import os
import re
import runpy
import sys
from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

manifest = ElementTree.parse('package.xml').getroot()
package_name = manifest.findtext('name')
maintainer = manifest.find('maintainer')
registry = runpy.run_path(f'{package_name}/registry.py')  # by path: nothing is installed yet
urls = {url.get('type'): url.text for url in manifest.iter('url')}

# pip builds wheels. There one command comes into the PATH, and pip installs what is needed. colcon
# and pybuild call `install` or `develop`: executables are in lib/<package>, see setup.cfg, and
# rosdep installs what package.xml names.
is_wheel = not {'dist_info', 'bdist_wheel', 'editable_wheel'}.isdisjoint(sys.argv)
executables = {name: name for name in registry['EXECUTABLES']}

# What the core and the commands need; requirements/run.txt has the same versions.
NEEDED = [
    'numpy>=1.21,<3',
    'scipy>=1.8,<2',
    'defusedxml>=0.7,<1',
    'llvmlite>=0.39,<1',
    'PyYAML>=5.4,<7',
    'tqdm>=4.57,<5',
]
OPTIONAL = {
    'view': ['viser>=1.1,<2', 'trimesh>=4,<6'],
    'plot': ['matplotlib>=3.5,<4'],
    'recordings': ['rosbags>=0.11,<0.12', 'pyarrow>=14,<30', 'dask[distributed]>=2023.5,<2027'],
    'xacro': ['xacro>=2.0,<3'],
    'torch': ['torch>=2.2'],
    'jax': ['jax>=0.5,<1'],
    'mujoco': ['mujoco>=3.2,<5'],
    'pinocchio': ['pin>=4.1,<5'],
}
OPTIONAL['all'] = [each for extra in OPTIONAL.values() for each in extra]
OPTIONAL['test'] = ['pytest>=7,<10', 'hypothesis>=6.80,<7']


def shared(*folders):
    """Every file below the folders, as (target folder, files) of setuptools' data_files."""
    return [
        (f'share/{package_name}/{folder}', [os.path.join(folder, name) for name in sorted(names)])
        for top in folders
        for folder, _, names in os.walk(top)
        if names and '__pycache__' not in folder
    ]


def long_description():
    """README.md with links that hold outside of the repository."""
    text = Path('README.md').read_text(encoding='utf-8')
    text = re.sub(r'(\]\()(?!https?:|#)', rf'\1{urls["repository"]}/blob/main/', text)
    return re.sub(r'( src(?:set)?=")(?!https?:)', rf'\1{urls["repository"]}/raw/main/', text)


setup(
    name=package_name,
    version=manifest.findtext('version'),
    description=' '.join(manifest.findtext('description').split()),
    long_description=long_description() if is_wheel else None,  # colcon links no README.md
    long_description_content_type='text/markdown',
    url=urls['website'],
    project_urls={
        'Source': urls['repository'],
        'Issues': urls['bugtracker'],
        'Documentation': f'{urls["repository"]}/tree/main/doc',
        'Changelog': f'{urls["repository"]}/blob/main/CHANGELOG.rst',
    },
    author=manifest.findtext('author'),
    maintainer=maintainer.text,
    maintainer_email=maintainer.get('email'),
    license=manifest.findtext('license'),
    license_files=['LICENSE'],
    keywords=['robotics', 'dynamics', 'kinematics', 'screw theory', 'URDF', 'ROS 2'],
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Python :: 3',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 14)),
        'Topic :: Scientific/Engineering',
        'Topic :: Scientific/Engineering :: Physics',
        'Typing :: Typed',
    ],
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={package_name: ['py.typed', 'core/robot/*.pyi']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        *shared('launch', 'config', 'urdf', 'rviz'),
    ],
    python_requires='>=3.10',
    install_requires=NEEDED if is_wheel else [],
    extras_require=OPTIONAL,
    zip_safe=True,
    entry_points={
        'console_scripts': [
            f'{name} = {package_name}.entry:{function}'
            for name, function in ({'screw-dynamics': 'main'} if is_wheel else executables).items()
        ],
        'ros2doctor.checks': [
            f'{package_name} = {package_name}.cli.doctor.ros2_doctor:PackageCheck'
        ],
        'ros2doctor.report': [
            f'{package_name} = {package_name}.cli.doctor.ros2_doctor:PackageReport'
        ],
    },
)
