#!/usr/bin/env python3
"""Changes one line of the sources at a time, and reports whether the folder's own tests notice.

    tests/mutants.py                          all of tests/mutants.txt, in build/asan, where
                                              ./check builds the tests of classes
    tests/mutants.py --only client/plan       those whose file or change matches a regular
                                              expression
    tests/mutants.py --check                  only reports changes whose line is not in its file

It edits the files in place and restores each from memory, even when it is interrupted. Run it in a
separate checkout where nobody else edits or builds. The build must be configured; each change costs
a compilation and the link of one test. Run it by hand: ./check runs it only with --check.

tests/mutants.txt consists of blocks, separated by empty lines. Lines that begin with # are
comments.

    records/engine/turns.cc engine_test Turns*
    - session->deficit = std::min(deficit, kQuantum);
    + session->deficit = deficit;

The first line names a file, a test's target and, unless all of its tests are wanted, a filter for
--gtest_filter. Several targets are separated by commas. A target with a dot, such as
python.slots_test, is a test of ctest in build/release, for which nothing is built. The text after "- " must occur once in the file. The text after "+ " replaces it,
and may be empty. A line "= why" says that no test can notice the change; such a change is not run.
The exit code is 0 if all other changes are noticed.
"""

import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NOTICED, HANGS, UNNOTICED, BROKEN, EQUIVALENT = (
    'noticed', 'timeout', 'unnoticed', 'not built', 'equivalent')

Mutant = collections.namedtuple('Mutant', 'line path target filter before after equivalent')


def parse_block(line, text):
    file, target, *rest = text[0].split(None, 2)
    fields = {row[0]: row[2:] for row in text[1:]}
    if '-' not in fields or '+' not in fields or set(fields) - set('-+='):
        sys.exit(f'line {line}: a block has lines with "- ", "+ " and perhaps "= ": {text}')
    return Mutant(line, file, target, rest[0] if rest else '*', fields['-'], fields['+'],
                  fields.get('='))


def read_mutants(path):
    mutants, block, begin = [], [], 0
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate([*lines, '\n'], 1):
            line = line.rstrip('\n')
            if line.startswith('#'):
                continue
            if not line and block:
                mutants.append(parse_block(begin, block))
                block = []
            elif line:
                begin = begin if block else number
                block.append(line)
    return mutants


def mutated(mutant, source):
    count = source.count(mutant.before)
    if count != 1:
        sys.exit(f'line {mutant.line}: {mutant.path} has {count} times: {mutant.before}')
    return source.replace(mutant.before, mutant.after)


def build(folder, target):
    if '.' in target:
        return True
    done = subprocess.run(['cmake', '--build', folder, '--target', target], capture_output=True)
    return done.returncode == 0


def run_test(folder, target, mutant, timeout):
    """Returns whether the target's tests pass; None if they take longer."""
    command = [os.path.join(folder, 'bin', target), f'--gtest_filter={mutant.filter}',
               '--gtest_fail_fast', '--gtest_brief=1']
    if '.' in target:
        command = ['ctest', '--test-dir', os.path.join(ROOT, 'build', 'release'), '--no-tests=error',
                   '-R', f'^{re.escape(target)}$']
    suppressions = os.path.join(ROOT, '.ci', 'lsan.supp')
    test = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                            env={**os.environ, 'LSAN_OPTIONS': f'suppressions={suppressions}'})
    try:
        return test.wait(timeout) == 0
    except subprocess.TimeoutExpired:
        return None
    finally:
        if test.poll() is None:
            os.killpg(test.pid, signal.SIGKILL)
            test.wait()


def try_targets(folder, mutant, timeout):
    result = BROKEN
    for target in mutant.target.split(','):
        if not build(folder, target):  # The change does not compile, or this build lacks the target.
            continue
        passes = run_test(folder, target, mutant, timeout)
        if not passes:
            return HANGS if passes is None else NOTICED
        result = UNNOTICED
    return result


def try_mutant(folder, mutant, timeout):
    path = os.path.join(ROOT, mutant.path)
    with open(path, encoding='utf-8') as file:
        source = file.read()
    changed = mutated(mutant, source)
    try:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(changed)
        return try_targets(folder, mutant, timeout)
    finally:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(source)


def print_table(results):
    kinds = [NOTICED, HANGS, UNNOTICED, BROKEN, EQUIVALENT]
    by_folder = collections.defaultdict(collections.Counter)
    for mutant, result in results:
        by_folder[os.path.dirname(mutant.path)][result] += 1
        by_folder['~all'][result] += 1
    print(f'\n{"folder":<22}' + ''.join(f'{kind:>12}' for kind in kinds) + f'{"share":>9}')
    for folder in sorted(by_folder):
        counts = by_folder[folder]
        ran = counts[NOTICED] + counts[HANGS] + counts[UNNOTICED]
        share = f'{100 * (counts[NOTICED] + counts[HANGS]) / ran:.0f} %' if ran else ''
        print(f'{folder.strip("~"):<22}' + ''.join(f'{counts[kind]:>12}' for kind in kinds)
              + f'{share:>9}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--list', default=os.path.join(ROOT, 'tests', 'mutants.txt'))
    parser.add_argument('--build', default=os.path.join(ROOT, 'build', 'asan'))
    parser.add_argument('--only', default='', help='regular expression')
    parser.add_argument('--check', action='store_true', help='build and run nothing')
    parser.add_argument('--timeout', type=float, default=120, help='seconds of a test')
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    mutants = [m for m in read_mutants(options.list)
               if re.search(options.only, f'{m.path} {m.target} {m.before} {m.after}')]
    # Check all of them first, because a text that is not in its file is an error.
    for mutant in mutants:
        with open(os.path.join(ROOT, mutant.path), encoding='utf-8') as file:
            mutated(mutant, file.read())
    if options.check:
        return 0
    results = []
    for mutant in mutants:
        begin = time.monotonic()
        result = EQUIVALENT
        if mutant.equivalent is None:
            result = try_mutant(options.build, mutant, options.timeout)
        results.append((mutant, result))
        print(f'{result:<10} {time.monotonic() - begin:4.0f} s  line {mutant.line}: {mutant.path}: '
              f'{mutant.before}  ->  {mutant.after}', flush=True)
    print_table(results)
    return 0 if all(result in (NOTICED, EQUIVALENT) for _, result in results) else 1


if __name__ == '__main__':
    sys.exit(main())
