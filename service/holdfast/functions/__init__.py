"""Pure numpy: the function classes of the paper behind one protocol. They know nothing of bandits or weights."""

from holdfast.functions.finite import Finite
from holdfast.functions.fourier import Fourier
from holdfast.functions.kernel import KernelRidge
from holdfast.functions.kernels import Kernel
from holdfast.functions.linear import Linear
from holdfast.functions.logistic import Logistic
from holdfast.functions.protocol import FunctionClass, Seen, Weigh
from holdfast.functions.quadratic import Quadratic
from holdfast.functions.stable import StableKernel
from holdfast.functions.tabular import Tabular

CLASSES = {
    "linear": Linear,
    "quadratic": Quadratic,
    "fourier": Fourier,
    "kernel": KernelRidge,
    "logistic": Logistic,
    "finite": Finite,
    "tabular": Tabular,
}

__all__ = [
    "CLASSES",
    "Finite",
    "Fourier",
    "FunctionClass",
    "Kernel",
    "KernelRidge",
    "Linear",
    "Logistic",
    "Quadratic",
    "Seen",
    "StableKernel",
    "Tabular",
    "Weigh",
]
