/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * How far an estimated trajectory is from the true one. The measures are those of Sturm et al.,
 * "A benchmark for the evaluation of RGB-D SLAM systems" (IROS 2012), as the tool `evo` computes
 * them; errors are in metres.
 */
#pragma once

#include "../trajectory/trajectory.hpp"

#include <vector>

namespace ar_hud {

/* A pose that was estimated, and the true one at its time. */
struct PosePair {
    std::int64_t timestamp_ns = 0;
    Pose estimated = Pose::Identity();
    Pose truth = Pose::Identity();
};

/* For each estimated pose the true one nearest in time, of two equally near the earlier; poses
 * without one within `apart_max_ns` are left out. */
std::vector<PosePair> associate(const Trajectory &estimated, const Trajectory &truth,
                                std::int64_t apart_max_ns = 10'000'000);

/*
 * The rotation and translation, without scale, that brings the estimated positions nearest to the
 * true ones in the least squares sense (Umeyama, PAMI 1991). Needs three pairs.
 */
Pose align(const std::vector<PosePair> &pairs);

/* Distances of the estimated positions, after `world_from_estimate`, from the true ones: the
 * absolute trajectory error (ATE) of each pair. */
std::vector<double> absolute_errors(const std::vector<PosePair> &pairs,
                                    const Pose &world_from_estimate);

/* Relative pose error (RPE): how far the way from each pair to the `step`th after it is wrong. */
struct RelativeError {
    double translation = 0; /* m */
    double rotation = 0;    /* rad */
};
std::vector<RelativeError> relative_errors(const std::vector<PosePair> &pairs, std::size_t step);

struct Statistics {
    std::size_t count = 0;
    double median = 0, rmse = 0, mean = 0, max = 0;
};
/* All 0 without values; the median of an even number of them is the mean of the middle two. */
Statistics statistics(std::vector<double> values);

} // namespace ar_hud
