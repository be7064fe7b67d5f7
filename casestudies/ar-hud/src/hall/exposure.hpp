/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A picture as a camera in the hall takes it: distorted, blurred by its motion, noisy. */
#pragma once

#include "../camera/camera.hpp"
#include "flight.hpp"
#include "scene.hpp"

#include <Eigen/Core>
#include <opencv2/core.hpp>
#include <vector>

namespace ar_hud {

struct Conditions {
    double exposure_s = 0.012;
    /* Of the light that makes a lit white surface white; a dark hall has less. */
    double brightness = 1;
    /* How far slow changes of the light go, as a share of it. */
    double drift = 0.15;
    double noise_sigma = 3; /* of 255 */
};

class Imager {
  public:
    explicit Imager(const Camera &camera);

    /* The picture whose exposure has its middle at `time_s`; `noise_seed` is that of the picture.
     * On all processors; the bytes depend on the arguments alone. */
    cv::Mat1b take(const Scene &scene, const Flight &flight, const Conditions &conditions,
                   double time_s, std::uint64_t noise_seed) const;

  private:
    /* A square of the picture, and the cone of rays that it can have. */
    struct Tile {
        cv::Rect area;
        Eigen::Vector3d axis; /* in the camera */
        double half_angle;
    };

    std::vector<int> visible(const Scene &scene, const Tile &tile, const Pose &world_from_camera,
                             double slack_rad) const;
    void expose(const Scene &scene, const Tile &tile, const std::vector<Pose> &world_from_camera,
                float gain, cv::Mat1f &picture) const;

    Camera camera;
    /* Of each place of a grid, twice as fine as the pixels, the direction of its ray. */
    std::vector<Eigen::Vector3f> rays;
    std::vector<Tile> tiles;
};

} // namespace ar_hud
