/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sweep.hpp"

#include "../input_error.hpp"

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

std::string name_of(const Point &point) {
    char value[32];
    std::snprintf(value, sizeof value, "%g", point.value);
    return point.experiment + "=" + value;
}

Point sweep_point(const std::string &name) {
    std::string all;
    for (const Point &point : sweep_points()) {
        if (name_of(point) == name)
            return point;
        all += (all.empty() ? "" : ", ") + name_of(point);
    }
    throw InputError({name}, "is no point of a sweep; expected one of " + all);
}

void sweep(const Sequence &sequence, std::size_t frames, const std::vector<SweepRun> &runs,
           const std::function<void(const Outcome &)> &done) {
    const StereoRig rig(sequence.left, sequence.right);
    std::vector<std::int64_t> ticks_ns;
    std::vector<StereoImages> images;
    for (std::size_t n = 0; n < frames && n < sequence.frames.size(); n++) {
        ticks_ns.push_back(sequence.frames[n].left.timestamp_ns);
        images.push_back(sequence.load(sequence.frames[n]));
    }

    std::atomic<std::size_t> next{0};
    std::mutex lock;
    std::exception_ptr failure;
    const auto work = [&] {
        for (std::size_t n; (n = next++) < runs.size();) {
            try {
                const Run run = run_in_virtual_time(
                    rig, ticks_ns, [&](std::size_t frame) { return images[frame]; },
                    disturbed(runs[n].point.disturbance, ticks_ns.size(), runs[n].seed));
                const Outcome outcome{runs[n], errors_of(run, sequence.ground_truth),
                                      run.keyframes_refused};
                const std::lock_guard guard(lock);
                done(outcome);
            } catch (...) {
                next = runs.size();
                const std::lock_guard guard(lock);
                failure = std::current_exception();
                return;
            }
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
}

} // namespace ar_hud
