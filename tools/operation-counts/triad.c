// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// The triad of STREAM: McCalpin, "Memory bandwidth and machine balance in current high
// performance computers", 1995.

void triad(double *restrict a, const double *restrict b, const double *restrict c, double q,
           long elements) {
    for (long i = 0; i < elements; i++)
        a[i] = b[i] + q * c[i];
}
