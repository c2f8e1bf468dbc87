"""Spack recipe: `spack repo add ci/packaging/spack`, then in the source tree
`spack dev-build retensor@main`.
"""
from spack.package import *  # noqa: F401,F403  the names that every recipe uses


class Retensor(MesonPackage):  # noqa: F405
    """Sparse tensor operations by the methods of published papers, and what they measure."""

    license("Apache-2.0")  # noqa: F405

    version("main")  # noqa: F405

    variant("cuda", default=False, description="Build the CUDA backend")  # noqa: F405

    for need in ("yaml-cpp", "nlohmann-json", "fmt", "zlib-api", "zstd", "openssl", "eigen@3.4:3",
                 "doctest", "boost+program_options"):
        depends_on(need)  # noqa: F405
    depends_on("c", type="build")  # noqa: F405
    depends_on("cxx", type="build")  # noqa: F405
    depends_on("pkgconfig", type="build")  # noqa: F405
    depends_on("meson@1.0.1:", type="build")  # noqa: F405
    depends_on("cuda@12:", when="+cuda")  # noqa: F405
    for need in ("python", "py-matplotlib", "py-pandas", "py-pyyaml", "py-jinja2"):
        depends_on(need, type="run")  # noqa: F405
    conflicts("%gcc@:11", msg="ReTensor is written in C++20 as gcc 12 knows it")  # noqa: F405

    def meson_args(self):
        cuda = "enabled" if "+cuda" in self.spec else "disabled"
        return [f"-Dcuda={cuda}", "-Dstatic=false", "-Dheader_only_fmt=false", "-Dcpu_arch="]
