// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// One row of lattice points under the Coulomb potential of one atom, cut off at a distance by
// the smoothing (1 - r^2 / cutoff^2)^2: Hardy, Stone and Schulten, "Multilevel summation of
// electrostatic potentials using graphics processing units", Parallel Computing 35 (2009).

struct row {
    float *potential;
    long points;
    // Distances of its first point from the atom: along the row, and the squared one across.
    float along, across_squared;
};

void coulomb(const struct row *row, float charge, float spacing, float cutoff_squared) {
    float inverse_cutoff_squared = 1.0f / cutoff_squared;
    float along = row->along, across_squared = row->across_squared;
    float *last = row->potential + row->points;
    for (float *point = row->potential; point != last; point++, along += spacing) {
        float squared = along * along + across_squared;
        if (squared >= cutoff_squared)
            continue;
        float smoothing = 1.0f - squared * inverse_cutoff_squared;
        *point += charge * (1.0f / __builtin_sqrtf(squared)) * smoothing * smoothing;
    }
}
