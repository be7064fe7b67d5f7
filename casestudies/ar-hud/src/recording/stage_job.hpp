/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * One job of a stage with all that it reads, apart from the run that it comes from: a recorder of memory
 * accesses is too slow to run what comes before.
 */
#pragma once

#include "../engine/stage.hpp"
#include "../slam/front_end.hpp"
#include "../slam/mapping.hpp"
#include "../slam/optimisation.hpp"

#include <variant>

namespace ar_hud {

/* Images are as the stage gets them: not rectified, but for the left one of mapping. */
struct FrontEndJob {
    StereoRig rig;
    FrontEnd front_end{rig};
    Map map;
    std::size_t frame = 0;
    cv::Mat left;

    FrameResult operator()();
};

struct MappingJob {
    StereoRig rig;
    Map map;
    KeyframeId keyframe = 0;
    StereoImages images;

    MappingResult operator()();
};

struct OptimisationJob {
    StereoRig rig;
    Map map;

    std::optional<OptimisationResult> operator()();
};

using StageJob = std::variant<FrontEndJob, MappingJob, OptimisationJob>;

/*
 * Runs SLAM, every stage done at once, up to the first job of `stage` that has a frame from `from_frame` on,
 * and gives that job; nothing if there is none in so many frames. `images` gives the raw images of a frame.
 */
std::optional<StageJob> stage_job_of(const StereoRig &rig, std::size_t frames,
                                     const std::function<StereoImages(std::size_t)> &images,
                                     Stage stage, std::size_t from_frame);

} // namespace ar_hud
