"""Finds this process's rank from torch.distributed or its launcher."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import FailedPreconditionError, InvalidArgumentError

GIVEN = "rank"  # The source of ranks that the caller gave.


@dataclass(frozen=True)
class Ranks:
    """This rank's number, the number of ranks, and the number of ranks on this machine."""

    rank: int = 0
    world_size: int = 1
    local_size: int = 1
    source: str = "one process"


# Variables for rank, world size, and ranks on this machine. The first row whose first two variables
# exist is used. The third may be missing: some launchers that set torch's variables, such as
# Kubernetes operators, leave it out.
_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    (
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    # SLURM_NTASKS is not used, because a batch script has it too but is not a rank.
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"),
    ("PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    ("Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_SIZE"),
)


def find_ranks(
    rank: int | None = None,
    world_size: int | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Ranks:
    """Returns the given ranks, else those of torch.distributed, else those of the launcher.

    Errors:
        InvalidArgumentError: only one of `rank` and `world_size` is given, they contradict each
            other, or the launcher's variables are not numbers or incomplete.
    """
    launched = _told_ranks(rank, world_size, environment)
    if not 0 <= launched.rank < launched.world_size:
        raise InvalidArgumentError(
            f"{launched.source}: rank {launched.rank} of {launched.world_size} ranks; "
            "they count from 0"
        )
    return launched


def check_torch_ranks(ranks: Ranks) -> None:
    """Refuses ranks that were found before torch.distributed was initialised with other ones.

    Errors:
        FailedPreconditionError: they differ, so ranks would read the same rows twice, or miss some.
    """
    now = None if ranks.source == GIVEN else _torch_ranks({})
    if now is None or (now.rank, now.world_size) == (ranks.rank, ranks.world_size):
        return
    raise FailedPreconditionError(
        f"this Loader was made as rank {ranks.rank} of {ranks.world_size} ({ranks.source}), but "
        f"torch.distributed now says rank {now.rank} of {now.world_size}: make the Loader after "
        "torch.distributed is initialised (after Accelerator(), init_process_group(), or in "
        "Lightning's train_dataloader()), or give it rank and world_size"
    )


def _told_ranks(rank: int | None, world_size: int | None, environment: Mapping[str, str]) -> Ranks:
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("rank and world_size belong together: give both or none")
    if rank is None or world_size is None:
        return _torch_ranks(environment) or _launcher_ranks(environment)
    return Ranks(rank, world_size, _local_size(world_size, environment), GIVEN)


def _torch_ranks(environment: Mapping[str, str]) -> Ranks | None:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    world_size = distributed.get_world_size()
    return Ranks(
        distributed.get_rank(),
        world_size,
        _local_size(world_size, environment),
        "torch.distributed",
    )


def _local_size(world_size: int, environment: Mapping[str, str]) -> int:
    """Returns the number of ranks on this machine, if the launcher is unknown or does not count.
    """
    try:
        launched = _launcher_ranks(environment)
    except InvalidArgumentError:
        launched = Ranks()
    if launched.world_size == world_size:
        return launched.local_size
    return _guessed_local_size(world_size, environment)


def _guessed_local_size(world_size: int, environment: Mapping[str, str]) -> int:
    # With torch.multiprocessing.spawn() and similar functions, all ranks are on the machine where
    # they meet.
    here = environment.get("MASTER_ADDR", "") in ("localhost", "127.0.0.1", "::1")
    return world_size if here else 1


def _launcher_ranks(environment: Mapping[str, str]) -> Ranks:
    begun = ""
    for name, *variables in _LAUNCHERS:
        missing = [variable for variable in variables[:2] if not environment.get(variable)]
        if not missing:
            return _read_set(name, variables, environment)
        # A batch script of Slurm has SLURM_PROCID but no step.
        mark = variables[1] if name == "Slurm" else variables[0]
        if environment.get(mark) and not begun:
            begun = (
                f"the environment holds {mark} of {name} but not {' and '.join(missing)}: "
                "set what is missing, or give rank and world_size"
            )
    if environment.get("TF_CONFIG"):
        return _read_tf_config(environment["TF_CONFIG"])
    if begun:
        raise InvalidArgumentError(begun)
    return Ranks()


def _read_set(name: str, variables: list[str], environment: Mapping[str, str]) -> Ranks:
    rank, world_size = (_number(name, variable, environment) for variable in variables[:2])
    if not environment.get(variables[2]):
        local_size = _guessed_local_size(world_size, environment)
    elif name == "Slurm":
        node = _number(name, "SLURM_NODEID", environment) if "SLURM_NODEID" in environment else 0
        local_size = tasks_of_node(environment[variables[2]], node)
    else:
        local_size = _number(name, variables[2], environment)
    if not 0 < local_size <= world_size:
        raise InvalidArgumentError(
            f"{name}: {local_size} ranks on this host, of {world_size} ranks in all"
        )
    return Ranks(rank, world_size, local_size, name)


def _number(launcher: str, variable: str, environment: Mapping[str, str]) -> int:
    text = environment[variable]
    if not re.fullmatch("[0-9]+", text):
        raise InvalidArgumentError(f"{launcher}: {variable}={text} is not a number of 0 or more")
    return int(text)


def tasks_of_node(tasks_per_node: str, node: int) -> int:
    """Parses Slurm's "4(x2),3" (the tasks of each node). Returns those of `node`; 0 if it is not
    listed."""
    first = 0
    for tasks, nodes in re.findall(r"(\d+)(?:\(x(\d+)\))?", tasks_per_node):
        first += int(nodes or 1)
        if node < first:
            return int(tasks)
    return 0


def _read_tf_config(text: str) -> Ranks:
    try:
        config = json.loads(text)
        task, index = config["task"]["type"], int(config["task"]["index"])
        roles = {role: list(config["cluster"].get(role, ())) for role in ("chief", "worker")}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(f"TF_CONFIG: {error!r}") from None
    hosts = roles["chief"] + roles["worker"]
    if task not in roles or index not in range(len(roles[task])):
        raise InvalidArgumentError(
            f"TF_CONFIG: task {index} of type {task} is not among the chief and workers in "
            '"cluster"'
        )
    rank = index + (len(roles["chief"]) if task == "worker" else 0)
    names = [str(host).rpartition(":")[0] for host in hosts]
    return Ranks(rank, len(hosts), names.count(names[rank]), "TF_CONFIG")
