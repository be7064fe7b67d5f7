/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace ar_hud {

namespace {

/* The pose of `truth`, which has some, that is nearest to a time. */
const StampedPose &nearest(const Trajectory &truth, std::int64_t timestamp_ns) {
    auto later = std::lower_bound(
        truth.begin(), truth.end(), timestamp_ns,
        [](const StampedPose &pose, std::int64_t time_ns) { return pose.timestamp_ns < time_ns; });
    if (later == truth.begin())
        return *later;
    const auto before = std::prev(later);
    if (later == truth.end() ||
        timestamp_ns - before->timestamp_ns <= later->timestamp_ns - timestamp_ns)
        return *before;
    return *later;
}

} // namespace

std::vector<PosePair> associate(const Trajectory &estimated, const Trajectory &truth,
                                std::int64_t apart_max_ns) {
    std::vector<PosePair> pairs;
    if (truth.empty())
        return pairs;
    for (const StampedPose &pose : estimated) {
        const StampedPose &match = nearest(truth, pose.timestamp_ns);
        if (std::abs(match.timestamp_ns - pose.timestamp_ns) <= apart_max_ns)
            pairs.push_back({pose.timestamp_ns, pose.world_from_body, match.world_from_body});
    }
    return pairs;
}

Pose align(const std::vector<PosePair> &pairs) {
    if (pairs.size() < 3)
        throw std::invalid_argument("an alignment needs three poses");
    Eigen::Matrix3Xd estimated(3, pairs.size()), truth(3, pairs.size());
    for (std::size_t n = 0; n < pairs.size(); n++) {
        estimated.col(static_cast<Eigen::Index>(n)) = pairs[n].estimated.translation();
        truth.col(static_cast<Eigen::Index>(n)) = pairs[n].truth.translation();
    }
    return Pose(Eigen::umeyama(estimated, truth, false));
}

std::vector<double> absolute_errors(const std::vector<PosePair> &pairs,
                                    const Pose &world_from_estimate) {
    std::vector<double> errors;
    errors.reserve(pairs.size());
    for (const PosePair &pair : pairs)
        errors.push_back(
            (world_from_estimate * pair.estimated.translation() - pair.truth.translation()).norm());
    return errors;
}

std::vector<RelativeError> relative_errors(const std::vector<PosePair> &pairs, std::size_t step) {
    std::vector<RelativeError> errors;
    for (std::size_t n = 0; n + step < pairs.size(); n++) {
        const Pose estimated = pairs[n].estimated.inverse() * pairs[n + step].estimated;
        const Pose truth = pairs[n].truth.inverse() * pairs[n + step].truth;
        const Pose error = truth.inverse() * estimated;
        errors.push_back({error.translation().norm(), Eigen::AngleAxisd(error.linear()).angle()});
    }
    return errors;
}

Statistics statistics(std::vector<double> values) {
    Statistics result;
    result.count = values.size();
    if (values.empty())
        return result;
    std::sort(values.begin(), values.end());
    const double count = static_cast<double>(values.size());
    const std::size_t middle = values.size() / 2;
    result.median =
        values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    result.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    result.rmse =
        std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / count);
    result.max = values.back();
    return result;
}

} // namespace ar_hud
