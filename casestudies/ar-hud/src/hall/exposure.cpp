/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "exposure.hpp"

#include "../random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <opencv2/calib3d.hpp>
#include <opencv2/core/utility.hpp>

namespace ar_hud {

namespace {

constexpr int tile_side = 16;
/* Rays of a pixel: two by two, each at another time of the exposure. */
constexpr int fineness = 2;
constexpr int moments = fineness * fineness;

float drifted(const Conditions &conditions, double time_s) {
    const double slow = std::sin(2 * M_PI * time_s / 17), quick = std::sin(2 * M_PI * time_s / 5.3);
    return static_cast<float>(conditions.brightness *
                              (1 + conditions.drift * (0.6 * slow + 0.4 * quick)));
}

/* Normal numbers to draw from: a logarithm for each pixel would take as long as its light. */
const std::vector<float> &normals() {
    static const std::vector<float> table = [] {
        Random random(0, 4);
        std::vector<float> numbers(1 << 16);
        for (float &number : numbers)
            number = static_cast<float>(random.normal());
        return numbers;
    }();
    return table;
}

cv::Mat1b sensed(const cv::Mat1f &light, double sigma, std::uint64_t seed) {
    const std::vector<float> &noise = normals();
    cv::Mat1b picture(light.size());
    cv::parallel_for_({0, light.rows}, [&](const cv::Range &rows) {
        for (int y = rows.start; y < rows.end; y++) {
            Random random(seed, static_cast<std::uint64_t>(y));
            auto index = static_cast<std::uint32_t>(random.below(1 << 30));
            for (int x = 0; x < light.cols; x++) {
                /* A linear congruential step (Numerical Recipes); its upper bits are the good ones. */
                index = index * 1664525U + 1013904223U;
                picture(y, x) = cv::saturate_cast<uchar>(light(y, x) + static_cast<float>(sigma) *
                                                                           noise[index >> 16]);
            }
        }
    });
    return picture;
}

} // namespace

Imager::Imager(const Camera &camera) : camera(camera) {
    const int columns = camera.width * fineness, rows = camera.height * fineness;
    std::vector<cv::Point2d> pixels, ideal;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            pixels.emplace_back((x + 0.5) / fineness - 0.5, (y + 0.5) / fineness - 0.5);
    cv::undistortPoints(pixels, ideal, camera.matrix(), camera.distortion(), cv::noArray(),
                        cv::noArray(), {cv::TermCriteria::COUNT | cv::TermCriteria::EPS, 50, 1e-9});
    rays.reserve(ideal.size());
    for (const cv::Point2d &place : ideal)
        rays.push_back(Eigen::Vector3d(place.x, place.y, 1).normalized().cast<float>());

    for (int y = 0; y < camera.height; y += tile_side)
        for (int x = 0; x < camera.width; x += tile_side) {
            const cv::Rect area =
                cv::Rect(x, y, tile_side, tile_side) & cv::Rect(0, 0, camera.width, camera.height);
            tiles.push_back(tile_of(area));
        }
}

Eigen::Vector3d Imager::ray_at(int row, int column) const {
    return rays[static_cast<std::size_t>(row * camera.width * fineness + column)].cast<double>();
}

Imager::Tile Imager::tile_of(const cv::Rect &area) const {
    /* Where its rays meet the plane at a depth of one. */
    constexpr double endless = std::numeric_limits<double>::infinity();
    double left = endless, right = -endless, top = endless, bottom = -endless;
    for (int row = area.y * fineness; row < area.br().y * fineness; row++)
        for (int column = area.x * fineness; column < area.br().x * fineness; column++) {
            const Eigen::Vector3d ray = ray_at(row, column);
            left = std::min(left, ray.x() / ray.z());
            right = std::max(right, ray.x() / ray.z());
            top = std::min(top, ray.y() / ray.z());
            bottom = std::max(bottom, ray.y() / ray.z());
        }
    return {area, {{{1, 0, -left}, {-1, 0, right}, {0, 1, -top}, {0, -1, bottom}}}};
}

/* The solids that reach into the tile's pyramid at one of the moments at least, nearest first. */
std::vector<Imager::Candidate> Imager::visible(const Scene &scene, const Tile &tile,
                                               const std::vector<Pose> &world_from_camera) {
    std::vector<Candidate> found;
    for (const Solid &solid : scene.solids) {
        bool reaches = false;
        double nearest_m = std::numeric_limits<double>::infinity();
        for (const Pose &pose : world_from_camera) {
            const Pose solid_from_camera = solid.solid_from_world * pose;
            reaches = reaches || solid.reaches_into(tile.sides, solid_from_camera);
            nearest_m = std::min(nearest_m, solid.distance_m(solid_from_camera.translation()));
        }
        if (reaches)
            found.push_back({&solid, nearest_m});
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate &one, const Candidate &other) {
        return one.nearest_m < other.nearest_m;
    });
    return found;
}

void Imager::expose(const Scene &scene, const Tile &tile,
                    const std::vector<Pose> &world_from_camera, float gain,
                    cv::Mat1f &picture) const {
    const std::vector<Candidate> candidates = visible(scene, tile, world_from_camera);
    const double pixel_rad = 1 / camera.fu;
    for (int y = tile.area.y; y < tile.area.br().y; y++)
        for (int x = tile.area.x; x < tile.area.br().x; x++) {
            float sum = 0;
            for (int part = 0; part < moments; part++) {
                const int row = y * fineness + part / fineness,
                          column = x * fineness + part % fineness;
                const Pose &pose =
                    world_from_camera[static_cast<std::size_t>((part + x + y) % moments)];
                const Eigen::Vector3d in_camera = ray_at(row, column);
                const Ray ray{pose.translation(), pose.linear() * in_camera};
                Hit hit{std::numeric_limits<double>::infinity(), {}, 0, 0, 0};
                for (const Candidate &candidate : candidates) {
                    if (candidate.nearest_m > hit.distance_m)
                        break;
                    candidate.solid->meets(ray, hit);
                }
                const double slant = std::max(0.15, -hit.normal.dot(ray.direction));
                const float fallen = static_cast<float>(in_camera.z() * in_camera.z());
                sum += fallen * scene.light(hit, ray.origin + hit.distance_m * ray.direction,
                                            hit.distance_m * pixel_rad / std::sqrt(slant));
            }
            picture(y, x) = gain * sum / moments;
        }
}

cv::Mat1b Imager::take(const Scene &scene, const Flight &flight, const Conditions &conditions,
                       double time_s, std::uint64_t noise_seed) const {
    std::vector<Pose> world_from_camera;
    for (int moment = 0; moment < moments; moment++) {
        const double part = (moment + 0.5) / moments - 0.5;
        world_from_camera.push_back(flight.world_from_body(time_s + part * conditions.exposure_s) *
                                    camera.body_from_camera);
    }
    const float gain = drifted(conditions, time_s);
    cv::Mat1f light(camera.height, camera.width);
    cv::parallel_for_({0, static_cast<int>(tiles.size())}, [&](const cv::Range &range) {
        for (int n = range.start; n < range.end; n++)
            expose(scene, tiles[static_cast<std::size_t>(n)], world_from_camera, gain, light);
    });
    return sensed(light, conditions.noise_sigma, noise_seed);
}

} // namespace ar_hud
