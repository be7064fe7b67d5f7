/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "sweep.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <opencv2/core/utility.hpp>
#include <thread>

namespace ar_hud {

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
