"""Trains a small network on chess positions with Lightning, stops in mid-epoch and resumes there.

    python train_lightning.py sample
"""

import sys
import tempfile

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

import penstock


class Model(lightning.LightningModule):
    def __init__(self, data):
        super().__init__()
        self.data = data
        self.layers = torch.nn.Sequential(torch.nn.Linear(1546, 64), torch.nn.ReLU(),
                                          torch.nn.Linear(64, 1), torch.nn.Tanh())

    def train_dataloader(self):
        # The Loader is made here, where it knows its rank. Lightning's checkpoints contain its
        # state.
        return penstock.Loader(self.data, dtype="i8", global_batch_size=256, seed=7,
                               output="torch")

    def training_step(self, batch, number):
        inputs = torch.cat([batch["planes"].flatten(1), batch["flags"]], dim=1).float()
        loss = torch.nn.functional.mse_loss(self.layers(inputs).squeeze(1), batch["score"])
        self.log("loss", loss)
        return loss

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch}: loss {self.trainer.callback_metrics['loss']:.4f}")

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    data = sys.argv[1] if len(sys.argv) > 1 else "sample"
    with tempfile.TemporaryDirectory() as folder:
        options = {"accelerator": "cpu", "devices": 1, "logger": False, "max_epochs": 3,
                   "enable_progress_bar": False, "enable_model_summary": False}
        save = ModelCheckpoint(folder, every_n_train_steps=100, save_top_k=-1)
        # Stops in the second epoch, which has 78 steps too, as if the training were killed.
        lightning.Trainer(max_steps=100, callbacks=[save], **options).fit(Model(data))
        print(f"resuming from {save.best_model_path}")
        lightning.Trainer(enable_checkpointing=False, **options).fit(
            Model(data), ckpt_path=save.best_model_path)


if __name__ == "__main__":
    main()
