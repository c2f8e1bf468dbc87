"""ReTensor from Python: operations on your tensors by any method, runs of specs, rows, figures."""
from retensor.benchmark import bench
from retensor.dlpack import to_device
from retensor.drawing import plot
from retensor.frame import load, samples, to_parquet
from retensor.library import DeviceError, InputError, RetensorError
from retensor.operations import (CpModel, TuckerModel, contract, cp, methods, mttkrp, spmm, ttm,
                                 ttm_chain, ttv, tucker)
from retensor.program import claims, read_spec, run
from retensor.tensors import Tensor, tensor

__version__ = "0.1.0"
__all__ = ["CpModel", "DeviceError", "InputError", "RetensorError", "Tensor", "TuckerModel",
           "bench", "claims", "contract", "cp", "load", "methods", "mttkrp", "plot", "read_spec",
           "run", "samples", "spmm", "tensor", "to_device", "to_parquet", "ttm", "ttm_chain", "ttv",
           "tucker"]
