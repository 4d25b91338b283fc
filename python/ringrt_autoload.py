# SPDX-License-Identifier: BSD-3-Clause
"""What `import torch` and every Lightning Trainer run where this package is installed (entry points of
pyproject.toml). Outside malleable jobs it returns at once; it is a module of its own, so that not even
`ringrt` is imported there. Nothing here may raise: a failure is one line, and then all is as without us."""
import os
import sys


def _guarded(function, otherwise):
    try:
        return function() if os.environ.get("RINGRT_MALLEABLE") else otherwise
    except Exception as error:
        line = " ".join(str(error).split())
        sys.stderr.write(f"ringrt: {type(error).__name__}: {line}; this training is not malleable\n")
        return otherwise


def torch_backend():
    """Of the group torch.backends: `import torch` calls it at its end."""

    def start():
        from ringrt import hooks
        hooks.install()

    _guarded(start, None)


def _lightning(package):
    def callbacks():
        from ringrt.torch import lightning
        return lightning.callbacks(package)

    return _guarded(callbacks, [])


def lightning_callbacks():
    """Of the group lightning.pytorch.callbacks_factory: every Trainer calls it."""
    return _lightning("lightning.pytorch")


def pytorch_lightning_callbacks():
    return _lightning("pytorch_lightning")
