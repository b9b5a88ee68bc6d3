"""cpp_blocks.py SOURCE_DIR TO: writes each block of C++ and CUDA of the Markdown pages to a file, in TO, and
prints its path. The file names page and line to the compiler."""

import pathlib
import re
import subprocess
import sys

SUFFIXES = {"cpp": "cc", "c++": "cc", "cc": "cc", "cuda": "cu"}

source, to = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
to.mkdir()
pages = subprocess.run(["git", "-C", source, "ls-files", "*.md"],
                       capture_output=True, text=True, check=True).stdout.split()
count = 0
for page in pages:
    text = (source / page).read_text()
    for block in re.finditer(r"^```(cpp|c\+\+|cc|cuda)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, block.start(2)) + 1
        path = to / f"block{count}.{SUFFIXES[block.group(1)]}"
        path.write_text(f'#line {line} "{page}"\n{block.group(2)}')
        print(path)
        count += 1
if count == 0:
    sys.exit("no page has a block of C++")
