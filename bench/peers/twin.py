"""The board model in PyTorch. Its parameters have the names of Penstock's safetensors."""

import torch
import torch.nn.functional as F

# SIZES has layers, dim, heads and hidden. COUNTS has the number of parameters without an attention
# bias.
SIZES = {"tiny": (4, 64, 4, 128), "default": (8, 256, 8, 512), "large": (12, 512, 16, 2048)}
COUNTS = {"tiny": 144_577, "default": 4_308_737, "large": 38_143_489}

# Batch sizes for comparisons of speed.
BATCHES = {"cuda": {"tiny": 16384, "default": 16384, "large": 4096},
           "cpu": {"tiny": 256, "default": 32, "large": 8}}


def model_args(args):
    """The options of penstock-train besides --model."""
    return ["--attention-bias"] if args.attention_bias else []


def parameters_of(model, attention_bias):
    layers, _, heads, _ = SIZES[model]
    return COUNTS[model] + (layers * heads * 64 * 64 if attention_bias else 0)


def named_weights(layers, dim, hidden):
    """Random weights of that size. The weights of norms are ones."""
    def linear(name, outputs, inputs):
        return {name + ".weight": torch.randn(outputs, inputs) * inputs**-0.5,
                name + ".bias": torch.zeros(outputs)}

    def norm(name):
        return {name + ".weight": torch.ones(dim), name + ".bias": torch.zeros(dim)}

    weights = linear("embed", dim, 34) | {"position": torch.randn(64, dim) * 0.02}
    for i in range(layers):
        block = f"blocks.{i}."
        weights |= norm(block + "norm1") | linear(block + "qkv", 3 * dim, dim)
        weights |= linear(block + "proj", dim, dim) | norm(block + "norm2")
        weights |= linear(block + "fc1", hidden, dim) | linear(block + "fc2", dim, hidden)
    return weights | norm("norm") | linear("head.fc1", dim, dim) | linear("head.fc2", 1, dim)


class Twin(torch.nn.Module):
    norm_epsilon = 1e-5

    def __init__(self, weights, heads):
        super().__init__()
        self.heads = heads
        self.layers = sum(name.endswith(".qkv.weight") for name in weights)
        self.biased = "blocks.0.attention_bias" in weights
        self.p = torch.nn.ParameterDict(
            {name.replace(".", "/"): torch.nn.Parameter(value) for name, value in weights.items()})

    def linear(self, name, x):
        return F.linear(x, self.p[name + "/weight"], self.p[name + "/bias"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.p[name + "/weight"], self.p[name + "/bias"],
                            self.norm_epsilon)

    def forward(self, x):
        gelu = lambda t: F.gelu(t, approximate="tanh")
        x = self.linear("embed", x) + self.p["position"]
        batch, tokens, dim = x.shape
        for i in range(self.layers):
            block = f"blocks/{i}/"
            qkv = self.linear(block + "qkv", self.norm(block + "norm1", x))
            q, k, v = qkv.view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            bias = self.p[block + "attention_bias"].to(q.dtype) if self.biased else None
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
            x = x + self.linear(block + "proj", y.transpose(1, 2).reshape(batch, tokens, dim))
            x = x + self.linear(block + "fc2",
                                gelu(self.linear(block + "fc1", self.norm(block + "norm2", x))))
        x = self.norm("norm", x).mean(dim=1)
        return torch.tanh(self.linear("head/fc2", gelu(self.linear("head/fc1", x)))).squeeze(-1)

    def optimizer(self, lr):
        matrices = [p for n, p in self.p.items() if n.endswith("weight") and p.dim() == 2]
        others = [p for n, p in self.p.items() if not (n.endswith("weight") and p.dim() == 2)]
        return torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01},
                                  {"params": others, "weight_decay": 0}], lr=lr, fused=True)


def loss_of(twin, x, y, bf16):
    with torch.autocast(x.device.type, dtype=torch.bfloat16, enabled=bf16):
        return F.mse_loss(twin(x).float(), y)


def train_step(twin, optimizer, x, y, bf16, loss_of=loss_of):
    """One step of AdamW. Returns the loss without waiting for it. `loss_of` may be compiled."""
    loss = loss_of(twin, x, y, bf16)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.detach()
