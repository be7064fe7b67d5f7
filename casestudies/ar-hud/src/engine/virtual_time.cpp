/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "virtual_time.hpp"

#include "../slam/mapping.hpp"
#include "../slam/optimisation.hpp"

#include <algorithm>
#include <deque>
#include <limits>

namespace ar_hud {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class VirtualTime {
  public:
    VirtualTime(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
                const std::function<StereoImages(std::size_t)> &images, const Service &service,
                std::size_t queue_max, const StageWatch &watch)
        : queue_max(queue_max), rig(rig), ticks_ns(ticks_ns), images(images), service(service),
          watch(watch), front_end(rig), mapping(rig), optimisation(rig) {
        for (std::size_t frame = 0; frame < ticks_ns.size(); frame++)
            run.frames.push_back({frame, ticks_ns[frame], true});
    }

    /* At one time what ends comes before what begins. */
    Run go() {
        while (true) {
            const std::int64_t tick = next_frame < ticks_ns.size() ? ticks_ns[next_frame] : never;
            now = std::min({optimisation_ends, mapping_ends, front_end_ends, tick});
            if (now == never) {
                sort_jobs(run.jobs);
                return run;
            }
            if (now == optimisation_ends)
                end_optimisation();
            else if (now == mapping_ends)
                end_mapping();
            else if (now == front_end_ends)
                end_front_end();
            else
                take(next_frame++);
        }
    }

  private:
    struct Waiting {
        KeyframeId keyframe;
        Job job;
        StereoImages images; /* the left one rectified */
    };

    template <typename Work> void watched(Stage stage, std::size_t frame, Work work) {
        if (watch)
            watch(stage, frame, true);
        work();
        if (watch)
            watch(stage, frame, false);
    }

    std::int64_t since_start_ns() const {
        return now - ticks_ns.front();
    }
    Job release(Stage stage, std::size_t frame) const {
        return {stage, frame, since_start_ns(), {}, {}, {}};
    }
    void drop(Job job) {
        job.dropped_ns = since_start_ns();
        run.jobs.push_back(job);
    }
    void finish(Job job) {
        job.finished_ns = since_start_ns();
        run.jobs.push_back(job);
    }

    void take(std::size_t frame) {
        const Job job = release(Stage::front_end, frame);
        if (service(frame).dropped) {
            drop(job);
            return;
        }
        if (waiting_frame)
            drop(*waiting_frame);
        waiting_frame = job;
        begin_front_end();
    }

    void begin_front_end() {
        if (front_end_ends != never || !waiting_frame)
            return;
        front_end_job = *waiting_frame;
        front_end_job.started_ns = since_start_ns();
        const std::size_t frame = front_end_job.frame;
        waiting_frame.reset();
        current = images(frame);
        const bool room = waiting.size() < queue_max;
        run.keyframes_refused += !room;
        watched(Stage::front_end, frame, [&] {
            current.left = rig.rectify_left(current.left);
            result = front_end.process(frame, current.left, map, room);
        });
        front_end_ends = now + service(frame).front_end_ns;
    }

    void end_front_end() {
        front_end_ends = never;
        finish(front_end_job);
        FrameRecord &record = run.frames[result.frame];
        record.dropped = false;
        record.ready_ns = now;
        record.tracking = result.tracking;
        record.corners = result.corners;
        record.inliers = result.inliers;
        record.world_from_body = result.world_from_left * rig.body_from_left.inverse();
        if (result.keyframe) {
            record.keyframe = true;
            waiting.push_back(
                {result.keyframe->id, release(Stage::mapping, result.frame), current});
            map.add(std::move(*result.keyframe));
            begin_mapping();
        }
        begin_front_end();
    }

    void begin_mapping() {
        if (mapping_ends != never || waiting.empty())
            return;
        Waiting &first = waiting.front();
        first.job.started_ns = since_start_ns();
        watched(Stage::mapping, first.job.frame, [&] {
            first.images.right = rig.rectify_right(first.images.right);
            /* Local map tracking is for when nothing else waits. */
            mapped =
                mapping.process(first.keyframe, first.images,
                                map.around(rig, first.keyframe, latest_searched, older_searched),
                                waiting.size() == 1);
        });
        mapping_ends = now + service(first.job.frame).mapping_ns;
    }

    void end_mapping() {
        mapping_ends = never;
        const std::size_t frame = waiting.front().job.frame;
        finish(waiting.front().job);
        waiting.pop_front();
        map.apply(mapped);
        begin_optimisation(frame);
        begin_mapping();
    }

    void begin_optimisation(std::size_t frame) {
        const ServiceTimes times = service(frame);
        Job job = release(Stage::optimisation, frame);
        if (optimisation_ends != never || !times.optimised) {
            drop(job);
            run.optimisations_skipped++;
            return;
        }
        job.started_ns = since_start_ns();
        watched(Stage::optimisation, frame, [&] {
            optimised = optimisation.process(map.sharing(optimised_keyframes, fixed_keyframes));
        });
        /* Of a map that is too small there is nothing to optimise. */
        if (!optimised) {
            finish(job);
            return;
        }
        optimisation_job = job;
        run.optimisations++;
        optimisation_ends = now + times.optimisation_ns;
    }

    void end_optimisation() {
        optimisation_ends = never;
        finish(optimisation_job);
        front_end.correct(map.apply(*optimised));
    }

    const std::size_t queue_max;
    const StereoRig &rig;
    const std::vector<std::int64_t> &ticks_ns;
    const std::function<StereoImages(std::size_t)> &images;
    const Service &service;
    const StageWatch &watch;
    FrontEnd front_end;
    Mapping mapping;
    Optimisation optimisation;
    Map map;
    Run run;

    std::int64_t now = 0;
    std::size_t next_frame = 0;
    std::optional<Job> waiting_frame;
    Job front_end_job, optimisation_job;
    StereoImages current;
    FrameResult result;
    std::int64_t front_end_ends = never;
    std::deque<Waiting> waiting; /* the first is being mapped */
    MappingResult mapped;
    std::int64_t mapping_ends = never;
    std::optional<OptimisationResult> optimised;
    std::int64_t optimisation_ends = never;
};

} // namespace

Run run_in_virtual_time(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
                        const std::function<StereoImages(std::size_t)> &images,
                        const Service &service, std::size_t queue_max, const StageWatch &watch) {
    return VirtualTime(rig, ticks_ns, images, service, queue_max, watch).go();
}

} // namespace ar_hud
