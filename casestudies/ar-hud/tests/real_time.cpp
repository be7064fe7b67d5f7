/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What holds however fast the machine is: nothing here asks how long anything took. */
#include "engine/real_time.hpp"
#include "engine/shared_map.hpp"
#include "wall_clip.hpp"

#include <catch2/catch.hpp>

using namespace ar_hud;

namespace {

Keyframe keyframe(KeyframeId id, std::vector<LandmarkId> seen) {
    Keyframe one;
    one.id = id;
    for (LandmarkId landmark : seen) {
        one.observations.emplace_back();
        one.observations.back().landmark = landmark;
    }
    return one;
}

/* Each frame is one job of the front-end, each keyframe one of mapping; all have an end. */
void check_jobs(const Run &done, std::size_t frames, std::size_t keyframes) {
    std::size_t located = 0, mapped = 0, optimised = 0;
    std::int64_t before_ns = 0;
    for (const Job &job : done.jobs) {
        if (job.stage == Stage::front_end) {
            CHECK(job.frame == located++);
            CHECK(job.dropped_ns.has_value() == done.frames[job.frame].dropped);
        }
        mapped += job.stage == Stage::mapping;
        optimised += job.stage == Stage::optimisation;
        CHECK(job.released_ns >= (job.stage == Stage::front_end ? before_ns : 0));
        before_ns = job.released_ns;
        if (job.dropped_ns) {
            CHECK(*job.dropped_ns >= job.released_ns);
            CHECK_FALSE(job.started_ns);
            CHECK_FALSE(job.finished_ns);
        } else {
            CHECK(job.started_ns.value() >= job.released_ns);
            CHECK(job.finished_ns.value() > *job.started_ns);
        }
    }
    CHECK(located == frames);
    CHECK(mapped == keyframes);
    CHECK(optimised == keyframes);
}

} // namespace

TEST_CASE("the latest part of a map has what its keyframes see, and where that hangs") {
    Map map;
    map.add(keyframe(0, {1, 2}));
    map.add(keyframe(1, {2}));
    map.add(keyframe(2, {2}));
    MappingResult result;
    result.keyframe = 0;
    result.landmarks = {{1, {0, {0, 0, 1}}}, {2, {0, {0, 0, 2}}}};
    map.apply(result);
    const Map part = map.latest(2);
    REQUIRE(part.keyframes().size() == 3);
    CHECK(part.keyframes().at(0).observations.empty());
    CHECK(part.keyframes().at(0).redundant);
    CHECK_FALSE(part.position(1));
    REQUIRE(part.position(2));
    CHECK(*part.position(2) == Eigen::Vector3d(0, 0, 2));
    CHECK(part.observers(2) == std::vector<KeyframeId>{1, 2});
}

TEST_CASE("a keyframe that was computed before a correction is corrected when it comes") {
    SharedMap map;
    map.add(keyframe(0, {}), Pose::Identity());
    const Snapshot before = map.snapshot();
    OptimisationResult result;
    result.world_from_left = {{0, shift(1)}};
    map.apply(result);
    Keyframe late = keyframe(1, {});
    late.world_from_left = shift(5);
    map.add(late, before.moved);
    CHECK(before.map->keyframes().at(0).world_from_left.translation().x() == 0);
    const Snapshot after = map.snapshot();
    CHECK(after.map->keyframes().at(1).world_from_left.translation().x() == Approx(6));
    CHECK(after.moved.translation().x() == Approx(1));
}

TEST_CASE("a snapshot that was read is freed by who changes the map") {
    SharedMap map;
    map.add(keyframe(0, {}), Pose::Identity());
    std::optional<Snapshot> read = map.snapshot();
    const std::weak_ptr<const Map> watched = read->map;
    map.add(keyframe(1, {}), Pose::Identity());
    CHECK_FALSE(watched.expired());
    read.reset();
    CHECK_FALSE(watched.expired());
    map.add(keyframe(2, {}), Pose::Identity());
    CHECK(watched.expired());
}

TEST_CASE("corrections stay rigid, however many there are") {
    SharedMap map;
    const Pose turn =
        Pose(Eigen::AngleAxisd(0.1, Eigen::Vector3d(1, 2, 3).normalized())) * shift(1);
    for (KeyframeId id = 0; id < 400; id++) {
        const Snapshot now = map.snapshot();
        Keyframe one = keyframe(id, {});
        one.world_from_left = turn;
        map.add(one, now.moved);
        OptimisationResult result;
        result.newest_before = map.snapshot().map->keyframes().at(id).world_from_left;
        result.world_from_left = {{id, turn}};
        map.apply(result);
    }
    const Eigen::Matrix3d rotation = map.snapshot().moved.linear();
    CHECK((rotation * rotation.transpose() - Eigen::Matrix3d::Identity()).norm() < 1e-12);
}

TEST_CASE("three threads follow a clip, with as many drops as it takes") {
    constexpr std::size_t frames = 40;
    const WallClip clip(frames);
    RealTimeOptions options;
    options.speed = GENERATE(0.5, 20.0, 1000.0);
    const Run done = run_in_real_time(clip.rig, clip.ticks_ns, clip.images, options);
    REQUIRE(done.frames.size() == frames);
    std::size_t processed = 0, keyframes = 0;
    std::int64_t ready_ns = 0;
    for (const FrameRecord &frame : done.frames) {
        if (frame.dropped)
            continue;
        processed++;
        keyframes += frame.keyframe;
        CHECK(frame.ready_ns > ready_ns);
        ready_ns = frame.ready_ns;
        CHECK(frame.ready_ns > frame.tick_ns);
        if (frame.tracking == Tracking::tracked)
            CHECK((frame.world_from_body.translation() - clip.truth(frame.frame)).norm() < 0.05);
    }
    CHECK_FALSE(done.frames.back().dropped); /* nothing newer comes */
    CHECK(times_ms(done.jobs, Stage::front_end).size() == processed);
    CHECK(keyframes >= 1);
    CHECK(times_ms(done.jobs, Stage::mapping).size() == keyframes);
    CHECK(times_ms(done.jobs, Stage::optimisation).size() >= done.optimisations);
    CHECK(done.optimisations + done.optimisations_skipped <= keyframes);
    check_jobs(done, frames, keyframes);
}

TEST_CASE("what a stage throws comes out, when all threads have ended") {
    WallClip clip(20);
    for (std::size_t n = 1; n < clip.images.size(); n++)
        clip.images[n].left = cv::Mat();
    CHECK_THROWS_AS(run_in_real_time(clip.rig, clip.ticks_ns, clip.images, {}), cv::Exception);
}
