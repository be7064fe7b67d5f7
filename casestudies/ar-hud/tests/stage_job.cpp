/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A job that was written and read is the job that it was: what it gives has the same bytes. */
#include "engine/virtual_time.hpp"
#include "recording/fields.hpp"
#include "recording/stage_file.hpp"
#include "temporary_folder.hpp"
#include "wall_clip.hpp"

#include <catch2/catch.hpp>
#include <cereal/archives/binary.hpp>
#include <sstream>

namespace ar_hud {

template <typename Archive> void serialize(Archive &archive, FrameResult &result) {
    archive(result.frame, result.tracking, result.world_from_left, result.corners, result.inliers,
            result.keyframe);
}

template <typename Archive> void serialize(Archive &archive, MappingResult &result) {
    archive(result.keyframe, result.right_u, result.landmarks, result.descriptors,
            result.found_again, result.same);
}

template <typename Archive> void serialize(Archive &archive, OptimisationResult &result) {
    archive(result.world_from_left, result.newest_before, result.in_world, result.outliers,
            result.redundant);
}

} // namespace ar_hud

using namespace ar_hud;

namespace {

constexpr std::size_t frames = 50, from_frame = 25;

const WallClip &clip() {
    static const WallClip one(frames);
    return one;
}

std::optional<StageJob> job_of(Stage stage, std::size_t from) {
    return stage_job_of(
        clip().rig, frames, [](std::size_t frame) { return clip().images[frame]; }, stage, from);
}

template <typename Value> std::string bytes_of(const Value &value) {
    std::ostringstream stream;
    cereal::BinaryOutputArchive archive(stream);
    archive(value);
    return stream.str();
}

/* What it gives, and what it is afterwards. */
std::string outcome(StageJob job) {
    return std::visit([](auto &one) { return bytes_of(one()); }, job) + bytes_of(job);
}

} // namespace

TEST_CASE("a job that was read from a file does the same as the one that was written") {
    const TemporaryFolder temporary;
    const auto file = temporary.path / "job";
    const auto stage = GENERATE(Stage::front_end, Stage::mapping, Stage::optimisation);
    const auto job = job_of(stage, from_frame);
    REQUIRE(job);
    REQUIRE(job->index() == static_cast<std::size_t>(stage));
    write_stage_job(file, *job);
    const StageJob read = read_stage_job(file);
    CHECK(bytes_of(read) == bytes_of(*job));
    CHECK(outcome(read) == outcome(*job));
}

/* What is not written cannot be seen in the bytes of what was read. */
TEST_CASE("keyframes that were read from a file have their images") {
    const TemporaryFolder temporary;
    const auto job = job_of(Stage::front_end, from_frame);
    write_stage_job(temporary.path / "job", *job);
    const StageJob read = read_stage_job(temporary.path / "job");
    const auto &keyframes = std::get<FrontEndJob>(*job).map.keyframes();
    REQUIRE(keyframes.size() > 1);
    for (const auto &[id, keyframe] : std::get<FrontEndJob>(read).map.keyframes()) {
        REQUIRE(keyframe.left.size() == keyframes.at(id).left.size());
        CHECK(cv::norm(keyframe.left, keyframes.at(id).left, cv::NORM_INF) == 0);
    }
    OptimisationJob without;
    without.map.add(Keyframe());
    write_stage_job(temporary.path / "without", without);
    const StageJob none = read_stage_job(temporary.path / "without");
    CHECK(std::get<OptimisationJob>(none).map.keyframes().at(0).left.empty());
}

TEST_CASE(
    "a job of the front-end is that of virtual time, and goes on from a file as from memory") {
    const TemporaryFolder temporary;
    write_stage_job(temporary.path / "job", *job_of(Stage::front_end, from_frame));
    auto job = std::get<FrontEndJob>(read_stage_job(temporary.path / "job"));
    const Run run = run_in_virtual_time(
        clip().rig, clip().ticks_ns, [](std::size_t frame) { return clip().images[frame]; },
        [](std::size_t) { return ServiceTimes(); });
    for (std::size_t frame = from_frame; !run.frames[frame].keyframe; frame++) {
        job.frame = frame;
        job.left = clip().images[frame].left;
        const FrameResult result = job();
        CHECK(result.tracking == Tracking::tracked);
        CHECK((result.world_from_left * job.rig.body_from_left.inverse()).matrix() ==
              run.frames[frame].world_from_body.matrix());
    }
}

TEST_CASE("where no job is, none is found; what is none is refused") {
    CHECK_FALSE(job_of(Stage::front_end, frames));
    const TemporaryFolder temporary;
    const auto file = temporary.path / "job";
    CHECK_THROWS_WITH(read_stage_job(file), Catch::Contains("job: is no job of this program"));
    write_text(file, "no job at all, but long enough");
    CHECK_THROWS_WITH(read_stage_job(file), Catch::Contains("job: is no job of this program"));
    write_stage_job(file, *job_of(Stage::mapping, from_frame));
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    CHECK_THROWS_WITH(read_stage_job(file), Catch::Contains("job: is damaged"));
    CHECK_THROWS_WITH(write_stage_job(temporary.path / "no/job", OptimisationJob()),
                      Catch::Contains("job: cannot be written"));
}
