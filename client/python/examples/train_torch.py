"""Trains a small network on chess positions with PyTorch, and resumes where it stopped.

    python train_torch.py sample
    penstock launch -np 2 -- python train_torch.py sample      (each rank reads its half)
"""

import pathlib
import sys

import torch

import penstock
import penstock.distributed as ranks

CHECKPOINT = pathlib.Path("train_torch.pt")
EPOCHS = 3


def loss_of(model, batch):
    inputs = torch.cat([batch["planes"].flatten(1), batch["flags"]], dim=1).float()
    return torch.nn.functional.mse_loss(model(inputs).squeeze(1), batch["score"])


def main():
    ranks.init()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1546, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 1), torch.nn.Tanh())
    optimizer = ranks.DistributedOptimizer(torch.optim.AdamW(model.parameters(), lr=1e-3))
    with penstock.Loader(sys.argv[1] if len(sys.argv) > 1 else "sample", dtype="i8",
                         global_batch_size=256, seed=7, output="torch") as loader:
        if CHECKPOINT.exists():
            checkpoint = torch.load(CHECKPOINT)
            model.load_state_dict(checkpoint["model"])
            optimizer.load_state_dict(checkpoint["optimizer"])
            loader.load_state_dict(checkpoint["loader"])
        for epoch in range(loader.epoch, EPOCHS):
            for batch in loader:
                loss = loss_of(model, batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss = ranks.allreduce(loss.detach())
            if ranks.rank() == 0:
                print(f"epoch {epoch}: loss {loss:.4f}; {loader.verdict()}", flush=True)
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                            "loader": loader.state_dict()}, CHECKPOINT)
    if ranks.rank() == 0:
        CHECKPOINT.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
