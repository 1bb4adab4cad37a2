"""What a finding may depend on besides its case: versions, processor, threads, flush-to-zero, flags.

Values only, no machine names and no paths: the result is stored in case files and pasted into reports.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

import numpy as np

from bnfuzz import __version__
from bnfuzz.errors import printable

FEATURES = (
    *("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_fp16", "amx_int8"),
    *("asimd", "fphp", "asimdhp", "asimddp", "asimdfhm", "bf16", "i8mm", "sve", "sve2", "svebf16"),
)
"""Processor features that decide which kernels frameworks pick, and so how results are rounded."""

PACKAGES = ("numpy", "ml_dtypes", "mpmath", "hypothesis")

FLAGS = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "JAX_DEFAULT_DTYPE_BITS",
    "JAX_DEFAULT_MATMUL_PRECISION",
    "JAX_DISABLE_JIT",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "MKL_NUM_THREADS",
    "MXNET_ENGINE_TYPE",
    "MXNET_MKLDNN_ENABLED",
    "MXNET_ONEDNN_ENABLED",
    "MXNET_SAFE_ACCUMULATION",
    "NPY_DISABLE_CPU_FEATURES",
    "OMP_NUM_THREADS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "TF_ENABLE_ONEDNN_OPTS",
    "XLA_FLAGS",
)
"""Environment variables that change results."""

NO_VERSIONS: Mapping[str, str] = MappingProxyType({})


def describe(workers_versions: Mapping[str, str] = NO_VERSIONS) -> dict[str, str]:
    """Text values by name, sorted; `workers_versions` (backend -> version) becomes `backend.<name>`.

    A value that cannot be found out is absent.
    """
    cpuinfo = _cpuinfo()
    found = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{platform.system()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()).strip(),
        "cpu": cpuinfo.get("model name") or platform.processor(),
        "cpu_features": cpu_features(cpuinfo),
        "threads": _threads(),
        "flush_to_zero": flush_to_zero(),
        "package.bnfuzz": __version__,
        **{f"package.{name}": _version(name) for name in PACKAGES},
        **{f"flag.{name}": without_paths(os.environ.get(name, "")) for name in FLAGS},
        **{f"backend.{name}": version for name, version in workers_versions.items()},
    }
    return {name: printable(found[name]) for name in sorted(found) if found[name]}


def flush_to_zero() -> str:
    """What this process does with subnormal float64 numbers: `off`, or which of `results` and `inputs` become 0.

    A library loaded with fast-math start-up code sets it for the whole thread. Bits are looked at, since comparing
    a subnormal with 0 is itself such an operation.
    """
    smallest_normal = np.array([0x0010000000000000], dtype=np.uint64).view(np.float64)
    subnormal = np.array([0x0008000000000000], dtype=np.uint64).view(np.float64)
    with np.errstate(all="ignore"):
        results = (smallest_normal * 0.5).view(np.uint64)[0] == 0
        inputs = (subnormal * 2.0**60).view(np.uint64)[0] == 0
    flushed = [name for name, hit in (("results", results), ("inputs", inputs)) if hit]
    return " and ".join(flushed) or "off"


def without_paths(text: str) -> str:
    """The text with everything that looks like a path replaced by `<path>`."""
    return re.sub(r"""(?:~|\.{1,2})?(?:[A-Za-z]:)?[/\\][^\s,;"']*""", "<path>", text)


def cpu_features(cpuinfo: Mapping[str, str]) -> str:
    """Those of FEATURES that the processor has (x86: `flags`, Arm: `Features`), in the order of FEATURES."""
    present = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    return " ".join(feature for feature in FEATURES if feature in present)


def _cpuinfo() -> dict[str, str]:
    """The first processor's fields; empty where the system has no such file."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return {}
    fields = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}


def _threads() -> str:
    """Logical processors that this process may use, of those there are."""
    total = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else total
    return f"{usable} of {total}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
