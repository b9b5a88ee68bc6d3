"""Trains the board model with several ranks: a script for Horovod with one changed import.

    penstock launch -np 2 -H localhost:2 python train.py sample
"""

import argparse
import os

import torch
from model import SIZES, BoardModel

import penstock
import penstock.distributed as hvd  # For Horovod: import horovod.torch as hvd


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="sample")
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--batch", type=int, default=128, help="rows of each rank")
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    hvd.init()
    if torch.cuda.is_available():
        torch.cuda.set_device(hvd.local_rank())
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // hvd.local_size()))

    torch.manual_seed(hvd.rank())
    model = BoardModel(args.model).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)

    with penstock.Loader(args.data, dtype="f32", global_batch_size=args.batch * hvd.size(),
                         seed=7, output="torch") as loader:
        for epoch in range(args.epochs):
            for batch in loader:
                batch = batch.to(device, non_blocking=True)
                output = model(batch["planes"], batch["flags"])
                loss = torch.nn.functional.mse_loss(output, batch["score"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss = hvd.allreduce(loss.detach())
            if hvd.rank() == 0:
                print(f"epoch {epoch}: loss {loss:.4f}; {loader.verdict()}", flush=True)
    hvd.shutdown()


if __name__ == "__main__":
    main()
