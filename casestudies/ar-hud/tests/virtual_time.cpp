/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* SLAM as a whole, on a second and a half of a flight. */
#include "engine/virtual_time.hpp"
#include "engine/cpu_times.hpp"
#include "evaluation/errors.hpp"
#include "hall/sequences.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <time.h>

using namespace ar_hud;

namespace {

constexpr std::size_t frames = 30;
constexpr std::int64_t tick_ns = 50'000'000;

struct Clip {
    StereoRig rig{hall_camera_left(), hall_camera_right()};
    std::vector<StereoImages> images;
    std::vector<std::int64_t> ticks_ns;
    Trajectory truth;

    Clip() {
        const SequenceKind &kind = sequence_kind("MH03");
        const Flight flight(kind.flight, 1);
        const Scene scene = Scene::furnish(1);
        const Imager left(hall_camera_left()), right(hall_camera_right());
        for (std::size_t n = 0; n < frames; n++) {
            const double time_s = 0.05 * static_cast<double>(n);
            images.push_back({left.take(scene, flight, kind.conditions, time_s, 2 * n),
                              right.take(scene, flight, kind.conditions, time_s, 2 * n + 1)});
            ticks_ns.push_back(static_cast<std::int64_t>(n) * tick_ns);
            truth.push_back({ticks_ns.back(), flight.world_from_body(time_s)});
        }
    }
};

const Clip &clip() {
    static const Clip one;
    return one;
}

Run run(const Service &service, std::size_t queue_max = mapping_queue_max) {
    return run_in_virtual_time(
        clip().rig, clip().ticks_ns, [](std::size_t frame) { return clip().images[frame]; },
        service, queue_max);
}

double median_ate_m(const Run &done) {
    Trajectory trajectory;
    for (const FrameRecord &frame : done.frames)
        if (!frame.dropped)
            trajectory.push_back({frame.tick_ns, frame.world_from_body});
    const auto pairs = associate(trajectory, clip().truth);
    return statistics(absolute_errors(pairs, align(pairs))).median;
}

std::size_t count(const Run &done, bool (*what)(const FrameRecord &)) {
    return static_cast<std::size_t>(std::count_if(done.frames.begin(), done.frames.end(), what));
}

bool dropped(const FrameRecord &frame) {
    return frame.dropped;
}
bool is_lost(const FrameRecord &frame) {
    return frame.tracking == Tracking::lost;
}
bool is_keyframe(const FrameRecord &frame) {
    return frame.keyframe;
}

} // namespace

TEST_CASE("with stages that take no time a clip is followed to the centimetre, twice the same") {
    const Service at_once = [](std::size_t) { return ServiceTimes(); };
    const Run done = run(at_once), again = run(at_once);
    CHECK(count(done, dropped) == 0);
    CHECK(count(done, is_lost) == 0);
    CHECK(count(done, is_keyframe) >= 2);
    CHECK(done.optimisations >= 1);
    CHECK(median_ate_m(done) < 0.02);
    for (std::size_t n = 0; n < frames; n++)
        CHECK(done.frames[n].world_from_body.matrix() == again.frames[n].world_from_body.matrix());
}

TEST_CASE("of frames that come while the front-end is busy the newest is taken") {
    const Run done = run([](std::size_t) { return ServiceTimes{false, 2 * tick_ns + 1}; });
    /* It begins with 0; 1 and 2 come; it ends just after 2 has come: takes 2, and so on. */
    std::vector<std::size_t> taken;
    for (const FrameRecord &frame : done.frames)
        if (!frame.dropped)
            taken.push_back(frame.frame);
    REQUIRE(taken.size() > 4);
    CHECK(taken[0] == 0);
    CHECK(taken[1] == 2);
    CHECK(taken[2] == 4);
    for (const FrameRecord &frame : done.frames)
        if (!frame.dropped)
            CHECK(frame.ready_ns > frame.tick_ns + 2 * tick_ns);
}

TEST_CASE("jobs say when each stage had what a frame gave it, and what it dropped") {
    const std::int64_t front_end_ns = 2 * tick_ns + 1, mapping_ns = 3 * tick_ns;
    const Run done = run([&](std::size_t frame) {
        ServiceTimes times{frame == 3, front_end_ns, mapping_ns};
        times.optimised = false;
        return times;
    });
    std::map<Stage, std::vector<Job>> jobs;
    for (const Job &job : done.jobs)
        jobs[job.stage].push_back(job);
    const auto &located = jobs[Stage::front_end];
    REQUIRE(located.size() == frames);
    for (std::size_t n = 0; n < frames; n++) {
        CHECK(located[n].frame == n);
        CHECK(located[n].released_ns == static_cast<std::int64_t>(n) * tick_ns);
        CHECK(located[n].dropped_ns.has_value() == done.frames[n].dropped);
        CHECK(located[n].finished_ns.has_value() != done.frames[n].dropped);
    }
    CHECK(located[0].started_ns == 0);
    CHECK(located[0].finished_ns == front_end_ns);
    CHECK(located[1].dropped_ns == 2 * tick_ns); /* since a newer one came */
    CHECK(located[2].started_ns == front_end_ns);
    CHECK(located[3].dropped_ns == 3 * tick_ns); /* by the schedule */
    const Job &mapped = jobs[Stage::mapping].at(0);
    CHECK(mapped.released_ns == front_end_ns);
    CHECK(mapped.started_ns == front_end_ns);
    CHECK(mapped.finished_ns == front_end_ns + mapping_ns);
    const Job &skipped = jobs[Stage::optimisation].at(0);
    CHECK(skipped.released_ns == front_end_ns + mapping_ns);
    CHECK(skipped.dropped_ns == skipped.released_ns);
    CHECK(jobs[Stage::optimisation].size() == jobs[Stage::mapping].size());
    CHECK(times_ms(done.jobs, Stage::mapping).at(0) == Approx(150));
}

TEST_CASE("frames that the schedule drops are not seen, and cost little") {
    const Run done = run([](std::size_t frame) { return ServiceTimes{frame % 2 == 1}; });
    CHECK(count(done, dropped) == frames / 2);
    CHECK(count(done, is_lost) == 0);
    CHECK(median_ate_m(done) < 0.03);
}

TEST_CASE("while mapping is late there is no landmark") {
    const Run done = run([](std::size_t) {
        ServiceTimes times;
        times.mapping_ns = 12 * tick_ns;
        return times;
    });
    for (std::size_t n = 1; n < 12; n++)
        CHECK(done.frames[n].tracking == Tracking::starting);
    CHECK(done.frames[13].tracking == Tracking::tracked);
}

TEST_CASE("while the queue of mapping is full no frame becomes a keyframe") {
    /* Mapping ends with the first keyframe, and never with the second. */
    const Service stuck = [](std::size_t frame) {
        ServiceTimes times;
        times.mapping_ns = frame == 0 ? 0 : 1000 * tick_ns;
        return times;
    };
    const Run bounded = run(stuck, 1);
    CHECK(count(bounded, is_keyframe) == 2);
    CHECK(bounded.keyframes_refused > 0);
    CHECK(count(run(stuck, 100), is_keyframe) > 2);
}

TEST_CASE("optimisation that is busy or not there is skipped") {
    const Run never = run([](std::size_t) {
        ServiceTimes times;
        times.optimised = false;
        return times;
    });
    CHECK(never.optimisations == 0);
    CHECK(never.optimisations_skipped == count(never, is_keyframe));
    CHECK(median_ate_m(never) < 0.03);
    const Run busy = run([](std::size_t) {
        ServiceTimes times;
        times.optimisation_ns = 1000 * tick_ns;
        return times;
    });
    CHECK(busy.optimisations == 1);
}

TEST_CASE("who watches sees each job of each stage begin and end") {
    std::map<Stage, std::vector<std::size_t>> seen;
    std::optional<std::pair<Stage, std::size_t>> at_work;
    const StageWatch watch = [&](Stage stage, std::size_t frame, bool begins) {
        CHECK(at_work.has_value() != begins);
        if (begins) {
            at_work = {stage, frame};
            seen[stage].push_back(frame);
        } else {
            CHECK(*at_work == std::pair(stage, frame));
            at_work.reset();
        }
    };
    const Service at_once = [](std::size_t) { return ServiceTimes(); };
    const auto images = [](std::size_t frame) { return clip().images[frame]; };
    const Run done =
        run_in_virtual_time(clip().rig, clip().ticks_ns, images, at_once, mapping_queue_max, watch);
    std::vector<std::size_t> processed, keyframes;
    for (const FrameRecord &frame : done.frames) {
        if (!frame.dropped)
            processed.push_back(frame.frame);
        if (frame.keyframe)
            keyframes.push_back(frame.frame);
    }
    CHECK(!at_work);
    CHECK(seen[Stage::front_end] == processed);
    CHECK(seen[Stage::mapping] == keyframes);
    CHECK(seen[Stage::optimisation].size() >= done.optimisations);
}

TEST_CASE("a stage is charged what its thread uses of a processor from begin to end") {
    const auto used_ns = [] {
        timespec used{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return used.tv_sec * std::int64_t{1'000'000'000} + used.tv_nsec;
    };
    const auto use = [&](std::int64_t time_ns) {
        for (const std::int64_t until_ns = used_ns() + time_ns; used_ns() < until_ns;)
            ;
    };
    CpuTimes took;
    const StageWatch watch = took.watch();
    const std::int64_t begin_ns = used_ns();
    watch(Stage::mapping, 3, true);
    use(2'000'000);
    watch(Stage::mapping, 3, false);
    const double all_ms = static_cast<double>(used_ns() - begin_ns) / 1e6;
    use(2'000'000);
    watch(Stage::mapping, 5, true);
    watch(Stage::mapping, 5, false);
    REQUIRE(took.of_jobs_ms(Stage::mapping).size() == 2);
    CHECK(took.of_jobs_ms(Stage::mapping)[0] >= 2);
    CHECK(took.of_jobs_ms(Stage::mapping)[0] <= all_ms);
    CHECK(took.of_jobs_ms(Stage::mapping)[1] < took.of_jobs_ms(Stage::mapping)[0]);
    CHECK(took.of_jobs_ms(Stage::front_end).empty());
}
