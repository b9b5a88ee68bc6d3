#!/usr/bin/env python3
"""Disassembles the kernels of object files and checks the machine code.

No kernel may use local memory. The kernels of VECTOR_LOADS must load 16 bytes at a time. The number
of instructions and registers of each kernel must be that of sass_limits.tsv, with a tolerance. Exit
code 77 means that cuobjdump or nvdisasm is missing (.ci/python.sh installs both).
"""

import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMITS = ROOT / "kernels" / "sass_limits.tsv"
SKIPPED = 77

# Kernels whose names begin with one of these must have an LDG.E.128. The number is the maximum number
# of global loads of fewer than 16 bytes in their code.
VECTOR_LOADS = {
    "LayerNormKernel<": 0,
    "LayerNormBackwardKernel<": 2,
    "PartSumKernel<": 0,
}

# The size of these kernels is not compared: float attention is for comparisons, and its products of
# tiles are long.
OF_ANY_SIZE = ("AttentionKernel<float", "AttentionBackwardKernel<float")

FUNCTION = re.compile(r"^\s+Function : (\S+)$")
CODE = re.compile(r"^\s+code for (sm_\w+)$")
INSTRUCTION = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9_.]*)")
USAGE = re.compile(r"^\s*REG:(\d+) STACK:(\d+) SHARED:\d+ LOCAL:(\d+)")
COMPILER = re.compile(rb"Cuda compilation tools, release ([0-9.]+)")


@dataclasses.dataclass
class Kernel:
    """The machine code of one kernel for one architecture."""

    name: str  # Without namespaces and parameters.
    code: str  # As sm_90a.
    registers: int = 0
    local_bytes: int = 0
    opcodes: list[str] = dataclasses.field(default_factory=list)

    def instructions(self):
        """Returns the number of instructions without the padding behind the last one."""
        return sum(opcode != "NOP" for opcode in self.opcodes)

    def count(self, pattern):
        return sum(re.match(pattern, opcode) is not None for opcode in self.opcodes)

    def wide_loads(self):
        return self.count(r"LDG\.E\.(\w+\.)*128\b")

    def narrow_loads(self):
        return self.count(r"LDG\.") - self.wide_loads()


def short_name(demangled):
    """Returns the name with template arguments, but without namespaces, result and parameters."""
    name = re.sub(r"\(anonymous namespace\)::|penstock::|cuda::|^void ", "", demangled)
    name = re.sub(r"\((bool|int|unsigned int)\)", "", name)
    return re.sub(r"\(.*$", "", name).strip()


def demangle(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), text=True, stdout=subprocess.PIPE,
                          check=True)
    return dict(zip(names, done.stdout.splitlines()))


def parse(text):
    """Returns {(mangled name, code): Kernel} of cuobjdump's output for -sass and -res-usage."""
    kernels, code, kernel = {}, None, None
    for line in text.splitlines():
        if found := CODE.match(line) or re.match(r"^arch = (sm_\w+)$", line):
            code = found[1]
        elif found := FUNCTION.match(line) or re.match(r"^\s*Function (\S+):$", line):
            kernel = kernels.setdefault((found[1], code), Kernel(found[1], code))
        elif found := INSTRUCTION.match(line):
            kernel.opcodes.append(found[1])
        elif found := USAGE.match(line):
            kernel.registers = int(found[1])
            kernel.local_bytes = int(found[2]) + int(found[3])
    return kernels


def disassemble(tool, objects):
    kernels = {}
    for path in objects:
        for options in (["-sass"], ["-res-usage"]):
            done = subprocess.run([tool, *options, path], text=True, stdout=subprocess.PIPE,
                                  check=True)
            for key, kernel in parse(done.stdout).items():
                known = kernels.setdefault(key, kernel)
                if options == ["-res-usage"]:
                    known.registers, known.local_bytes = kernel.registers, kernel.local_bytes
    names = demangle(sorted({name for name, _ in kernels}))
    for kernel in kernels.values():
        kernel.name = short_name(names[kernel.name])
    return sorted(kernels.values(), key=lambda kernel: (kernel.name, kernel.code))


def limits_of(text):
    """Returns nvcc's version and {(kernel, code): (instructions, registers)} of a table."""
    lines = text.splitlines()
    codes = lines[1].split("\t")[1:]
    limits = {}
    for line in lines[2:]:
        name, *cells = line.split("\t")
        for code, cell in zip(codes, cells):
            if cell:
                limits[name, code] = tuple(map(int, cell.split()))
    return lines[0].removeprefix("# nvcc "), limits


def table_of(version, limits):
    codes = sorted({code for _, code in limits})
    rows = [f"# nvcc {version}", "\t".join(["instructions and registers of", *codes])]
    for name in sorted({name for name, _ in limits}):
        sizes = (limits.get((name, code)) for code in codes)
        rows.append("\t".join([name, *("%d %d" % size if size else "" for size in sizes)]))
    return "\n".join(rows) + "\n"


def code_problems(kernel):
    """Returns what is wrong with the code of a kernel, whatever its size."""
    found = []
    local = kernel.count(r"(LDL|STL)\b")
    if local or kernel.local_bytes:
        found.append(f"{local} accesses to local memory, {kernel.local_bytes} bytes of it")
    for begin, most in VECTOR_LOADS.items():
        if not kernel.name.startswith(begin):
            continue
        if kernel.wide_loads() == 0:
            found.append("no LDG.E.128")
        if kernel.narrow_loads() > most:
            found.append(f"{kernel.narrow_loads()} global loads of fewer than 16 bytes, "
                         f"at most {most}")
    return found


def size_problems(kernel, limit):
    """Compares a kernel's size with its row of the table. The tolerance is 5 % and 8 instructions.
    Registers may fill the last eight, because a GPU allocates them in eights."""
    instructions, registers = limit
    tolerance = instructions // 20 + 8
    found = []
    if kernel.instructions() > instructions + tolerance:
        found.append(f"{kernel.instructions()} instructions, the table has {instructions}")
    if kernel.instructions() < instructions - tolerance:
        found.append(f"only {kernel.instructions()} instructions, the table has {instructions} "
                     "(--write)")
    if kernel.registers > (registers + 7) // 8 * 8:
        found.append(f"{kernel.registers} registers, the table has {registers}")
    return found


def problems(kernels, limits, codes):
    """Returns a line for each problem. Sizes are compared for the architectures in `limits`."""
    found = [f"no code for {code}" for code in codes if all(k.code != code for k in kernels)]
    known = {code for _, code in limits}
    for kernel in kernels:
        own = code_problems(kernel)
        if kernel.code in known and not kernel.name.startswith(OF_ANY_SIZE):
            limit = limits.get((kernel.name, kernel.code))
            own += size_problems(kernel, limit) if limit else ["not in the table (--write)"]
        found += [f"{kernel.name} for {kernel.code}: {problem}" for problem in own]
    built = {(kernel.name, kernel.code) for kernel in kernels}
    for name, code in sorted(limits):
        if code in {kernel.code for kernel in kernels} and (name, code) not in built:
            found.append(f"{name} for {code}: in the table, but not built (--write)")
    return found


def find_tool(name):
    """Returns a tool of build/python, $PATH or CUDA's usual folder; None if there is none."""
    wheels = sorted(ROOT.glob(f"build/python/lib/python3*/site-packages/nvidia/*/bin/{name}"))
    places = [*wheels, shutil.which(name), pathlib.Path("/usr/local/cuda/bin") / name]
    return next((place for place in places if place and pathlib.Path(place).exists()), None)


def version_of(objects):
    """Returns the release of the nvcc that compiled the objects, as noted in them."""
    found = {match.decode() for path in objects for match in COMPILER.findall(path.read_bytes())}
    return "/".join(sorted(found))


def written(kernels, version, table_version, limits):
    """Returns the limits with the sizes of these kernels. Architectures that were not built keep
    their sizes if the table is of the same nvcc."""
    built = {kernel.code for kernel in kernels}
    kept = limits.items() if version == table_version else ()
    return {key: limit for key, limit in kept if key[1] not in built} | {
        (kernel.name, kernel.code): (kernel.instructions(), kernel.registers)
        for kernel in kernels if not kernel.name.startswith(OF_ANY_SIZE)}


def print_sizes(kernels):
    for kernel in kernels:
        print(f"{kernel.code:7}{kernel.instructions():6} instructions {kernel.registers:4} "
              f"registers {kernel.wide_loads():3} wide {kernel.narrow_loads():3} narrow global "
              f"loads {kernel.name}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("objects", nargs="+", type=pathlib.Path)
    parser.add_argument("--code", action="append", default=[],
                        help="an architecture that the objects must have code for")
    parser.add_argument("--write", action="store_true",
                        help="write the sizes of these kernels into the table")
    parser.add_argument("--show", action="store_true", help="print the size of each kernel")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    tools = [find_tool(name) for name in ("cuobjdump", "nvdisasm")]
    if None in tools:
        print("skipped: no cuobjdump or no nvdisasm; .ci/python.sh installs both")
        return SKIPPED
    kernels = disassemble(tools[0], arguments.objects)
    version = version_of(arguments.objects)
    table_version, limits = limits_of(LIMITS.read_text())
    if arguments.show:
        print_sizes(kernels)
    if arguments.write:
        limits = written(kernels, version, table_version, limits)
        LIMITS.write_text(table_of(version, limits))
    elif version != table_version:
        print(f"sizes not compared: the table is of nvcc {table_version}, this is nvcc {version}")
        limits = {}
    for code in sorted({kernel.code for kernel in kernels} - {code for _, code in limits}):
        print(f"sizes not compared for {code}: the table does not have them")
    found = problems(kernels, limits, arguments.code)
    print("\n".join(found) or f"{len(kernels)} kernels checked")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
