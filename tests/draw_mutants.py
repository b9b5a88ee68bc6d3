#!/usr/bin/env python3
"""Draws random changes of one line, in the form of tests/mutants.txt, to be run by tests/mutants.py.

    tests/draw_mutants.py 30 --seed 1 records/image records/decode > /tmp/drawn.txt
    tests/mutants.py --list /tmp/drawn.txt

Without folders it draws from all product code, Python included. A change moves a boundary, turns a
comparison or a condition around, drops half of a condition, or drops a statement: those are the
mistakes that tests most often let through. The tests of a changed C++ file are those of its folder, or
of the next folder above that has any; those of the Python package are its own tests. Read what goes
unnoticed: some changes make no difference, as `<` for `<=` where both give the same.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_PRODUCT = re.compile(r'(^|/)(testing|tests|bench|sim)/|_test\.|_fuzzer\.|_bench\.|/testdata/')
PYTHON = 'client/python/penstock/'
# The tests of the Python package that need no other framework, the fastest first.
PYTHON_TESTS = ','.join(f'python.{name}_test' for name in (
    'slots', 'protocol', 'programs', 'dataset', 'loader', 'server', 'ranks', 'interruption', 'fork'))

# (what a line must match, what replaces the match)
CHANGES = [(re.compile(before), after) for before, after in (
    (r' < (?![^(]*>\()', ' <= '), (r' <= ', ' < '), (r' > ', ' >= '), (r' >= ', ' > '),
    (r' == ', ' != '), (r' != ', ' == '), (r' && [^&|]+?(?=\) |\);|;$)', ''), (r' && ', ' || '),
    (r' \|\| ', ' && '), (r' and ', ' or '), (r' or ', ' and '), (r' \+ 1\b', ''), (r' - 1\b', ''),
    (r'\btrue\b', 'false'), (r'\bfalse\b', 'true'), (r'\bTrue\b', 'False'), (r'\bFalse\b', 'True'),
    (r'\bstd::min\b', 'std::max'), (r'\bstd::max\b', 'std::min'),
    # A statement of its own: a reset, a notification, an update of a member.
    (r'^ +[\w.>-]+\.(clear|reset|NotifyAll|NotifyOne|erase|pop_front|pop_back)\(.*\);$', ''),
    (r'^ +(\+\+|--)[\w.>-]+;$', ''), (r'^ +[\w.>-]+(_|[.>]\w+) [+-]?= [^;]+;$', ''),
    (r'^( +)self\.\w+ [+-]?= [^(\[{]+$', r'\1pass'))]


def product_files(folders):
    listed = subprocess.run(['git', 'ls-files', '--', *folders], cwd=ROOT, check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    return [f for f in listed if not NOT_PRODUCT.search(f)
            and (f.endswith(('.cc', '.h')) or f.startswith(PYTHON) and f.endswith('.py'))]


def tests_of(file):
    """The targets whose tests must notice a change of the file, joined by commas."""
    if file.startswith(PYTHON):
        return PYTHON_TESTS
    for folder in pathlib.PurePath(file).parents:
        lists = ROOT / folder / 'CMakeLists.txt'
        found = re.findall(r'^ *penstock_test\((\w+)', lists.read_text() if lists.exists() else '', re.M)
        if found:
            return ','.join(found)
    return ''


def changes_of(file):
    """All changes that can be made: (line as it is, line as it becomes)."""
    source = (ROOT / file).read_text()
    for line in source.split('\n'):
        if not line.strip() or line.strip().startswith(('//', '#', '"""', 'static_assert', 'template')):
            continue
        if source.count(line) != 1:  # tests/mutants.py must find it.
            continue
        comment = line.find('//') if not file.endswith('.py') else -1
        code, rest = (line[:comment], line[comment:]) if comment >= 0 else (line, '')
        for before, after in CHANGES:
            found = before.search(code)
            if found and code[:found.start()].count('"') % 2 == 0:  # It is not in a string.
                yield line, before.sub(after, code, count=1) + rest


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('number', type=int)
    parser.add_argument('folders', nargs='*', default=['.'])
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_intermixed_args()
    rng = random.Random(args.seed)
    files = [f for f in product_files(args.folders) if tests_of(f)]
    lines = [(f, change) for f in files for change in changes_of(f)]
    if not lines:
        sys.exit(f'no line of {" ".join(args.folders)} can be changed, or there are no tests')
    for file, (before, after) in sorted(rng.sample(lines, min(args.number, len(lines)))):
        print(f'{file} {tests_of(file)}\n- {before}\n+ {after}\n')


if __name__ == '__main__':
    main()
