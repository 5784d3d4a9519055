"""Write the measured table of doc/gradients.md: `python tools/gradient_tables.py`.

Figures come from benchmarks/results/gradients.json. The table stands between two comments, as in
`tools/readme_tables.py`. `--check` changes nothing and ends with status 1 if it would change.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from readme_tables import (
    BLOCK,
    RESULTS,
    ROOT,
    Results,
    limit,
    lost,
    machine_of,
    number,
    only_looks,
    ours,
    table,
    theirs,
    times,
    verdict,
    write,
)

PAGE = ROOT / 'doc' / 'gradients.md'
PART = 'gradients'


def gradients(folder: Path = RESULTS) -> str:
    """Return the table, and what it was measured on."""
    if not (folder / f'{PART}.json').exists():
        return 'Not measured yet.\n'
    results = Results(folder, PART)
    rows = [
        (
            figure['name'],
            ours(figure) if 'peer' in figure else number(figure['ours']),
            figure.get('peer', ''),
            theirs(figure),
            times(figure) if 'ratio' in figure else '',
            limit(figure),
            lost(figure),
        )
        for figure in results.figures
    ]
    heads = ('what', 'ours', 'beside', 'theirs', 'times faster', 'limit', 'worse')
    text = table(heads, rows, 'times in µs per sample or step: median (99th percentile)')
    text = f'{text}{verdict(results)}\n{machine_of(folder, [PART])}'
    return text.replace('](benchmarks/', '](../benchmarks/')


def update(text: str, folder: Path = RESULTS) -> str:
    """Return the page with its table made anew; raises `ValueError` if it has another one."""
    if [match.group(2) for match in BLOCK.finditer(text)] != [PART]:
        raise ValueError(f'the page has the tables of others, or none; it needs {PART!r}')
    return BLOCK.sub(lambda match: match[1] + gradients(folder) + match[4], text)


def main() -> None:
    """Write the page, or only look."""
    write(PAGE, update(PAGE.read_text(encoding='utf-8')), only_looks())


if __name__ == '__main__':
    main()
