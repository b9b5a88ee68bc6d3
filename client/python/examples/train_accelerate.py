"""Trains a small network on chess positions with Hugging Face accelerate.

    python train_accelerate.py sample
    accelerate launch --cpu --num_processes 2 train_accelerate.py sample

Do not wrap the loader in a DataLoader for `accelerator.prepare`. That would split the part of each
rank among all ranks again, so it raises an error.
"""

import sys

import torch
from accelerate import Accelerator

import penstock

EPOCHS = 3


def loss_of(model, batch):
    inputs = torch.cat([batch["planes"].flatten(1), batch["flags"]], dim=1).float()
    return torch.nn.functional.mse_loss(model(inputs).squeeze(1), batch["score"])


def main():
    accelerator = Accelerator()  # Made before the Loader, which takes rank and world size from it.
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1546, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 1), torch.nn.Tanh())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    with penstock.Loader(sys.argv[1] if len(sys.argv) > 1 else "sample", dtype="i8",
                         global_batch_size=256, seed=7, output="torch") as loader:
        accelerator.register_for_checkpointing(loader)  # save_state() and load_state() include it.
        for epoch in range(EPOCHS):
            for batch in loader:
                loss = loss_of(model, batch.to(accelerator.device, non_blocking=True))
                optimizer.zero_grad()
                accelerator.backward(loss)
                optimizer.step()
            loss = accelerator.gather(loss.detach()).mean()
            accelerator.print(f"epoch {epoch}: loss {loss:.4f}; {loader.verdict()}")
    accelerator.end_training()


if __name__ == "__main__":
    main()
