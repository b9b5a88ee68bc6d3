#!/usr/bin/env python3
"""Tells for every file of docs/figures/gpu whether its figures belong to the current kernels."""
import sys

import kernels_hash

if __name__ == "__main__":
    found = kernels_hash.states(*sys.argv[1:2])
    for name, state in found:
        print(f"docs/figures/gpu/{name}: {state}")
    if not found:
        print("docs/figures/gpu: unmeasured")
