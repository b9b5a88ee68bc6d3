"""The board model of penstock-train, in PyTorch: a transformer over the 64 squares."""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"tiny": (4, 64, 4, 128), "default": (8, 256, 8, 512), "large": (12, 512, 16, 2048)}


class Block(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):  # [batch, 64, dim]
        batch, squares, dim = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, squares, 3, self.heads, -1)
        attended = F.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4))
        x = x + self.proj(attended.transpose(1, 2).reshape(batch, squares, dim))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class BoardModel(nn.Module):
    """Maps planes [batch, 8, 8, 24] and flags [batch, 10] to scores [batch]."""

    def __init__(self, size="tiny"):
        super().__init__()
        layers, dim, heads, hidden = SIZES[size]
        self.embed = nn.Linear(34, dim)
        self.position = nn.Parameter(torch.randn(64, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.ModuleDict({"fc1": nn.Linear(dim, dim), "fc2": nn.Linear(dim, 1)})

    def forward(self, planes, flags):
        flags = flags[:, None].expand(-1, 64, -1)
        x = self.embed(torch.cat([planes.flatten(1, 2), flags], dim=2)) + self.position
        for block in self.blocks:
            x = block(x)
        hidden = F.gelu(self.head["fc1"](self.norm(x).mean(dim=1)), approximate="tanh")
        return torch.tanh(self.head["fc2"](hidden)).squeeze(1)
