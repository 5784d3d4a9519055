# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws from the library, from modules and from files, which may change while they run."""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder
from itertools import count
from operator import add
from pathlib import Path

from ... import files
from ...errors import ArgumentError, UnknownNameError
from .law import Law, line_of
from .library import LAWS

MAX_FILE_BYTES = 2**20

_packages = count()  # of files without one

#: Time of modification [ns] and size of a file, (0, 0) if it is missing.
Stamp = tuple[int, int]


class LawFiles:
    """The source files of laws, each read once, and only if no other user could have written it.

    Parameters
    ----------
    contents : {path: bytes}, optional
        Files that have been read before; then no others are.

    Attributes
    ----------
    contents : {path: bytes}
    stamps : {path: Stamp}
        Of the files as they were read, also of those that could not be read.
    """

    def __init__(self, contents: Mapping[str, bytes] | None = None) -> None:
        self.contents = dict(contents or {})
        self.stamps: dict[str, Stamp] = {}
        self._is_complete = contents is not None

    def exists(self, path: Path) -> bool:
        """Whether there is such a file."""
        return str(path) in self.contents or (not self._is_complete and path.is_file())

    def is_folder(self, path: Path) -> bool:
        """Whether there is such a folder."""
        if self._is_complete:
            return any(each.startswith(f'{path}{os.sep}') for each in self.contents)
        return path.is_dir()

    def read(self, path: Path) -> bytes:
        """Return the content of a file; raises `ArgumentError`."""
        name = str(path)
        if name not in self.contents:
            self.stamps[name] = stamp_of(name)
            try:
                reason = files.why_not_trusted(path)
                source = b'' if reason else files.read(path, MAX_FILE_BYTES)
            except OSError as error:
                raise ArgumentError(f'law file {path.name}: {error.strerror}') from None
            if reason:
                raise ArgumentError(f'law file {path.name} is not executed: {reason}')
            self.contents[name] = source
        source = self.contents[name]
        lines = source.decode('utf-8', 'replace').splitlines(keepends=True)
        linecache.cache[name] = len(source), None, lines, name  # for the lines of errors
        return source


class LawLoader(SourceLoader):
    """Loads a module from `LawFiles`, without the byte code in a cache."""

    def __init__(self, path: Path, sources: LawFiles) -> None:
        self._path, self.sources = path, sources

    def get_filename(self, fullname: str) -> str:
        """Return the path of the module."""
        return str(self._path)

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a module, which then knows all files of the law."""
        vars(module)['__law_files__'] = self.sources.contents
        super().exec_module(module)

    def get_data(self, path: bytes | str) -> bytes:
        """Return the content of a file."""
        return self.sources.read(Path(os.fsdecode(path)))


class LawFinder(MetaPathFinder):
    """Finds the modules beside the file of a law, and those of its package.

    Attributes
    ----------
    places : list of (folder, name)
        Where top-level modules are found; of a package only this name, '' for all.
    packages : set of str
        Packages whose modules it finds, in their own folders.
    """

    def __init__(self, sources: LawFiles) -> None:
        self.sources = sources
        self.places: list[tuple[Path, str]] = []
        self.packages: set[str] = set()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the specification of a module, None for those of others."""
        parent, _, tail = fullname.rpartition('.')
        if parent:
            folders = list(map(Path, path or ())) if parent in self.packages else []
        else:
            folders = [folder for folder, name in self.places if name in ('', fullname)]
        for folder in folders:
            for file in (folder / tail / '__init__.py', folder / f'{tail}.py'):
                if self.sources.exists(file):
                    return self.spec_of(fullname, file)
        for folder in folders:  # without __init__.py
            if self.sources.is_folder(folder / tail) and (
                parent or PathFinder.find_spec(fullname) is None
            ):
                self.packages.add(fullname)
                spec = ModuleSpec(fullname, None, is_package=True)
                spec.submodule_search_locations = [str(folder / tail)]
                return spec
        return None

    def spec_of(self, name: str, file: Path) -> ModuleSpec | None:
        """Return the specification of the module in a file."""
        locations = None
        if file.name == '__init__.py':
            self.packages.add(name)
            locations = [str(file.parent)]
        return importlib.util.spec_from_file_location(
            name,
            file,
            loader=LawLoader(file, self.sources),
            submodule_search_locations=locations,
        )


class LawSource:
    """A law, or a sum of laws, by name. Its files are executed in this process.

    Parameters
    ----------
    text : str
        Names separated by '+': of laws in `core.law.LAWS`, 'module:law' or '/path/file.py:law'.
    sources : LawFiles, optional
        Where they are read.

    Attributes
    ----------
    law : Law

    Raises
    ------
    ArgumentError, UnknownNameError
        If there is no such law, or others may have written one of its files.
    """

    def __init__(self, text: str, sources: LawFiles | None = None) -> None:
        self._names = names_of(text)
        self._finder: LawFinder | None = None
        self._load(LawFiles() if sources is None else sources)

    def changed(self) -> Law | None:
        """Return the law again if a file has changed; raises as the class."""
        if not are_changed(self.files.stamps):
            return None
        return self._load(LawFiles())

    def _load(self, sources: LawFiles) -> Law:
        self.files, before = sources, self._finder
        for name, module in list(sys.modules.items()):
            spec = getattr(module, '__spec__', None)
            if before and (name in before.packages or is_of(getattr(spec, 'loader', None), before)):
                del sys.modules[name]
        if before in sys.meta_path:
            sys.meta_path.remove(before)
        self._finder = LawFinder(sources)
        sys.meta_path.insert(0, self._finder)
        self.law = reduce(add, map(self._one, self._names))
        return self.law

    def _one(self, name: str) -> Law:
        place, colon, attribute = name.rpartition(':')
        if not colon:
            return LAWS[name]
        if is_path(place):
            path = Path(os.path.abspath(place))
            module = self._executed(path.name, lambda: self._file(path))
        else:
            module = self._executed(place, lambda: self._module(name))
        found = getattr(module, attribute, None)
        if not isinstance(found, Law):
            raise ArgumentError(
                f'{Path(module.__file__ or place).name} has no law {attribute!r}; decorate a '
                'function with control_law'
            )
        return found

    def _executed(self, name: str, execute: Callable[[], types.ModuleType]) -> types.ModuleType:
        """Return a module; errors name the line."""
        try:
            return execute()
        except (Exception, SystemExit) as error:
            place = line_of(error, self.files.contents)
            if place is None and isinstance(error, ArgumentError):
                raise
            reason = f'{place or f"law file {name}"}: {type(error).__name__}: {error}'
            raise ArgumentError(reason) from None

    def _file(self, path: Path) -> types.ModuleType:
        """Return the module in a file, with the package that it belongs to."""
        assert self._finder is not None
        self.files.read(path)
        self._finder.places.append((path.parent, ''))
        folder, package = path.parent, ''
        while self.files.exists(folder / '__init__.py'):
            package = f'{folder.name}.{package}' if package else folder.name
            folder = folder.parent
        if package:
            self._finder.places.append((folder, package.partition('.')[0]))
            importlib.import_module(package)
        else:  # relative imports work without __init__.py, too
            package = f'law_files_{next(_packages)}'
            parent = ModuleSpec(package, None, is_package=True)
            parent.submodule_search_locations = [str(path.parent)]
            sys.modules[package] = importlib.util.module_from_spec(parent)
            self._finder.packages.add(package)
        name = f'{package}.{path.stem.replace(".", "_")}'
        if name not in sys.modules:
            spec = self._finder.spec_of(name, path)
            assert spec is not None
            assert spec.loader is not None
            sys.modules[name] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[name])
        return sys.modules[name]

    def _module(self, law: str) -> types.ModuleType:
        """Return the module of 'module:law'; raises `ArgumentError` if there is none."""
        assert self._finder is not None
        name = law.rpartition(':')[0]
        top = name.partition('.')[0]
        found = PathFinder.find_spec(top) if top else None
        if found is None:
            raise ArgumentError(f'law {law!r}: there is no module {name!r}')
        if found.submodule_search_locations is not None:
            folders = [Path(each).parent for each in found.submodule_search_locations]
        else:
            folders = [Path(found.origin).parent] if found.origin else []
        self._finder.places += [(folder, top) for folder in folders]
        return importlib.import_module(name)


def is_path(place: str) -> bool:
    """Whether the place of a law is a file, not a module."""
    return place.endswith('.py') or os.sep in place


def is_of(loader: object, finder: LawFinder) -> bool:
    """Whether a module was found by a finder."""
    return isinstance(loader, LawLoader) and loader.sources is finder.sources


def names_of(text: str) -> list[str]:
    """Return the names of the laws of a sum; raises `UnknownNameError`."""
    names = [each.strip() for each in text.split('+')]
    for name in names:
        if ':' not in name and name not in LAWS:
            raise UnknownNameError(
                f'there is no law {name!r}; there are {", ".join(LAWS)}, module:law and '
                '/path/file.py:law'
            )
    return names


def stamp_of(path: str) -> Stamp:
    """Return the stamp of a file."""
    try:
        state = os.stat(path)
    except OSError:
        return 0, 0
    return state.st_mtime_ns, state.st_size


def are_changed(stamps: Mapping[str, Stamp]) -> bool:
    """Whether one of some files is no longer the same."""
    return any(stamp_of(path) != stamp for path, stamp in stamps.items())


def options_of(assignments: Sequence[str]) -> dict[str, str]:
    """Return the options of a law from texts 'name=value'; raises `ArgumentError`."""
    options = {}
    for text in filter(None, assignments):
        name, equals, value = text.partition('=')
        if not equals or not name.isidentifier():
            raise ArgumentError(f'law_options: {text!r} is not name=value')
        options[name] = value
    return options
