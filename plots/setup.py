"""Builds the wheel: the Python package with the C library, the program and what that reads.

They come from the build folder $RETENSOR_BUILD or build/ of the source tree; where there is none
they are built. Nothing in them depends on the version of Python, so that one wheel serves all.
"""
import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
TREE = HERE.parent
PARTS = {"common/c_api/libretensor.so.1": "lib/libretensor.so.1",
         "experiments/driver/retensor": "tree/bin/retensor"}
# What the program reads where no source tree is around: registry, recipes, the mark of a tree.
READ = ("datasets", "experiments/schema")


def build_folder():
    """A build folder with all parts, which are brought up to date."""
    named = os.environ.get("RETENSOR_BUILD")
    folder = Path(named).resolve() if named else TREE / "build"
    if not (folder / "build.ninja").is_file():
        subprocess.run([os.environ.get("RETENSOR_MESON", "meson"), "setup", folder, TREE,
                        "-Dgroup_files=true"], check=True)
    subprocess.run(["ninja", "-C", folder, *PARTS], check=True)
    return folder


class BuildWithProgram(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "retensor"
        folder = build_folder()
        for built, installed in PARTS.items():
            (package / installed).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / built, package / installed)
        for part in READ:
            shutil.copytree(TREE / part, package / "tree" / part, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(TREE / "ci/packaging/installed.txt", package / "tree")


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


scratch = tempfile.mkdtemp(prefix="retensor-wheel-")  # the source tree stays as it is
atexit.register(shutil.rmtree, scratch, ignore_errors=True)
setup(packages=find_packages(str(HERE), include=["retensor*"]),
      package_data={"retensor": ["band.json"], "retensor.report": ["assets/*", "templates/*"]},
      distclass=WithBinaries, cmdclass={"build_py": BuildWithProgram, "bdist_wheel": AnyPython},
      options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}})
