"""``python -m penstock ...`` is ``penstock ...``."""

from penstock._programs import run_penstock

if __name__ == "__main__":
    run_penstock()
