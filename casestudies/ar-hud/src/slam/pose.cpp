/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "pose.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <opencv2/calib3d.hpp>
#include <opencv2/core/eigen.hpp>

namespace ar_hud {

namespace {

/* Residuals beyond this count linearly (Huber): chi-square of 2 at 95 %, for a sigma of 1/3 pixel. */
constexpr double huber_px = 0.8;
constexpr int refinements = 8;
constexpr double behind_m = 0.05;

using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

Eigen::Matrix3d crossing(const Eigen::Vector3d &v) {
    Eigen::Matrix3d matrix;
    matrix << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
    return matrix;
}

/* A small motion: rotation vector first, then translation. */
Pose moved_by(const Vector6 &step) {
    Pose pose = Pose::Identity();
    const double angle = step.head<3>().norm();
    if (angle > 0)
        pose.linear() = Eigen::AngleAxisd(angle, step.head<3>() / angle).toRotationMatrix();
    pose.translation() = step.tail<3>();
    return pose;
}

/* One step of Gauss and Newton for the camera; sightings that are not `used` do not count. */
Vector6 step_of(const StereoRig &rig, const std::vector<Sighting> &sightings,
                const std::vector<bool> &used, const Pose &left_from_world) {
    Matrix6 normal = Matrix6::Zero();
    Vector6 right_side = Vector6::Zero();
    for (std::size_t n = 0; n < sightings.size(); n++) {
        const Eigen::Vector3d point = left_from_world * sightings[n].in_world;
        if (!used[n] || point.z() < behind_m)
            continue;
        const Eigen::Vector2d residual = rig.project(point) - sightings[n].pixel;
        const double length = residual.norm();
        const double weight = length > huber_px ? huber_px / length : 1;
        Eigen::Matrix<double, 2, 3> by_point;
        const double scale = rig.focal_length / point.z();
        by_point << scale, 0, -scale * point.x() / point.z(), 0, scale,
            -scale * point.y() / point.z();
        Eigen::Matrix<double, 2, 6> by_motion;
        by_motion << -by_point * crossing(point), by_point;
        normal += weight * by_motion.transpose() * by_motion;
        right_side -= weight * by_motion.transpose() * residual;
    }
    return normal.ldlt().solve(right_side);
}

LocatedCamera judged(const StereoRig &rig, const std::vector<Sighting> &sightings,
                     const Pose &left_from_world) {
    LocatedCamera camera{left_from_world.inverse(), {}, 0};
    for (const Sighting &sighting : sightings) {
        const Eigen::Vector3d point = left_from_world * sighting.in_world;
        const bool agrees =
            point.z() >= behind_m && (rig.project(point) - sighting.pixel).norm() < sighting_max_px;
        camera.inlier.push_back(agrees);
        camera.inliers += agrees;
    }
    return camera;
}

} // namespace

std::optional<LocatedCamera> refine(const StereoRig &rig, const std::vector<Sighting> &sightings,
                                    const Pose &world_from_left) {
    Pose left_from_world = world_from_left.inverse();
    std::vector<bool> used(sightings.size(), true);
    for (int round = 0; round < refinements; round++) {
        const Vector6 step = step_of(rig, sightings, used, left_from_world);
        if (!step.allFinite())
            return std::nullopt;
        left_from_world = moved_by(step) * left_from_world;
        /* From the middle on without those that are wrong. */
        if (round == refinements / 2)
            used = judged(rig, sightings, left_from_world).inlier;
    }
    LocatedCamera camera = judged(rig, sightings, left_from_world);
    if (camera.inliers < sightings_min)
        return std::nullopt;
    return camera;
}

std::optional<LocatedCamera> locate(const StereoRig &rig, const std::vector<Sighting> &sightings,
                                    int triples) {
    if (sightings.size() < sightings_min)
        return std::nullopt;
    std::vector<cv::Point3d> points;
    std::vector<cv::Point2d> pixels;
    for (const Sighting &sighting : sightings) {
        points.emplace_back(sighting.in_world.x(), sighting.in_world.y(), sighting.in_world.z());
        pixels.emplace_back(sighting.pixel.x(), sighting.pixel.y());
    }
    const cv::Matx33d matrix(rig.focal_length, 0, rig.principal_point.x(), 0, rig.focal_length,
                             rig.principal_point.y(), 0, 0, 1);
    cv::Vec3d turn, translation;
    std::vector<int> agreeing;
    /* OpenCV draws its triples from a generator of fixed seed. */
    if (!cv::solvePnPRansac(points, pixels, matrix, cv::noArray(), turn, translation, false,
                            triples, static_cast<float>(sighting_max_px), 0.99, agreeing,
                            cv::SOLVEPNP_P3P) ||
        agreeing.size() < sightings_min)
        return std::nullopt;
    cv::Matx33d rotation;
    cv::Rodrigues(turn, rotation);
    Pose left_from_world = Pose::Identity();
    Eigen::Matrix3d linear;
    cv::cv2eigen(rotation, linear);
    left_from_world.linear() = linear;
    left_from_world.translation() << translation[0], translation[1], translation[2];
    const auto camera = judged(rig, sightings, left_from_world);
    std::vector<Sighting> right;
    for (std::size_t n = 0; n < sightings.size(); n++)
        if (camera.inlier[n])
            right.push_back(sightings[n]);
    const auto refined = refine(rig, right, camera.world_from_left);
    if (!refined)
        return std::nullopt;
    return judged(rig, sightings, refined->world_from_left.inverse());
}

} // namespace ar_hud
