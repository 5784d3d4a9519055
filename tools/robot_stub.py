# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Write the stub of the compiled functions of `Robot`: `python tools/robot_stub.py`.

Type checkers read robot_functions.pyi instead of robot_functions.py: no type of a decorator can say
that it adds the keywords `gravity` and `out` to a method.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from screw_dynamics_ros.core.robot import robot_functions  # noqa: E402
from screw_dynamics_ros.core.robot.functions import FUNCTIONS  # noqa: E402

SOURCE = Path(robot_functions.__file__)
STUB = SOURCE.with_suffix('.pyi')
HEAD = """# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

# Written by tools/robot_stub.py.

"""


def stub() -> str:
    """Return the text of the stub, not formatted."""
    tree = ast.parse(SOURCE.read_text(encoding='utf-8'))
    (functions,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    functions.body = [node for node in functions.body if isinstance(node, ast.FunctionDef)]
    for method in functions.body:
        assert isinstance(method, ast.FunctionDef)
        for name, kind in FUNCTIONS[method.name].keywords.items():
            annotation = ast.parse(kind, mode='eval').body
            method.args.kwonlyargs.append(ast.arg(name, annotation))
            method.args.kw_defaults.append(ast.Constant(None))
        method.decorator_list, method.body = [], [ast.Expr(ast.Constant(...))]
    used = {node.id for node in ast.walk(functions) if isinstance(node, ast.Name)}
    imports = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != '__future__':
            node.names = [alias for alias in node.names if alias.name in used]
            imports += [node] if node.names else []
    body: list[ast.stmt] = [*imports, functions]
    return HEAD + ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


if __name__ == '__main__':
    STUB.write_text(f'{stub()}\n', encoding='utf-8')
    for command in (('check', '--select', 'I', '--fix', '--quiet'), ('format', '--quiet')):
        subprocess.run([sys.executable, '-m', 'ruff', *command, str(STUB)], check=True)
