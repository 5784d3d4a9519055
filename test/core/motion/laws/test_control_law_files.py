# Copyright 2026 The screw_dynamics_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Files that the C++ loader gets: cut short, damaged, while they are written, none at all.

Each program loads in a process of its own, so that one that ends by a signal fails its test.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from screw_dynamics_ros.core import Robot
from screw_dynamics_ros.core.motion.laws.c_law import c_law
from screw_dynamics_ros.core.motion.laws.law_source import LawSource
from support.cpp_programs import SANITIZERS, built, needs_compilers, run, shared_object, with_digest
from support.robots import urdf_path

pytestmark = needs_compilers

DIGEST_BYTES = 68  #: 64 hexadecimal digits, two blanks, a hyphen and a line feed.
NOT_WHOLE = 'is being written, incomplete or damaged: its last line is not the SHA-256 of all'
MAX_BYTES = 64 << 20

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include "screw_dynamics_control/control_law.hpp"
using namespace screw_dynamics_control;

static ControlLawExpectation expected;

/// What comes of a file: the hash of its law, or why it is refused.
static std::string result(const std::string & path)
{
  try {
    ControlLaw law(path, expected);
    const double q[2] = {0.3, -0.7}, v[2] = {0.0, 0.0};
    double tau[2];
    law.update(q, v, law.constants().gravity, tau);
    return law.constants().law_hash;
  } catch (const ControlLawError & error) {
    return error.what();
  }
}

static void print(const std::map<std::string, long> & counts)
{
  for (const auto & [text, count] : counts) {std::printf("%ld %s\n", count, text.c_str());}
}

static std::string content(const std::string & path)
{
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

static void write_in_place(const std::string & path, const std::string & bytes)
{
  std::ofstream(path, std::ios::binary) << bytes;
}

int main(int count, char ** arguments)
{
  expected.joints = {"joint1", "joint2"};
  const std::string task = arguments[1];
  std::map<std::string, long> counts;
  if (task == "digest") {
    for (int k = 2; k < count; ++k) {std::puts(sha256(content(arguments[k])).c_str());}
  } else if (task == "files") {
    for (int k = 2; k < count; ++k) {std::puts(result(arguments[k]).c_str());}
  } else if (task == "lengths") {
    const auto size = static_cast<off_t>(content("cut.so").size());
    for (off_t length = size - 1; length >= 0; length -= length + 200 < size ? 17 : 1) {
      if (truncate("cut.so", length) != 0) {return 2;}
      ++counts[result("cut.so")];
    }
    print(counts);
  } else if (task == "bits") {
    const std::string whole = content("law.so");
    for (std::size_t k = 0; k < whole.size(); k += k + 100 < whole.size() ? 37 : 1) {
      std::string damaged = whole;
      damaged[k] = static_cast<char>(damaged[k] ^ 1 << k % 8);
      write_in_place("damaged.so", damaged);
      ++counts[result("damaged.so")];
    }
    print(counts);
  } else if (task == "often") {
    for (int k = 0; k < std::atoi(arguments[2]); ++k) {++counts[result("copied.so")];}
    print(counts);
  } else if (task == "change") {
    const ControlLaw law("law.so", expected);
    for (const auto & each : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(each, error).string();
      if (target.find("memfd:screw_dynamics") == std::string::npos) {continue;}
      const int number = std::atoi(each.path().filename().c_str());
      std::printf("%d %d\n", ftruncate(number, 0), static_cast<int>(pwrite(number, "0", 1, 0)));
    }
  } else {
    ControlLawSwitch laws;
    const auto step = [&](const std::string & name) {
        try {
          laws.install(std::make_unique<ControlLaw>("kept.so", expected));
        } catch (const ControlLawError & error) {
          std::printf("%s: ", error.what());
        }
        ControlLaw * const law = laws.current();
        const double q[2] = {0.3, -0.7}, v[2] = {0.0, 0.0};
        double tau[2];
        law->update(q, v, law->constants().gravity, tau);
        std::printf("%s %s %a %a\n", name.c_str(), law->constants().law_hash, tau[0], tau[1]);
      };
    const std::string first = content("law.so"), second = content("other.so");
    write_in_place("kept.so", first);
    step("first");
    write_in_place("kept.so", second);
    step("second");
    write_in_place("kept.so", first);
    step("again");
    write_in_place("kept.so", second.substr(0, second.size() / 2));
    step("half");
    if (truncate("kept.so", 0) != 0) {return 2;}
    step("empty");
    std::remove("kept.so");
    step("removed");
  }
}
"""


def law_file(folder: Path, name: str, law: str) -> str:
    """Compile a law of the library for an arm with two joints; return its hash."""
    robot = Robot.from_urdf(urdf_path('planar_2r'))
    code = c_law(LawSource(law).law.on(robot), name)
    (folder / f'{name}.h').write_text(code.header)
    (folder / f'{name}.c').write_text(code.source)
    shared_object(folder / f'{name}.c')
    return code.header.partition('law hash')[2].split()[0]


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    """Return the folder of the program."""
    folder = tmp_path_factory.mktemp('loader')
    built(folder, 'checked', PROGRAM, '-O1', *SANITIZERS)
    return folder


@pytest.fixture(scope='module')
def hashes(folder) -> tuple[str, str]:
    """Return the hashes of the laws in law.so and other.so."""
    names = {'law': 'gravity_compensation', 'other': 'gravity_compensation+joint_limit_repulsion'}
    first, second = (law_file(folder, *each) for each in names.items())
    assert first != second
    return first, second


def counted(lines: list[str]) -> Counter[str]:
    """Return how often each result came."""
    return Counter({text: int(count) for count, text in (line.split(' ', 1) for line in lines)})


def test_the_digest_is_that_of_hashlib(folder, tmp_path):
    """At all lengths about the ends of blocks, with all bytes."""
    contents = [bytes((37 * k + n) % 256 for k in range(n)) for n in (*range(131), 100_000)]
    files = [tmp_path / str(k) for k in range(len(contents))]
    for file, content in zip(files, contents):
        file.write_bytes(content)
    expected = [hashlib.sha256(content).hexdigest() for content in contents]
    assert run(folder / 'checked', 'digest', *map(str, files)) == expected


def test_a_file_cut_at_any_length_is_refused(folder, hashes):
    shutil.copy(folder / 'law.so', folder / 'cut.so')
    size = (folder / 'cut.so').stat().st_size
    ((text, count),) = counted(run(folder / 'checked', 'lengths')).items()
    assert text.startswith(f'cut.so {NOT_WHOLE}')
    assert count > 200 + (size - 200) // 17 - 2


def test_a_file_with_one_other_bit_is_refused(folder, hashes):
    ((text, count),) = counted(run(folder / 'checked', 'bits')).items()
    assert text.startswith(f'damaged.so {NOT_WHOLE}')
    assert count > 400


def rewrite(path: Path, contents: list[bytes], ended: threading.Event) -> None:
    """Copy over a file in small parts, cut or in place, until the event."""
    turn = 0
    while not ended.is_set():
        content = contents[turn // 2 % len(contents)]
        with open(path, 'wb' if turn % 2 else 'r+b', buffering=0) as file:
            for start in range(0, len(content), 1500):
                file.write(content[start : start + 1500])
            file.truncate()
        turn += 1


def test_a_file_is_refused_while_another_is_copied_over_it(folder, hashes):
    """Hundreds of loads: each gets one of both laws, or is refused."""
    path, ended = folder / 'copied.so', threading.Event()
    contents = [(folder / name).read_bytes() for name in ('law.so', 'other.so')]
    path.write_bytes(contents[0])
    writer = threading.Thread(target=rewrite, args=(path, contents, ended))
    writer.start()
    try:
        results = counted(run(folder / 'checked', 'often', '800'))
    finally:
        ended.set()
        writer.join()
    refused = [text for text in results if text.startswith(f'copied.so {NOT_WHOLE}')]
    assert results.total() == 800
    assert set(results) <= {*hashes, *refused}
    path.write_bytes(contents[1])
    assert run(folder / 'checked', 'files', path.name) == [hashes[1]]


def test_the_current_law_remains_until_another_is_whole(folder, hashes):
    """It does not change with its file, which is replaced twice, cut and removed."""
    names, reasons, laws, torques = [], [], [], []
    for line in run(folder / 'checked', 'kept'):
        *reason, last = line.rsplit(': ', 1)
        name, law, *tau = last.split()
        names.append(name)
        reasons.append(''.join(reason))
        laws.append(law)
        torques.append([float.fromhex(each) for each in tau])
    assert names == ['first', 'second', 'again', 'half', 'empty', 'removed']
    first, second = hashes
    assert laws == [first, second, *[first] * 4]
    assert torques[2:] == [torques[0]] * 4
    assert [NOT_WHOLE in reason for reason in reasons] == [False] * 3 + [True] * 2 + [False]
    assert reasons[-1] == 'kept.so cannot be opened: No such file or directory'


def test_nothing_can_change_the_copy(folder, hashes):
    assert run(folder / 'checked', 'change') == ['-1 -1']


def test_what_is_no_file_of_a_law_is_refused(folder, hashes, tmp_path):
    """Without waiting for a pipe, reading a device to its end or a file larger than the bound."""
    whole = (folder / 'law.so').read_bytes()
    library, digest = whole[:-DIGEST_BYTES], whole[-DIGEST_BYTES:]
    other = (folder / 'other.so').read_bytes()
    machine = library[:18] + b'\xff\xff' + library[20:]  # the member e_machine of its header
    contents = {
        'empty': b'',
        'without': library,
        'of_another': library + other[-DIGEST_BYTES:],
        'uppercase': library + digest.upper(),
        'digest': digest,
        'sources': (folder / 'law.c').read_bytes(),
        'spaces in name.so': library,
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    expected = dict.fromkeys(contents, NOT_WHOLE)
    for name, content in {'machine': machine, 'text': b'no library'}.items():
        (tmp_path / name).write_bytes(content)
        with_digest(tmp_path / name)
        expected[name] = 'cannot be loaded: '
    os.mkfifo(tmp_path / 'pipe')
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / 'socket'))
    for name, size in {'sparse': 1 << 40, 'large': MAX_BYTES + 1, 'zeros': MAX_BYTES}.items():
        with open(tmp_path / name, 'wb') as file:
            file.truncate(size)
        expected[name] = NOT_WHOLE if name == 'zeros' else 'is larger than 64 MiB'
    for name, mode in {'public': 0o666, 'sticky': 0o1666}.items():
        (tmp_path / name).write_bytes(whole)
        (tmp_path / name).chmod(mode)
    links = {'loop': tmp_path / 'loop', 'to_nothing': tmp_path / 'none'}
    links |= {'to_pipe': tmp_path / 'pipe', 'to_public': tmp_path / 'public'}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    expected |= {'pipe': 'is not a file', '.': 'is not a file', 'to_pipe': 'is not a file'}
    expected |= {'/dev/zero': 'is not a file', 'none': 'cannot be opened: No such file'}
    expected |= {'socket': 'cannot be opened: No such device', 'to_nothing': 'cannot be opened: '}
    expected |= {'loop': 'cannot be opened: ', '': 'cannot be opened: '}
    expected |= dict.fromkeys(
        ['public', 'sticky', 'to_public'], 'can be changed by other users; it must be'
    )
    program = shutil.copy(folder / 'checked', tmp_path)
    lines = run(Path(program), 'files', *expected)
    assert len(lines) == len(expected)
    for (name, reason), line in zip(expected.items(), lines):
        assert line.startswith(f'{name} {reason}')


def test_the_remedy_of_the_message_works(folder, hashes, tmp_path):
    """Also twice: the second digest is that of the file with the first."""
    library = (folder / 'law.so').read_bytes()[:-DIGEST_BYTES]
    (tmp_path / 'my law.so').write_bytes(library)
    program = Path(shutil.copy(folder / 'checked', tmp_path))
    (line,) = run(program, 'files', 'my law.so')
    for _ in range(2):
        command = line[line.index('sha256sum') :]
        subprocess.run(command, shell=True, check=True, cwd=tmp_path)
        assert run(program, 'files', 'my law.so') == [hashes[0]]
    content = (tmp_path / 'my law.so').read_bytes()
    assert len(content) == len(library) + 2 * DIGEST_BYTES


def test_a_folder_in_which_others_may_write_is_refused(folder, hashes, tmp_path):
    """Unless it is sticky, so that they cannot replace what is not theirs; links are followed."""
    place = tmp_path / 'public' / 'own'
    place.mkdir(parents=True)
    shutil.copy(folder / 'law.so', place)
    (tmp_path / 'link.so').symlink_to(place / 'law.so')
    program = Path(shutil.copy(folder / 'checked', tmp_path))
    files = [str(place / 'law.so'), 'link.so']
    for mode, is_taken in ((0o755, True), (0o777, False), (0o1777, True), (0o757, False)):
        place.parent.chmod(mode)
        if is_taken:
            expected = [hashes[0]] * 2
        else:
            reason = 'can be changed by other users; '
            remedy = " must be yours or root's, with mode 755"
            expected = [f'{file} {reason}{place.parent}{remedy}' for file in files]
        assert run(program, 'files', *files) == expected
