/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sweep.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <opencv2/core/utility.hpp>
#include <thread>

namespace ar_hud {

std::vector<Point> sweep_points() {
    std::vector<Point> points;
    const auto add = [&](const char *experiment, const std::vector<double> &values, auto change) {
        for (double value : values) {
            Point point{experiment, value, {}};
            change(point.disturbance, value);
            points.push_back(point);
        }
    };
    add("undisturbed", {0}, [](Disturbance &, double) {});
    add("dropped_share", {0.25, 0.5, 0.75, 0.85},
        [](Disturbance &one, double share) { one.dropped_share = share; });
    add("burst_frames_at_half_dropped", {4, 8, 12, 16, 20}, [](Disturbance &one, double frames) {
        one.dropped_share = 0.5;
        one.burst_frames = frames;
    });
    add("stage_time_factor", {2, 4, 8, 12},
        [](Disturbance &one, double factor) { one.factor = factor; });
    add("mapping_late_frames", {5, 10, 15, 20},
        [](Disturbance &one, double frames) { one.mapping_late_frames = frames; });
    add("optimisation_late_frames", {10, 40},
        [](Disturbance &one, double frames) { one.optimisation_late_frames = frames; });
    add("optimisation_absent", {1}, [](Disturbance &one, double) { one.optimised = false; });
    return points;
}

std::vector<Outcome> sweep(const Sequence &sequence, std::size_t frames,
                           const std::vector<Point> &points, std::uint64_t seeds,
                           const std::function<void(std::size_t, std::size_t)> &progress) {
    const StereoRig rig(sequence.left, sequence.right);
    std::vector<std::int64_t> ticks_ns;
    std::vector<StereoImages> images;
    for (std::size_t n = 0; n < frames && n < sequence.frames.size(); n++) {
        ticks_ns.push_back(sequence.frames[n].left.timestamp_ns);
        images.push_back(sequence.load(sequence.frames[n]));
    }
    std::vector<Outcome> outcomes;
    for (const Point &point : points)
        for (std::uint64_t seed = 1; seed <= seeds; seed++)
            outcomes.push_back({point, seed, {}});

    std::atomic<std::size_t> next{0};
    std::mutex lock;
    std::size_t done = 0;
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t n; (n = next++) < outcomes.size();) {
            try {
                Outcome &outcome = outcomes[n];
                const Run run = run_in_virtual_time(
                    rig, ticks_ns, [&](std::size_t frame) { return images[frame]; },
                    disturbed(outcome.point.disturbance, ticks_ns.size(), outcome.seed));
                outcome.errors = errors_of(run, sequence.ground_truth);
                outcome.keyframes_refused = run.keyframes_refused;
            } catch (...) {
                next = outcomes.size();
                const std::lock_guard guard(lock);
                failure = std::current_exception();
                return;
            }
            const std::lock_guard guard(lock);
            progress(++done, outcomes.size());
        }
    };
    /* One run a processor, and none inside a run. */
    const int inside = cv::getNumThreads();
    cv::setNumThreads(1);
    std::vector<std::thread> threads;
    for (unsigned n = 0; n < std::max(1U, std::thread::hardware_concurrency()); n++)
        threads.emplace_back(work);
    for (std::thread &thread : threads)
        thread.join();
    cv::setNumThreads(inside);
    if (failure)
        std::rethrow_exception(failure);
    return outcomes;
}

std::string csv_of(const std::vector<Outcome> &outcomes) {
    std::string csv =
        "experiment,value,seed,processed_share,lost_frames,keyframes_refused,failed,ate_median_m,"
        "ate_rmse_m,ate_max_m,stale_median_m,stale_p95_m\n";
    for (const Outcome &outcome : outcomes) {
        const RunErrors &errors = outcome.errors;
        char row[320];
        std::snprintf(row, sizeof row, "%s,%g,%llu,%.4f,%zu,%zu,%d,%.4f,%.4f,%.4f,%.4f,%.4f\n",
                      outcome.point.experiment.c_str(), outcome.point.value,
                      static_cast<unsigned long long>(outcome.seed), errors.processed_share,
                      errors.lost, outcome.keyframes_refused, errors.failed, errors.absolute.median,
                      errors.absolute.rmse, errors.absolute.max, errors.stale.median,
                      errors.stale_p95_m);
        csv += row;
    }
    return csv;
}

} // namespace ar_hud
