/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The same numbers for a seed with every standard library; its distributions do not promise that. */
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace ar_hud {

class Random {
  public:
    /* Streams of one seed are independent of each other. */
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0)
        : bits(mixed(seed + mixed(stream + 1))) {
    }

    /* 0 or more, below 1. */
    double uniform() {
        return static_cast<double>(bits() >> 11) * 0x1p-53;
    }
    double uniform(double low, double high) {
        return low + (high - low) * uniform();
    }
    /* 0 to count - 1. */
    int below(int count) {
        return static_cast<int>(uniform() * count);
    }
    /* Standard normal (Box and Muller). */
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * M_PI * uniform());
    }

  private:
    /* The finalizer of SplitMix64 (Steele et al., OOPSLA 2014). */
    static std::uint64_t mixed(std::uint64_t x) {
        x += 0x9e3779b97f4a7c15;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }

    std::mt19937_64 bits;
};

} // namespace ar_hud
