/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where a camera is, from landmarks that it sees. */
#pragma once

#include "../camera/stereo.hpp"

#include <optional>
#include <vector>

namespace ar_hud {

/* A point of the world, and where the rectified left image has it. */
struct Sighting {
    Eigen::Vector3d in_world = Eigen::Vector3d::Zero();
    Eigen::Vector2d pixel = Eigen::Vector2d::Zero();
};

struct LocatedCamera {
    Pose world_from_left = Pose::Identity();
    std::vector<bool> inlier; /* of each sighting */
    std::size_t inliers = 0;
};

/* Beyond this distance from where it should be a sighting is wrong. Corners at the edges of near
 * things are followed with parts of what is behind them: 4 pixels let so many of them pass that the
 * scale came out 1.3 % too large. What is followed well is within half a pixel. */
constexpr double sighting_max_px = 2;
/* With fewer right sightings a camera is not located. */
constexpr std::size_t sightings_min = 12;

/*
 * By consensus of random triples (RANSAC, with P3P by Gao et al., PAMI 2003), then by robust least
 * squares on those that agree. The same sightings give the same pose. Nothing if fewer than
 * sightings_min agree.
 */
std::optional<LocatedCamera> locate(const StereoRig &rig, const std::vector<Sighting> &sightings,
                                    int triples = 100);

/* The second half alone, from a pose that is nearly right. */
std::optional<LocatedCamera> refine(const StereoRig &rig, const std::vector<Sighting> &sightings,
                                    const Pose &world_from_left);

} // namespace ar_hud
