"""Tensors of Node.js in Python, and of Python in Node.js, in one process, without copying a byte.

JavaScript shares or transfers a tensor and gets a token, a plain string, which any embedder of Python can carry over:
``claim(token)`` turns it into an object that every DLPack library takes (``numpy.from_dlpack(claim(token))``). The
other way, ``offer(array)`` turns any array into a token, which ``Tensor.fromShared(token)`` claims in JavaScript.

The functions themselves are those of the addon that Node.js has loaded already; ``attach(path)`` says where it is. The
JavaScript entry ``node-dlpack/python`` knows that path, and the one to put on ``sys.path``.

Main interpreter only: the lock that a deleter takes is the main interpreter's.
"""

from ._binary import attach
from ._errors import DLPackBufferError, DLPackStateError
from ._offer import offer
from ._tensor import OwnedTensor, Tensor, claim, revoke

__all__ = [
    "DLPackBufferError",
    "DLPackStateError",
    "OwnedTensor",
    "Tensor",
    "attach",
    "claim",
    "offer",
    "revoke",
]
