# SPDX-License-Identifier: BSD-3-Clause
"""RINGRT_BUNDLE=/path/to/libringrt.so pip install ./python: that library goes into the package."""
import os
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = os.environ.get("RINGRT_BUNDLE")
        if not library:
            return
        if not os.path.isfile(library):
            raise SystemExit(f"RINGRT_BUNDLE={library}: there is no such file; build it by `make libringrt.la`")
        folder = os.path.join(self.build_lib, "ringrt", "lib")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.realpath(library), os.path.join(folder, "libringrt.so"))


setup(cmdclass={"build_py": BuildWithLibrary})
