"""ReTensor from Python: operations on own tensors by any method, runs of specs, rows, figures."""
from retensor.dlpack import to_device
from retensor.library import DeviceError, InputError, RetensorError
from retensor.operations import (CpModel, TuckerModel, contract, cp, methods, mttkrp, spmm, ttm,
                                 ttm_chain, ttv, tucker)
from retensor.tensor import Tensor, tensor

__version__ = "0.1.0"
__all__ = ["CpModel", "DeviceError", "InputError", "RetensorError", "Tensor", "TuckerModel",
           "contract", "cp", "methods", "mttkrp", "spmm", "tensor", "to_device", "ttm",
           "ttm_chain", "ttv", "tucker"]
