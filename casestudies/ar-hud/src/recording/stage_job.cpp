/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "stage_job.hpp"

namespace ar_hud {

FrameResult FrontEndJob::operator()() {
    return front_end.process(frame, rig.rectify_left(left), map, true);
}

MappingResult MappingJob::operator()() {
    return Mapping(rig).process(keyframe, {images.left, rig.rectify_right(images.right)}, map,
                                true);
}

std::optional<OptimisationResult> OptimisationJob::operator()() {
    return Optimisation(rig).process(map);
}

/* The order of virtual time without service times. */
std::optional<StageJob> stage_job_of(const StereoRig &rig, std::size_t frames,
                                     const std::function<StereoImages(std::size_t)> &images,
                                     Stage stage, std::size_t from_frame) {
    FrontEnd front_end(rig);
    Map map;
    for (std::size_t frame = 0; frame < frames; frame++) {
        const StereoImages raw = images(frame);
        const auto is_wanted = [&](Stage one) { return one == stage && frame >= from_frame; };
        FrontEndJob seen{rig, front_end, map, frame, raw.left};
        if (is_wanted(Stage::front_end))
            return seen;
        FrameResult result = seen();
        front_end = seen.front_end;
        if (!result.keyframe)
            continue;

        const KeyframeId keyframe = result.keyframe->id;
        map.add(std::move(*result.keyframe));
        MappingJob mapping{rig,
                           map.around(rig, keyframe, latest_searched, older_searched),
                           keyframe,
                           {rig.rectify_left(raw.left), raw.right}};
        if (is_wanted(Stage::mapping))
            return mapping;
        map.apply(mapping());
        OptimisationJob optimisation{rig, map.sharing(optimised_keyframes, fixed_keyframes)};
        if (is_wanted(Stage::optimisation))
            return optimisation;
        if (const auto optimised = optimisation())
            front_end.correct(map.apply(*optimised));
    }
    return std::nullopt;
}

} // namespace ar_hud
