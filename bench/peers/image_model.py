"""The image model in PyTorch. Its parameters have the names of Penstock's safetensors."""

import dataclasses

import torch
import torch.nn.functional as F

from twin import Twin


@dataclasses.dataclass(frozen=True)
class Size:
    side: int
    patch: int
    layers: int
    dim: int
    heads: int
    width: int  # Width of attention, summed over all heads.
    hidden: int
    classes: int
    parameters: int  # Number of parameters with that many classes.
    head: tuple = ()  # Widths of the head's hidden layers.
    flatten: bool = False
    gelu_twice: bool = False
    dropout: float = 0
    head_dropout: float = 0

    @property
    def tokens(self):
        return (self.side // self.patch) ** 2


SIZES = {
    "vit": Size(72, 6, 8, 64, 4, 256, 128, 100, 21_759_012, head=(2048, 1024), flatten=True,
                gelu_twice=True, dropout=0.1, head_dropout=0.5),
    "vit-small": Size(224, 16, 12, 384, 6, 384, 1536, 1000, 22_049_896),
}


def parameter_shapes(size):
    """The shape of each parameter, by name."""
    def linear(name, outputs, inputs):
        return {name + ".weight": (outputs, inputs), name + ".bias": (outputs,)}

    def norm(name):
        return {name + ".weight": (size.dim,), name + ".bias": (size.dim,)}

    shapes = linear("embed", size.dim, size.patch**2 * 3) | {"position": (size.tokens, size.dim)}
    for i in range(size.layers):
        block = f"blocks.{i}."
        shapes |= norm(block + "norm1") | linear(block + "qkv", 3 * size.width, size.dim)
        shapes |= linear(block + "proj", size.dim, size.width) | norm(block + "norm2")
        shapes |= linear(block + "fc1", size.hidden, size.dim)
        shapes |= linear(block + "fc2", size.dim, size.hidden)
    shapes |= norm("norm")
    widths = [size.tokens * size.dim if size.flatten else size.dim, *size.head, size.classes]
    for i, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
        shapes |= linear(f"head.fc{i + 1}", outputs, inputs)
    return shapes


class ImageTwin(Twin):
    """The model. It applies no dropout in eval(), nor in train() if its Size has none."""
    norm_epsilon = 1e-6

    def __init__(self, weights, size):
        super().__init__(weights, size.heads)
        self.size = size

    def drop(self, x, rate):
        return F.dropout(x, rate) if self.training and rate > 0 else x

    def patches(self, images):
        across, patch = self.size.side // self.size.patch, self.size.patch
        x = images.view(-1, across, patch, across, patch, 3).transpose(2, 3)
        return x.reshape(-1, across * across, patch * patch * 3)

    def attend(self, block, x):
        batch, tokens, _ = x.shape
        qkv = self.linear(block + "qkv", x).view(batch, tokens, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        dropout = self.size.dropout if self.training else 0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout)
        return self.linear(block + "proj", y.transpose(1, 2).flatten(2))

    def mlp(self, block, x):
        y = self.drop(F.gelu(self.linear(block + "fc1", x)), self.size.dropout)
        y = self.linear(block + "fc2", y)
        return self.drop(F.gelu(y) if self.size.gelu_twice else y, self.size.dropout)

    def forward(self, images):
        x = self.linear("embed", self.patches(images)) + self.p["position"]
        for i in range(self.layers):
            block = f"blocks/{i}/"
            x = x + self.attend(block, self.norm(block + "norm1", x))
            x = x + self.mlp(block, self.norm(block + "norm2", x))
        x = self.norm("norm", x)
        x = x.flatten(1) if self.size.flatten else x.mean(dim=1)
        for i in range(1, len(self.size.head) + 1):
            x = F.gelu(self.linear(f"head/fc{i}", self.drop(x, self.size.head_dropout)))
        last = f"head/fc{len(self.size.head) + 1}"
        return self.linear(last, self.drop(x, self.size.head_dropout))


def loss_of(twin, x, y, bf16):
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=bf16):
        return F.cross_entropy(twin(x).float(), y)
