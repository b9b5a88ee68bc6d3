"""Trains a small network on chess positions with the Trainer of Hugging Face transformers.

    python train_hf_trainer.py sample
    torchrun --nproc-per-node 2 train_hf_trainer.py sample

`get_train_dataloader` returns the Loader as it is. The Trainer's own method would wrap it with
accelerate, which gives each rank a part of its own part.
"""

import pathlib
import sys
import tempfile

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

import penstock


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(1546, 64), torch.nn.ReLU(),
                                          torch.nn.Linear(64, 1), torch.nn.Tanh())

    def forward(self, planes, flags, score):
        output = self.layers(torch.cat([planes.flatten(1), flags], dim=1).float()).squeeze(1)
        return {"loss": torch.nn.functional.mse_loss(output, score), "logits": output}


class PenstockTrainer(Trainer):
    def get_train_dataloader(self):
        return self.train_dataset  # This is the Loader.


class SaveLoader(TrainerCallback):
    """Saves the loader's state beside the weights. To resume, load it before train()."""

    def __init__(self, loader):
        self.loader = loader

    def on_save(self, args, state, control, **kwargs):
        folder = pathlib.Path(args.output_dir, f"checkpoint-{state.global_step}")
        torch.save(self.loader.state_dict(), folder / "loader.pt")


def main():
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(  # The constructor joins the ranks.
            folder, num_train_epochs=3, learning_rate=1e-3, logging_strategy="epoch",
            save_strategy="epoch", ignore_data_skip=True, report_to="none", use_cpu=True)
        with penstock.Loader(sys.argv[1] if len(sys.argv) > 1 else "sample", dtype="i8",
                             global_batch_size=256, seed=7, output="torch") as loader:
            PenstockTrainer(Model(), arguments, train_dataset=loader,
                            callbacks=[SaveLoader(loader)]).train()


if __name__ == "__main__":
    main()
