/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A picture as a camera in the hall takes it: distorted, blurred by its motion, noisy. */
#pragma once

#include "../camera/camera.hpp"
#include "flight.hpp"
#include "scene.hpp"

#include <Eigen/Core>
#include <array>
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
    /* A square of the picture, and the pyramid that its rays lie in: the normals of its four sides,
     * inwards, in the camera. */
    struct Tile {
        cv::Rect area;
        std::array<Eigen::Vector3d, 4> sides;
    };
    /* A solid that rays may meet, none of them nearer than this. */
    struct Candidate {
        const Solid *solid;
        double nearest_m;
    };

    /* Of the ray at a place of the grid of rays. */
    Eigen::Vector3d ray_at(int row, int column) const;
    Tile tile_of(const cv::Rect &area) const;
    static std::vector<Candidate> visible(const Scene &scene, const Tile &tile,
                                          const std::vector<Pose> &world_from_camera);
    void expose(const Scene &scene, const Tile &tile, const std::vector<Pose> &world_from_camera,
                float gain, cv::Mat1f &picture) const;

    Camera camera;
    /* Of each place of a grid, twice as fine as the pixels, the direction of its ray. */
    std::vector<Eigen::Vector3f> rays;
    std::vector<Tile> tiles;
};

} // namespace ar_hud
