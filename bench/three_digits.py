"""Numbers as the tables of bench/results show them. `python3 bench/three_digits.py` tests this file."""

import doctest
import sys


def three_digits(value):
    """Three significant digits without an exponent.

    >>> [three_digits(value) for value in (0.01234, 48.12, 999.4, 1189.6, 1234567, 1e-6)]
    ['0.0123', '48.1', '999', '1,190', '1,234,567', '0']
    """
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else "0"


if __name__ == "__main__":
    sys.exit(doctest.testmod().failed)
