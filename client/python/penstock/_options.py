"""Maps the keywords of a Loader to options of `penstock feed`."""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from penstock.errors import Error

PathLike = str | os.PathLike[str]


def _text(value: Any) -> str:
    return str(value)


def _path(value: PathLike) -> str:
    return os.fspath(value)


def _servers(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _seconds(value: Any) -> str:
    """Accepts a number of seconds, or text such as "250ms"."""
    return value if isinstance(value, str) else f"{value}s"


def _epochs(value: Any) -> str:
    return "0" if value is None else str(value)


def option(name: str, value: Any) -> list[str]:
    """Returns a keyword as a command-line option. None and False: the option is not given."""
    if value is None or value is False:
        return []
    written = "--" + name.replace("_", "-")
    return [written] if value is True else [f"{written}={value}"]


# Each keyword with its option and the function that writes the value. None leaves the option out.
_VALUES: dict[str, tuple[str, Callable[[Any], str]]] = {
    "servers": ("--servers", _servers),
    "spec": ("--spec", _path),
    "global_batch_size": ("--global-batch-size", _text),
    "seed": ("--seed", _text),
    "split": ("--split", _text),
    "dtype": ("--dtype", _text),
    "remainder": ("--remainder", _text),
    "epochs": ("--epochs", _epochs),
    "max_steps": ("--steps", _text),
    "rank": ("--rank", _text),
    "world_size": ("--world-size", _text),
    "local_size": ("--local-ranks", _text),
    "lanes": ("--lanes", _text),
    "window_chunks": ("--window-chunks", _text),
    "strip_rows": ("--strip-rows", _text),
    "look_ahead": ("--look-ahead", _text),
    "server_timeout": ("--server-timeout", _seconds),
    "on_error": ("--on-error", _text),
    "data_root": ("--data-root", _path),
    "tls_ca": ("--tls-ca", _path),
    "tls_cert": ("--tls-cert", _path),
    "tls_key": ("--tls-key", _path),
    "tls_server_name": ("--tls-server-name", _text),
    "token_file": ("--token-file", _path),
    "threads": ("--threads", _text),
    "memory_budget": ("--memory-budget", _text),
    "connections": ("--connections", _text),
    "metrics_port": ("--metrics-port", _text),
    "metrics_listen": ("--metrics-listen", _text),
}
# Each keyword with its option and the value with which the option is given.
_FLAGS: dict[str, tuple[str, bool]] = {
    "shuffle": ("--no-shuffle", False),
    "shm": ("--no-shm", False),
    "checksums": ("--checksums", True),
    "record_ids": ("--record-ids", True),
    "tls": ("--tls", True),
}
_KEYWORD_OF = {option: keyword for keyword, (option, _) in _VALUES.items()}
_KEYWORD_OF |= {option: f"{keyword}={value}" for keyword, (option, value) in _FLAGS.items()}
_KEYWORD_OF["--cursor"] = "the cursor"


def feed_arguments(dataset: PathLike, options: Mapping[str, Any]) -> list[str]:
    """Returns the command line of `penstock feed`.

    Errors:
        TypeError: an option does not accept a value of this type.
    """
    arguments = ["--manifest", os.fspath(dataset)]
    for keyword, value in options.items():
        if keyword in _FLAGS:
            option, given = _FLAGS[keyword]
            arguments += [option] if bool(value) is given else []
        elif value is not None or keyword == "epochs":
            option, write = _VALUES[keyword]
            arguments.append(f"{option}={_written(keyword, value, write)}")
    return arguments


def _written(keyword: str, value: Any, write: Callable[[Any], str]) -> str:
    try:
        return write(value)
    except TypeError:
        raise TypeError(f"{keyword}: not a {type(value).__name__}") from None


_E = TypeVar("_E", bound=Error)


def in_keywords(error: _E) -> _E:
    """Returns the same error, with keywords instead of options in its message."""
    text = str(error).replace("DATASET (or --manifest)", "dataset")
    # A spec that was given as text is passed on as a descriptor.
    text = re.sub("/proc/self/fd/[0-9]+", "spec", text)
    text = re.sub("--[a-z][a-z-]*", lambda match: _KEYWORD_OF.get(match[0], match[0]), text)
    error.args = (text, *error.args[1:])
    return error


_P = ParamSpec("_P")
_R = TypeVar("_R")
# Keywords of other loaders, with what replaces them here.
_HINTS = {
    "batch_size": "global_batch_size, the rows of a step over all ranks",
    "num_workers": "threads; by default all cores decode, in a process of their own",
    "drop_last": 'remainder="drop" or remainder="short"',
    "pin_memory": 'pin="register"',
    "prefetch_factor": "look_ahead",
    "sampler": "shuffle and seed; each rank gets its part without a sampler",
    "transform": "loader.map(function)",
    "collate_fn": "loader.map(function)",
}


def with_hints(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Returns the function with an error for unknown keywords that names the right ones."""
    accepted = inspect.signature(function).parameters
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def checked(*args: _P.args, **options: _P.kwargs) -> _R:
        for option in options.keys() - accepted.keys():
            close = difflib.get_close_matches(option, accepted, 1)
            hint = _HINTS.get(option) or "".join(close)
            if option == "shuffle" and "seed" in accepted:
                hint = "seed"
            advice = f": did you mean {hint}?" if hint else "; help() lists its options"
            raise TypeError(f"{name}() has no option {option}{advice}")
        return function(*args, **options)

    return checked
