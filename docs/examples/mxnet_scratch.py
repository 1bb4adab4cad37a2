"""Batch norm from scratch in MXNet. Compare it with mx.nd.BatchNorm:

bnfuzz compare docs/examples/mxnet_scratch.py:batch_norm docs/examples/mxnet_operator.py:batch_norm \
    --shape 2,16,4,4 --values uniform:1:2 --cotangent sum
"""

from mxnet import nd


def batch_norm(x, gamma, beta, eps=1e-5):
    mean = nd.mean(x, axis=(0, 2, 3), keepdims=True)
    variance = nd.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
    x_hat = (x - mean) / nd.sqrt(variance + eps)
    return gamma.reshape((1, -1, 1, 1)) * x_hat + beta.reshape((1, -1, 1, 1))
