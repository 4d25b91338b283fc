# SPDX-License-Identifier: BSD-3-Clause
"""RINGRT_BUNDLE=/path/to/libringrt.so pip install ./python: that library goes into the package, without its
debugging symbols. The wheel is then one for the machine's architecture, and for every Python."""
import os
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70
    from wheel.bdist_wheel import bdist_wheel

BUNDLE = os.environ.get("RINGRT_BUNDLE")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if not BUNDLE:
            return
        if not os.path.isfile(BUNDLE):
            raise SystemExit(f"RINGRT_BUNDLE={BUNDLE}: there is no such file; build it by `make libringrt.la`")
        directory = os.path.join(self.build_lib, "ringrt", "lib")
        os.makedirs(directory, exist_ok=True)
        library = shutil.copy(os.path.realpath(BUNDLE), os.path.join(directory, "libringrt.so"))
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", library], check=True)


class WheelWithLibrary(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not BUNDLE

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelWithLibrary})
