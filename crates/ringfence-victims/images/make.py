#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Makes camera.pgm from the scikit-image photograph `camera` (see README.md)."""

import sys

from PIL import Image

source, target = sys.argv[1:]
# The middle 4:3 part of 512 x 512 pixels, each 2 x 2 pixels averaged.
Image.open(source).convert("L").resize(
    (256, 192), Image.Resampling.BOX, box=(0, 64, 512, 448)
).save(target)
