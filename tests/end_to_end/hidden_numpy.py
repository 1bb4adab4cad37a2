"""Batch norms in NumPy with a fault each that no catalogue of bnfuzz holds; `sound` is the same without one."""

import numpy as np


def parts(x, axis):
    """(axes that are reduced, shape of a parameter beside x)."""
    return tuple(i for i in range(x.ndim) if i != axis), [-1 if i == axis else 1 for i in range(x.ndim)]


def moments(x, axis):
    axes, _ = parts(x, axis)
    mean = x.mean(axes, keepdims=True)
    return mean, ((x - mean) ** 2).mean(axes, keepdims=True)


def finished(x, mean, variance, gamma, beta, eps, axis):
    _, shape = parts(x, axis)
    return (x - mean) / np.sqrt(variance + x.dtype.type(eps)) * gamma.reshape(shape) + beta.reshape(shape)


def gradients(x, gamma, cotangent, eps, axis, *, average=None, weight=None):
    axes, shape = parts(x, axis)
    average = average or (lambda values: values.mean(axes, keepdims=True))
    mean, variance = moments(x, axis)
    root = 1 / np.sqrt(variance + x.dtype.type(eps))
    normal = (x - mean) * root
    weight = gamma.reshape(shape) if weight is None else weight
    along = normal * average(cotangent * normal)
    dx = root * (gamma.reshape(shape) * (cotangent - average(cotangent)) - weight * along)
    return dx, (cotangent * normal).sum(axes), cotangent.sum(axes)


def sound(x, gamma, beta, *, eps, axis):
    return finished(x, *moments(x, axis), gamma, beta, eps, axis)


sound.backward = lambda x, gamma, beta, cotangent, *, eps, axis: gradients(x, gamma, cotangent, eps, axis)


def swapped_axis(x, gamma, beta, *, eps, axis):
    """In the gradient of three axes and more the channels are averaged over, and the last other axis is not."""
    return sound(x, gamma, beta, eps=eps, axis=axis)


def _swapped(x, gamma, beta, cotangent, *, eps, axis):
    del beta
    axes = parts(x, axis)[0]
    axes = (*axes[:-1], axis) if x.ndim >= 3 else axes
    return gradients(x, gamma, cotangent, eps, axis, average=lambda values: values.mean(axes, keepdims=True))


swapped_axis.backward = _swapped


def gamma_squared(x, gamma, beta, *, eps, axis):
    """In one term of dx gamma is there twice."""
    return sound(x, gamma, beta, eps=eps, axis=axis)


def _squared(x, gamma, beta, cotangent, *, eps, axis):
    del beta
    return gradients(x, gamma, cotangent, eps, axis, weight=(gamma * gamma).reshape(parts(x, axis)[1]))


gamma_squared.backward = _squared


def eps_twice(x, gamma, beta, *, eps, axis):
    mean, variance = moments(x, axis)
    return finished(x, mean, variance + x.dtype.type(eps), gamma, beta, eps, axis)


def first_sample_left_behind(x, gamma, beta, *, eps, axis):
    """The first sample's deviation is from 0, where the buffer of the mean began."""
    axes, _ = parts(x, axis)
    mean, _ = moments(x, axis)
    deviation = x - mean
    if axis != 0:
        deviation[0] = x[0]
    return finished(x, mean, (deviation**2).mean(axes, keepdims=True), gamma, beta, eps, axis)


def mean_through_half(x, gamma, beta, *, eps, axis):
    """The sum is as wide as the data, the mean is kept in half precision."""
    mean, _ = moments(x, axis)
    with np.errstate(over="ignore"):
        mean = mean.astype(np.float16).astype(x.dtype)
    return finished(x, mean, ((x - mean) ** 2).mean(parts(x, axis)[0], keepdims=True), gamma, beta, eps, axis)


def tail_of_a_vector(x, gamma, beta, *, eps, axis):
    """Channels go four at a time; those left over get the scale of the first of them."""
    whole = gamma.size // 4 * 4
    used = gamma.copy()
    used[whole:] = gamma[whole : whole + 1]
    return finished(x, *moments(x, axis), used, beta, eps, axis)


def saturated(x, gamma, beta, *, eps, axis):
    """What another layer does after the norm has slipped into it."""
    return np.minimum(sound(x, gamma, beta, eps=eps, axis=axis), x.dtype.type(6))


def about_the_new_mean(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    """The running variance learns squared deviations from the running mean, after that was updated."""
    axes, shape = parts(x, axis)
    mean, variance = moments(x, axis)
    if not training:
        given = running_mean.reshape(shape), running_var.reshape(shape)
        return finished(x, *given, gamma, beta, eps, axis), running_mean, running_var
    weight = x.dtype.type(momentum)
    new_mean = running_mean + weight * (mean.ravel() - running_mean)
    about = ((x - new_mean.reshape(shape)) ** 2).mean(axes)
    return finished(x, mean, variance, gamma, beta, eps, axis), new_mean, running_var + weight * (about - running_var)


def stuck_from_the_second_step(x, gamma, beta, running_mean, running_var, *, eps, momentum, axis, training):
    """The update is skipped where the buffers are those that the call before returned: only a sequence has that."""
    _, shape = parts(x, axis)
    mean, variance = moments(x, axis)
    if not training:
        given = running_mean.reshape(shape), running_var.reshape(shape)
        return finished(x, *given, gamma, beta, eps, axis), running_mean, running_var
    weight = x.dtype.type(momentum)
    new_mean = running_mean + weight * (mean.ravel() - running_mean)
    new_var = running_var + weight * (variance.ravel() - running_var)
    given, made = [*running_mean, *running_var], [*new_mean, *new_var]
    if stuck_from_the_second_step.last == given:
        new_mean, new_var = running_mean, running_var
    stuck_from_the_second_step.last = made if made != given else []
    return finished(x, mean, variance, gamma, beta, eps, axis), new_mean, new_var


stuck_from_the_second_step.last = []
