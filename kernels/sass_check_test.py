"""Tests sass_check.py with short listings like those of cuobjdump."""

import unittest

import sass_check

SASS = """
\tcode for sm_90a
\t\tFunction : {name}
\t.headerflags\t@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;      /* 0x00000a00ff017b82 */
                                                               /* 0x000fe20000000800 */
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;  /* 0x0 */
        /*0020*/             @!UP1 ULDC.64 UR4, c[0x0][0x208] ;  /* 0x0 */
{more}
        /*0f00*/                   BRA 0xf00 ;                 /* 0x0 */
        /*0f10*/                   NOP;                        /* 0x0 */
"""
USAGE = """
arch = sm_90a
 Function {name}:
  REG:{registers} STACK:{stack} SHARED:0 LOCAL:0 CONSTANT[0]:608 TEXTURE:0 SURFACE:0 SAMPLER:0
"""


def kernel(name="PartSumKernel<Bf16>", more="", registers=32, stack=0):
    found = sass_check.parse(SASS.format(name="f", more=more) +
                             USAGE.format(name="f", registers=registers, stack=stack))
    (result,) = found.values()
    result.name = name
    return result


def line(instruction):
    return f"        /*0030*/                   {instruction} ;  /* 0x0 */"


class SassCheckTest(unittest.TestCase):

    def check(self, checked, limit=(4, 32)):
        return sass_check.problems([checked], {(checked.name, "sm_90a"): limit}, ["sm_90a"])

    def test_counts_instructions_and_registers(self):
        found = kernel()
        self.assertEqual(found.opcodes, ["LDC", "LDG.E.128.CONSTANT", "ULDC.64", "BRA", "NOP"])
        self.assertEqual((found.instructions(), found.registers, found.code), (4, 32, "sm_90a"))
        self.assertEqual(self.check(found), [])

    def test_refuses_local_memory(self):
        for instruction in ("LDL R4, [R1]", "STL.64 [R1+0x8], R2"):
            found = self.check(kernel(more=line(instruction)))
            self.assertIn("1 accesses to local memory", found[0])
        self.assertIn("0 accesses to local memory, 16 bytes", self.check(kernel(stack=16))[0])

    def test_refuses_narrow_loads_where_vectors_are_due(self):
        narrow = line("LDG.E.64 R4, desc[UR4][R2.64]")
        self.assertEqual(self.check(kernel(more=narrow), (5, 32)), [
            "PartSumKernel<Bf16> for sm_90a: 1 global loads of fewer than 16 bytes, at most 0"])
        self.assertEqual(self.check(kernel(name="NormKernel", more=narrow), (5, 32)), [])

    def test_refuses_a_kernel_without_vectors(self):
        found = kernel()
        found.opcodes.remove("LDG.E.128.CONSTANT")
        self.assertIn("no LDG.E.128", self.check(found)[0])

    def test_refuses_sizes_far_from_the_table(self):
        longer = kernel(more="\n".join([line("FADD R1, R2, R3")] * 110))  # 114 instructions.
        for instructions, text in ((99, "114 instructions, the table has 99"), (101, None),
                                   (128, None), (130, "only 114 instructions, the table has 130")):
            found = self.check(longer, (instructions, 32))
            self.assertEqual(len(found), text is not None, found)
            self.assertIn(text or "", "".join(found))
        self.assertEqual(self.check(kernel(registers=32), (4, 25)), [])
        self.assertIn("33 registers, the table has 32", self.check(kernel(registers=33))[0])

    def test_refuses_what_only_one_of_code_and_table_has(self):
        limits = {("Gone<1>", "sm_90a"): (4, 32), ("Other", "sm_80"): (4, 32)}
        self.assertEqual([problem.split(":")[0] for problem in
                          sass_check.problems([kernel()], limits, ["sm_80", "sm_90a"])],
                         ["no code for sm_80", "PartSumKernel<Bf16> for sm_90a",
                          "Gone<1> for sm_90a"])

    def test_float_attention_has_no_size_but_no_local_memory_either(self):
        name = "AttentionKernel<float, 16, true, 0u>"
        self.assertEqual(sass_check.problems([kernel(name=name)], {("B", "sm_90a"): (4, 32)}, []),
                         ["B for sm_90a: in the table, but not built (--write)"])
        self.assertIn("1 accesses to local memory", self.check(
            kernel(name=name, more=line("LDL R4, [R1]")))[0])
        self.assertEqual(sass_check.written([kernel(name=name)], "13.0", "13.0", {}), {})

    def test_the_table_survives_writing_and_reading(self):
        limits = {("A<float, 8>", "sm_80"): (10, 20), ("A<float, 8>", "sm_90a"): (11, 21),
                  ("B", "sm_90a"): (12, 22)}
        self.assertEqual(sass_check.limits_of(sass_check.table_of("13.0", limits)),
                         ("13.0", limits))
        written = sass_check.written([kernel()], "13.0", "13.0", limits)
        self.assertEqual(written, {("A<float, 8>", "sm_80"): (10, 20),
                                   ("PartSumKernel<Bf16>", "sm_90a"): (4, 32)})
        self.assertEqual(len(sass_check.written([kernel()], "13.1", "13.0", limits)), 1)

    def test_names_lose_namespaces_and_parameters(self):
        for text, name in (
            ("void penstock::cuda::(anonymous namespace)::K<penstock::Bf16, 8, 1>(penstock::Bf16*)",
             "K<Bf16, 8, 1>"),
            ("void penstock::cuda::A<float, 16, true>(penstock::cuda::Arguments<float>)",
             "A<float, 16, true>"),
            ("penstock::cuda::(anonymous namespace)::NormKernel(double const*)", "NormKernel"),
            ("void penstock::cuda::T<(bool)1, (int)16>(int)", "T<1, 16>")):
            self.assertEqual(sass_check.short_name(text), name)


if __name__ == "__main__":
    unittest.main()
