"""How much the stages of bench/gpu/contact compute."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Models, batches and steps of the stages. Models of `first` have a batch. Those of `bits` have a
    batch, the steps after which weights are compared, and the steps whose losses are compared with the
    CPU's, which is slow. Those of `rates` have layers,
    dim, hidden, batch and steps. Those of `images` have the pixels of a side, the batch that the CPU
    trains too, and the batch whose rate is measured."""
    first: dict
    bits: dict
    rates: dict
    images: dict
    pictures: int  # Number of pictures of each class.
    image_steps: int
    ranks: tuple  # Numbers of ranks that share the GPU.
    warm_up: int  # Number of steps in which libraries load, plans are chosen and graphs are captured.
    traced: int  # Number of steps that are traced.
    product_samples: int
    product_repeats: int
    shards: int  # Number of virtual shards, also for the `deterministic` rates.
    fast_shards: tuple  # Numbers of virtual shards to try for the `fast` rates.

    def records(self):
        """Returns the largest number of records that one training reads."""
        return max([batch * steps for *_, batch, steps in self.rates.values()] +
                   [batch * steps for batch, steps, _ in self.bits.values()])


FULL = Sizes(
    first={"tiny": 64, "default": 64},
    bits={"tiny": (512, 30, 12), "default": (64, 14, 6), "large": (16, 14, 4)},
    rates={"tiny": (4, 64, 128, 16384, 60), "default": (8, 256, 512, 16384, 30),
           "large": (12, 512, 2048, 4096, 30)},
    images={"vit-tiny": (72, 64, 1024), "vit-small": (224, 16, 256)},
    pictures=250, image_steps=30, ranks=(2, 4, 8), warm_up=5, traced=5, product_samples=64,
    product_repeats=20, shards=8, fast_shards=(1, 2, 4))

# Sizes for an emulated GPU, which takes 70 ms for a position of the tiny model in bf16, and 500 ms in
# fp32.
SMALL = Sizes(
    first={"tiny": 2},
    bits={"tiny": (2, 14, 4)},
    rates={"tiny": (4, 64, 128, 2, 4)},
    images={"vit-tiny": (72, 2, 2)},
    pictures=4, image_steps=3, ranks=(2,), warm_up=2, traced=1, product_samples=1, product_repeats=1,
    shards=2, fast_shards=(1,))
