/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "optimisation.hpp"

#include "pose.hpp"

#include <algorithm>
#include <ceres/ceres.h>
#include <ceres/rotation.h>

namespace ar_hud {

namespace {

constexpr int iterations_max = 6;
/* Chi-square at 95 % for two and for three numbers, for a sigma of 1/3 pixel. */
constexpr double huber_left_px = 0.8, huber_stereo_px = 0.9;
/* A keyframe is redundant if this share of its landmarks has as many observers. */
constexpr double redundant_share = 0.9;
constexpr std::size_t redundant_observers = 5;

/* Rotation vector and translation, camera from world, as Ceres takes them. */
using Parameters = std::array<double, 6>;

Parameters parameters_of(const Pose &world_from_left) {
    const Pose left_from_world = world_from_left.inverse();
    const Eigen::AngleAxisd turn(left_from_world.linear());
    const Eigen::Vector3d vector = turn.angle() * turn.axis();
    const Eigen::Vector3d &translation = left_from_world.translation();
    return {vector.x(), vector.y(), vector.z(), translation.x(), translation.y(), translation.z()};
}

Pose pose_of(const Parameters &parameters) {
    const Eigen::Vector3d vector(parameters[0], parameters[1], parameters[2]);
    Pose left_from_world = Pose::Identity();
    if (vector.norm() > 0)
        left_from_world.linear() =
            Eigen::AngleAxisd(vector.norm(), vector.normalized()).toRotationMatrix();
    left_from_world.translation() << parameters[3], parameters[4], parameters[5];
    return left_from_world.inverse();
}

/* How far a landmark is seen from where it should be: two numbers, and a third if the right image
 * has it. */
template <int Numbers> struct Miss {
    const StereoRig &rig;
    const Observation &seen;

    template <typename T> bool operator()(const T *camera, const T *point, T *residual) const {
        T there[3];
        ceres::AngleAxisRotatePoint(camera, point, there);
        for (int n = 0; n < 3; n++)
            there[n] += camera[3 + n];
        const T u = rig.focal_length * there[0] / there[2] + rig.principal_point.x();
        residual[0] = u - seen.left.x();
        residual[1] =
            rig.focal_length * there[1] / there[2] + rig.principal_point.y() - seen.left.y();
        if constexpr (Numbers == 3)
            residual[2] = u - rig.focal_length * rig.baseline_m / there[2] - *seen.right_u;
        return true;
    }
};

class Adjustment {
  public:
    Adjustment(const StereoRig &rig, const Map &map) : rig(rig), map(map) {
        std::vector<KeyframeId> latest;
        for (auto keyframe = map.keyframes().rbegin(); keyframe != map.keyframes().rend();
             keyframe++)
            if (!keyframe->second.redundant || latest.empty())
                latest.push_back(keyframe->first);
        const std::size_t sought =
            latest.size() > optimised_keyframes ? optimised_keyframes : latest.size() - 1;
        for (std::size_t n = 0; n < latest.size(); n++) {
            cameras[latest[n]] = parameters_of(map.keyframes().at(latest[n]).world_from_left);
            if (n < sought)
                this->sought.push_back(latest[n]);
        }
        add_landmarks();
    }

    bool empty() const {
        return sought.empty() || points.empty();
    }

    OptimisationResult solve() {
        ceres::Solver::Options options;
        options.linear_solver_type = ceres::DENSE_SCHUR;
        options.max_num_iterations = iterations_max;
        options.num_threads = 1;
        options.logging_type = ceres::SILENT;
        ceres::Solver::Summary summary;
        ceres::Solve(options, &problem, &summary);

        OptimisationResult result;
        for (auto id = sought.rbegin(); id != sought.rend(); id++)
            result.world_from_left.emplace_back(*id, pose_of(cameras.at(*id)));
        result.newest_before = map.keyframes().at(sought.front()).world_from_left;
        for (const auto &[landmark, point] : points)
            result.in_world[landmark] = {point[0], point[1], point[2]};
        find_outliers(result);
        find_redundant(result);
        return result;
    }

  private:
    /* Those that a sought keyframe sees, with all their observations by keyframes that are here. */
    void add_landmarks() {
        for (KeyframeId id : sought)
            for (const Observation &seen : map.keyframes().at(id).observations)
                if (const auto position = map.position(seen.landmark))
                    points[seen.landmark] = {position->x(), position->y(), position->z()};
        for (auto &[id, camera] : cameras) {
            std::size_t seen_here = 0;
            for (const Observation &seen : map.keyframes().at(id).observations)
                seen_here += add(camera, seen);
            const bool fixed = std::find(sought.begin(), sought.end(), id) == sought.end();
            if (fixed && seen_here > 0)
                problem.SetParameterBlockConstant(camera.data());
        }
    }

    bool add(Parameters &camera, const Observation &seen) {
        const auto point = points.find(seen.landmark);
        if (point == points.end())
            return false;
        if (seen.right_u)
            problem.AddResidualBlock(
                new ceres::AutoDiffCostFunction<Miss<3>, 3, 6, 3>(new Miss<3>{rig, seen}),
                new ceres::HuberLoss(huber_stereo_px), camera.data(), point->second.data());
        else
            problem.AddResidualBlock(
                new ceres::AutoDiffCostFunction<Miss<2>, 2, 6, 3>(new Miss<2>{rig, seen}),
                new ceres::HuberLoss(huber_left_px), camera.data(), point->second.data());
        return true;
    }

    void find_outliers(OptimisationResult &result) const {
        for (KeyframeId id : sought) {
            const Pose left_from_world = pose_of(cameras.at(id)).inverse();
            for (const Observation &seen : map.keyframes().at(id).observations) {
                const auto point = points.find(seen.landmark);
                if (point == points.end())
                    continue;
                const Eigen::Vector3d there =
                    left_from_world * Eigen::Map<const Eigen::Vector3d>(point->second.data());
                if (there.z() <= 0 || (rig.project(there) - seen.left).norm() > sighting_max_px)
                    result.outliers.emplace_back(id, seen.landmark);
            }
        }
    }

    /* Not the newest two: others are still to see what they see. */
    void find_redundant(OptimisationResult &result) const {
        for (std::size_t n = 2; n < sought.size(); n++) {
            std::size_t landmarks = 0, well_seen = 0;
            for (const Observation &seen : map.keyframes().at(sought[n]).observations)
                if (points.count(seen.landmark)) {
                    landmarks++;
                    well_seen += map.observers(seen.landmark).size() > redundant_observers;
                }
            if (static_cast<double>(well_seen) > redundant_share * static_cast<double>(landmarks)) {
                result.redundant.push_back(sought[n]);
                return; /* one at a time: it counts as an observer of the others' landmarks */
            }
        }
    }

    const StereoRig &rig;
    const Map &map;
    std::vector<KeyframeId> sought; /* the newest first */
    std::map<KeyframeId, Parameters> cameras;
    std::map<LandmarkId, std::array<double, 3>> points;
    ceres::Problem problem;
};

} // namespace

std::optional<OptimisationResult> Optimisation::process(const Map &map) const {
    if (map.keyframes().size() < 2)
        return std::nullopt;
    Adjustment adjustment(rig, map);
    if (adjustment.empty())
        return std::nullopt;
    return adjustment.solve();
}

} // namespace ar_hud
