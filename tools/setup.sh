#!/bin/sh
# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

# Make the virtual environment, or bring it up to date:  tools/setup.sh [run | all]
# Finds an interpreter; everything else is tools/environment, which needs the standard library only.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=${VENV:-.venv}

runs() {  # a Python that tools/environment can run on
    "$1" -S -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}
complete() {  # one that also has wheels, makes virtual environments and builds extension modules
    "$1" -S -c '
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(not ((3, 10) <= sys.version_info[:2] <= (3, 13) and os.path.exists(header)))' 2>/dev/null
}
update() {
    exec "$1" -E -s -S tools/environment "$venv" "$wanted"
}
wanted=${1:-all}

# A sourced ROS 2 belongs to one interpreter, python3. Otherwise an environment that is there keeps
# its own, and a new one gets the newest complete one, or the newest that can say what it lacks.
if [ -n "${PYTHON:-}" ]; then candidates=$PYTHON
elif [ -n "${ROS_DISTRO:-}" ] && [ -n "${AMENT_PREFIX_PATH:-}" ]; then candidates=python3
elif runs "$venv/bin/python"; then update "$venv/bin/python"
else candidates='python3.13 python3.12 python3.11 python3.10 python3'
fi
for check in complete runs; do
    for python in $candidates; do
        if "$check" "$python"; then update "$python"; fi
    done
done

found=$("${PYTHON:-python3}" -V 2>&1) || found="no ${PYTHON:-python3}"
cat >&2 <<EOF
setup: needs Python 3.10, 3.11, 3.12 or 3.13; found: $found
    Debian, Ubuntu:     sudo apt install python3 python3-venv python3-dev
    to name one:        make PYTHON=/path/to/python3.12 ...
EOF
exit 1
