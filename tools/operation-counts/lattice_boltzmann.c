// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// One time step of the lattice Boltzmann method with 19 velocities (D3Q19) and the collision
// of Bhatnagar, Gross and Krook, in single precision: Qian, d'Humieres and Lallemand,
// "Lattice BGK models for Navier-Stokes equation", Europhysics Letters 17 (1992). As in SPEC
// 470.lbm, velocities are divided by the density and the values of a cell lie together.

enum { NX = 120, NY = 120, NZ = 150 };
// 19 values and the flags of a cell, which only obstacles need and this step does not read.
enum { VALUES = 20 };
enum { EAST = VALUES, NORTH = NX * EAST, UP = NY * NORTH };
enum direction { C, E, W, N, S, U, D, NE, SW, NW, SE, EU, WD, WU, ED, NU, SD, SU, ND };

#define RELAXATION 1.95f

// What a value becomes whose velocity has the product `along` with that of the fluid;
// `weighted` is the density times the weight of the direction and the relaxation.
static inline float collided(float value, float weighted, float along, float squared) {
    return (1.0f - RELAXATION) * value +
           weighted * (along * (4.5f * along + 3.0f) + 1.0f - squared);
}

// Before and after the cells `to` has room for what leaves them, two planes each.
void lattice_boltzmann(const float *restrict from, float *restrict to) {
    const float *end = from + NZ * UP;
    for (; from != end; from += VALUES, to += VALUES) {
        float density = from[C] + from[E] + from[W] + from[N] + from[S] + from[U] + from[D] +
                        from[NE] + from[SW] + from[NW] + from[SE] + from[EU] + from[WD] + from[WU] +
                        from[ED] + from[NU] + from[SD] + from[SU] + from[ND];
        float x = from[E] - from[W] + from[NE] - from[SW] - from[NW] + from[SE] + from[EU] -
                  from[WD] - from[WU] + from[ED];
        float y = from[N] - from[S] + from[NE] - from[SW] + from[NW] - from[SE] + from[NU] -
                  from[SD] - from[SU] + from[ND];
        float z = from[U] - from[D] + from[EU] - from[WD] + from[WU] - from[ED] + from[NU] -
                  from[SD] + from[SU] - from[ND];
        x /= density;
        y /= density;
        z /= density;
        float squared = 1.5f * (x * x + y * y + z * z);
        float rest = density * (RELAXATION / 3.0f);
        float axis = density * (RELAXATION / 18.0f);
        float edge = density * (RELAXATION / 36.0f);

        to[C] = collided(from[C], rest, 0.0f, squared);
        to[E + EAST] = collided(from[E], axis, x, squared);
        to[W - EAST] = collided(from[W], axis, -x, squared);
        to[N + NORTH] = collided(from[N], axis, y, squared);
        to[S - NORTH] = collided(from[S], axis, -y, squared);
        to[U + UP] = collided(from[U], axis, z, squared);
        to[D - UP] = collided(from[D], axis, -z, squared);
        to[NE + NORTH + EAST] = collided(from[NE], edge, x + y, squared);
        to[SW - NORTH - EAST] = collided(from[SW], edge, -x - y, squared);
        to[NW + NORTH - EAST] = collided(from[NW], edge, -x + y, squared);
        to[SE - NORTH + EAST] = collided(from[SE], edge, x - y, squared);
        to[EU + UP + EAST] = collided(from[EU], edge, x + z, squared);
        to[WD - UP - EAST] = collided(from[WD], edge, -x - z, squared);
        to[WU + UP - EAST] = collided(from[WU], edge, -x + z, squared);
        to[ED - UP + EAST] = collided(from[ED], edge, x - z, squared);
        to[NU + UP + NORTH] = collided(from[NU], edge, y + z, squared);
        to[SD - UP - NORTH] = collided(from[SD], edge, -y - z, squared);
        to[SU + UP - NORTH] = collided(from[SU], edge, -y + z, squared);
        to[ND - UP + NORTH] = collided(from[ND], edge, y - z, squared);
    }
}
