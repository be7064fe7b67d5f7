# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""DAVE-2 with TensorFlow, two inferences on one thread under callgrind.

The layers are those of scenarios/rt-gang; weights and input are random, which changes
no access. Callgrind's files: the first inference, which finds caches and code cold, and
the second.
"""

import ctypes
import os
import sys

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import tensorflow.compat.v1 as tf

CONVOLUTIONS = [(5, 2, 24), (5, 2, 36), (5, 2, 48), (3, 1, 64), (3, 1, 64)]
DENSE = [1164, 100, 50, 10, 1]
WARM_UPS = 3


def network(image, keep):
    random = np.random.default_rng(1)

    def weights(*shape):
        return tf.Variable(random.normal(0, 0.1, shape).astype("float32"))

    values = image
    for kernel, stride, outputs in CONVOLUTIONS:
        inputs = values.shape[-1]
        product = tf.nn.conv2d(
            values, weights(kernel, kernel, inputs, outputs), [1, stride, stride, 1], "VALID"
        )
        values = tf.nn.relu(product + weights(outputs))
    values = tf.reshape(values, [-1, int(np.prod(values.shape[1:]))])
    for outputs in DENSE[:-1]:
        product = tf.matmul(values, weights(values.shape[-1], outputs))
        values = tf.nn.dropout(tf.nn.relu(product + weights(outputs)), rate=1 - keep)
    last = tf.matmul(values, weights(values.shape[-1], DENSE[-1])) + weights(DENSE[-1])
    return tf.multiply(tf.atan(last), 2)


def main():
    tf.disable_eager_execution()
    callgrind = ctypes.CDLL(sys.argv[1])
    image = tf.placeholder(tf.float32, [None, 66, 200, 3])
    keep = tf.placeholder(tf.float32)
    angle = network(image, keep)
    one_thread = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    session = tf.Session(config=one_thread)
    session.run(tf.global_variables_initializer())
    frame = np.random.default_rng(2).random((66, 200, 3)).astype("float32")

    def infer():
        return angle.eval(session=session, feed_dict={image: [frame], keep: 1.0})

    for _ in range(WARM_UPS):
        infer()
    callgrind.start()
    for _ in range(2):
        infer()
        callgrind.dump()
    callgrind.stop()
    # What TensorFlow does at its end takes long under callgrind.
    os._exit(0)


main()
