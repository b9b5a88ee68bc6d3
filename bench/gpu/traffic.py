"""Counts the bytes and FLOPs of a training step of the board models in bf16, operation by operation.

The operations are those of trainer/step with the fusions of trainer/backend/device. Each reads its
operands from device memory and writes its results there. No array is expected in a cache. Workspaces,
packed records and arrays with one row for a position are left out: less than 0.1 % of the bytes."""
import typing

from sizes import FULL

TOKENS, FEATURES = 64, 40  # 34 features, padded to 16 bytes.
BF16_BYTES = 2
STATISTICS = 4  # Mean and deviation of a norm are floats, as large as four columns of bf16.
PARAMETERS = {"tiny": 144_577, "default": 4_308_737, "large": 38_143_489}
PARTS = ("products", "bias gradients", "norms", "attention", "ends", "parameters")


class Operation(typing.NamedTuple):
    """What an operation moves and computes for one position."""
    part: str
    bytes: float
    flops: float = 0


def over_tokens(part, columns, flops=0):
    """Returns an operation that reads or writes so many values of each token."""
    return Operation(part, BF16_BYTES * TOKENS * columns, flops)


def linear(inputs, outputs, forward=0, backward=0):
    """Returns a layer's product and the gradients of its weight, bias and input. The epilogues of the
    first and of the last move so many further columns."""
    flops, both = 2 * TOKENS * inputs * outputs, inputs + outputs
    return [over_tokens("products", both + forward, flops), over_tokens("products", both, flops),
            over_tokens("bias gradients", outputs), over_tokens("products", both + backward, flops)]


def norm(dim, residual):
    """Returns a norm and its backward. If there is a `residual`, its gradient is read and added."""
    return [over_tokens("norms", 2 * dim + STATISTICS),
            over_tokens("norms", 3 * dim + residual + STATISTICS)]


def attention(dim):
    """Returns forward, which reads q, k, v and writes the output; and backward, which also reads the
    output's gradient, and writes three gradients."""
    flops = 4 * TOKENS * TOKENS * dim
    return [over_tokens("attention", 4 * dim, flops), over_tokens("attention", 7 * dim, 2 * flops)]


def block(dim, hidden):
    """Returns a block. Its epilogues read a residual, write the input of the GELU, or read it."""
    return [*norm(dim, dim), *linear(dim, 3 * dim), *attention(dim), *linear(dim, dim, forward=dim),
            *norm(dim, dim), *linear(dim, hidden, forward=hidden),
            *linear(hidden, dim, forward=dim, backward=hidden)]


def ends(dim):
    """Returns what is before and after the blocks. No operation computes the gradient of the features."""
    expand, position, mean = [FEATURES], [2 * dim, dim], [dim, dim]
    return [*linear(FEATURES, dim)[:3], *norm(dim, 0),
            *(over_tokens("ends", columns) for columns in expand + position + mean)]


def update(count, shards, batch):
    """Returns one position's share of what a step does to the parameters. A shard sets its float
    gradients to zero, adds to them, and reads the weights in bf16 twice. Shards are added up. The norm
    reads the sum. AdamW reads four arrays of floats, and writes three and a copy in bf16."""
    shard, addition, norm_and_adamw = 4 + 8 + 2 * BF16_BYTES, 12, 4 + 28 + BF16_BYTES
    each = shards * shard + (shards - 1) * addition + norm_and_adamw
    return Operation("parameters", each * count / batch)


def step(model):
    """Returns the operations of a deterministic step of bench/gpu/contact."""
    layers, dim, hidden, batch, _ = FULL.rates[model]
    return block(dim, hidden) * layers + ends(dim) + [update(PARAMETERS[model], FULL.shards, batch)]
