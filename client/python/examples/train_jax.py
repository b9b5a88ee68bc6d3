"""Trains a small network on chess positions with JAX, over all devices.

    python train_jax.py sample
"""

import sys

import jax
import jax.numpy as jnp

import penstock
import penstock.jax

EPOCHS = 3


def init(key):
    first, second = jax.random.split(key)
    return {"w1": jax.random.normal(first, (1546, 64)) * 0.02, "b1": jnp.zeros(64),
            "w2": jax.random.normal(second, (64, 1)) * 0.1, "b2": jnp.zeros(1)}


def loss_of(weights, batch):
    planes = batch["planes"].reshape(len(batch["score"]), -1)
    inputs = jnp.concatenate([planes, batch["flags"]], axis=1).astype(jnp.float32)
    hidden = jax.nn.relu(inputs @ weights["w1"] + weights["b1"])
    output = jnp.tanh(hidden @ weights["w2"] + weights["b2"])[:, 0]
    return jnp.mean((output - batch["score"]) ** 2)


@jax.jit
def train_step(weights, velocity, batch):
    loss, gradients = jax.value_and_grad(loss_of)(weights, batch)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
    weights = jax.tree.map(lambda w, v: w - 0.01 * v, weights, velocity)
    return weights, velocity, loss


def main():
    weights = init(jax.random.key(0))
    velocity = jax.tree.map(jnp.zeros_like, weights)
    sharding = penstock.jax.sharding_of_rows()
    with penstock.Loader(sys.argv[1] if len(sys.argv) > 1 else "sample", dtype="i8",
                         global_batch_size=256, seed=7, **penstock.jax.ranks()) as loader:
        for epoch in range(EPOCHS):
            for batch in loader:
                arrays = penstock.jax.global_arrays(batch, sharding)
                weights, velocity, loss = train_step(weights, velocity, arrays)
            print(f"epoch {epoch}: loss {loss:.4f}; {loader.verdict()}", flush=True)


if __name__ == "__main__":
    main()
