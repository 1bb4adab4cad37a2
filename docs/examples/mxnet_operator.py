"""mx.nd.BatchNorm with its eps left at the default, as mxnet_scratch.py was once compared with it."""

from mxnet import nd


def batch_norm(x, gamma, beta):
    moving_mean = nd.zeros(gamma.shape, dtype=x.dtype)
    moving_var = nd.ones(gamma.shape, dtype=x.dtype)
    return nd.BatchNorm(x, gamma, beta, moving_mean, moving_var, fix_gamma=False, use_global_stats=False)
