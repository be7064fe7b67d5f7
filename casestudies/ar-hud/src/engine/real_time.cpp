/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "real_time.hpp"

#include "../slam/mapping.hpp"
#include "../slam/optimisation.hpp"
#include "job_log.hpp"
#include "shared_map.hpp"
#include "work_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/mman.h>
#include <thread>
#include <time.h>

namespace ar_hud {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
/* From when all threads are in their places to the first tick. */
constexpr std::int64_t lead_ns = 20'000'000;
constexpr std::int64_t poll_ns = 1'000'000;
constexpr unsigned stages = 3;

std::int64_t clock_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * second_ns + now.tv_nsec;
}

void sleep_until(std::int64_t time_ns) {
    const timespec until{time_ns / second_ns, time_ns % second_ns};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR)
        ;
}

/* For the calling thread. */
void take_place(const ThreadPlace &place) {
    if (!place.cores.empty()) {
        cpu_set_t cores;
        CPU_ZERO(&cores);
        for (int core : place.cores)
            CPU_SET(core, &cores);
        if (sched_setaffinity(0, sizeof cores, &cores) != 0)
            throw std::runtime_error(std::string("a stage's cores cannot be had: ") +
                                     std::strerror(errno));
    }
    if (place.priority == 0)
        return;
    sched_param parameters{};
    parameters.sched_priority = place.priority;
    const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
    if (error != 0)
        throw std::runtime_error(
            "priority " + std::to_string(place.priority) + " of SCHED_FIFO cannot be had (" +
            std::strerror(error) +
            "): run as root, with CAP_SYS_NICE or a large enough RLIMIT_RTPRIO, or leave "
            "--priorities out to run without");
}

/* The calling thread's place, given back at the end. */
class Placed {
  public:
    /* What take_place had done before it threw is undone, too: by then the other constructor is done. */
    explicit Placed(const ThreadPlace &place) : Placed() {
        take_place(place);
    }
    ~Placed() {
        sched_setaffinity(0, sizeof cores, &cores);
        pthread_setschedparam(pthread_self(), policy, &parameters);
    }
    Placed(const Placed &) = delete;
    Placed &operator=(const Placed &) = delete;

  private:
    Placed() {
        pthread_getschedparam(pthread_self(), &policy, &parameters);
        sched_getaffinity(0, sizeof cores, &cores);
    }

    int policy = SCHED_OTHER;
    sched_param parameters{};
    cpu_set_t cores{};
};

/* All memory, also what is yet to come, stays in memory while this lives. */
class LockedMemory {
  public:
    explicit LockedMemory(bool wanted) : locked(wanted) {
        if (wanted && mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
            throw std::runtime_error(
                std::string("memory cannot be locked (") + std::strerror(errno) +
                "): run as root, with CAP_IPC_LOCK or without a limit on locked memory "
                "(ulimit -l unlimited), or leave --priorities out to run without");
    }
    ~LockedMemory() {
        if (locked)
            munlockall();
    }
    LockedMemory(const LockedMemory &) = delete;
    LockedMemory &operator=(const LockedMemory &) = delete;

  private:
    const bool locked;
};

ThreadPlace place_of_cameras(const RealTimeOptions &options) {
    const int highest = std::max(
        {options.front_end.priority, options.mapping.priority, options.optimisation.priority});
    return {highest == 0 ? 0 : std::min(99, highest + 1), {}};
}

class RealTime {
  public:
    RealTime(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
             const std::vector<StereoImages> &images, const RealTimeOptions &options)
        : rig(rig), ticks_ns(ticks_ns), images(images), options(options), front_end(rig),
          mapping(rig), optimisation(rig) {
        for (std::size_t frame = 0; frame < ticks_ns.size(); frame++)
            done.frames.push_back({frame, ticks_ns[frame], true});
    }

    /* Throws what a thread has thrown. */
    Run go() {
        std::thread front, map_maker, optimiser;
        try {
            front = thread(&RealTime::front_end_thread);
            map_maker = thread(&RealTime::mapping_thread);
            optimiser = thread(&RealTime::optimisation_thread);
            play();
        } catch (...) {
            stop(std::current_exception());
        }
        /* Each stage ends what the one before has left to it. */
        frames.close();
        join(front);
        keyframes.close();
        join(map_maker);
        mapped.close();
        join(optimiser);
        if (failure)
            std::rethrow_exception(failure);
        for (const JobLog *log : {&dropped, &located, &mapped_jobs, &optimised})
            done.jobs.insert(done.jobs.end(), log->all().begin(), log->all().end());
        sort_jobs(done.jobs);
        return std::move(done);
    }

  private:
    struct Waiting {
        Keyframe keyframe;
        Pose moved; /* of the world that its pose is in */
        StereoImages images;
        std::size_t frame;
        std::int64_t released_ns;
    };
    struct Mapped {
        std::size_t frame;
        std::int64_t released_ns;
    };

    std::thread thread(void (RealTime::*work)()) {
        return std::thread([this, work] {
            try {
                (this->*work)();
            } catch (...) {
                stop(std::current_exception());
            }
        });
    }

    static void join(std::thread &one) {
        if (one.joinable())
            one.join();
    }

    void stop(std::exception_ptr why) {
        const std::lock_guard<InheritingMutex> guard(stopping);
        if (!failure)
            failure = std::move(why);
        stopped = true;
    }

    void play() {
        const Placed placed(place_of_cameras(options));
        const JobLog::Place reported(Stage::front_end);
        /* With memory locked, that of a thread's stack alone takes the kernel tens of milliseconds. */
        while (in_place < stages && !stopped)
            sleep_until(clock_ns() + poll_ns);
        start_ns = clock_ns() + lead_ns;
        for (std::size_t frame = 0; frame < ticks_ns.size() && !stopped; frame++) {
            sleep_until(tick_ns(frame));
            JobLog::released(Stage::front_end, frame, tick_ns(frame));
            if (const auto older = frames.replace(frame))
                dropped.dropped(Stage::front_end, *older, tick_ns(*older), clock_ns());
        }
    }

    /* When a frame comes, by the wall's clock. */
    std::int64_t tick_ns(std::size_t frame) const {
        return start_ns + std::llround(static_cast<double>(ticks_ns[frame] - ticks_ns.front()) /
                                       options.speed);
    }

    void front_end_thread() {
        const Placed placed(options.front_end);
        const JobLog::Place reported(Stage::front_end);
        in_place++;
        Pose moved = Pose::Identity();
        while (const auto frame = frames.take()) {
            const std::int64_t begin_ns = clock_ns();
            JobLog::begun(Stage::front_end, *frame, begin_ns);
            const Snapshot now = map.snapshot();
            front_end.correct(now.moved * moved.inverse());
            moved = now.moved;
            const cv::Mat left = rig.rectify_left(images[*frame].left);
            const bool room = keyframes.has_room();
            done.keyframes_refused += !room;
            FrameResult result = front_end.process(*frame, left, *now.map, room);
            record(result);
            if (result.keyframe) {
                const std::int64_t released_ns = clock_ns();
                JobLog::released(Stage::mapping, *frame, released_ns);
                keyframes.offer({std::move(*result.keyframe),
                                 moved,
                                 {left, images[*frame].right},
                                 *frame,
                                 released_ns});
            }
            frames.done();
            located.finished(Stage::front_end, *frame, tick_ns(*frame), begin_ns, clock_ns());
        }
    }

    void record(const FrameResult &result) {
        FrameRecord &record = done.frames[result.frame];
        record.dropped = false;
        record.ready_ns = ticks_ns.front() +
                          std::llround(static_cast<double>(clock_ns() - start_ns) * options.speed);
        record.tracking = result.tracking;
        record.corners = result.corners;
        record.inliers = result.inliers;
        record.world_from_body = result.world_from_left * rig.body_from_left.inverse();
        record.keyframe = result.keyframe.has_value();
    }

    void mapping_thread() {
        const Placed placed(options.mapping);
        const JobLog::Place reported(Stage::mapping);
        in_place++;
        while (auto waiting = keyframes.take()) {
            const std::int64_t begin_ns = clock_ns();
            const std::size_t frame = waiting->frame;
            JobLog::begun(Stage::mapping, frame, begin_ns);
            const KeyframeId id = waiting->keyframe.id;
            map.add(std::move(waiting->keyframe), waiting->moved);
            waiting->images.right = rig.rectify_right(waiting->images.right);
            map.apply(
                mapping.process(id, waiting->images, map.around(rig, id), keyframes.is_last()));
            keyframes.done();
            const std::int64_t end_ns = clock_ns();
            mapped_jobs.finished(Stage::mapping, frame, waiting->released_ns, begin_ns, end_ns);
            JobLog::released(Stage::optimisation, frame, end_ns);
            if (!mapped.offer({frame, end_ns})) {
                mapped_jobs.dropped(Stage::optimisation, frame, end_ns, end_ns);
                done.optimisations_skipped++;
            }
        }
    }

    void optimisation_thread() {
        const Placed placed(options.optimisation);
        const JobLog::Place reported(Stage::optimisation);
        in_place++;
        while (const auto job = mapped.take()) {
            const std::int64_t begin_ns = clock_ns();
            JobLog::begun(Stage::optimisation, job->frame, begin_ns);
            if (const auto result = optimisation.process(map.sharing())) {
                map.apply(*result);
                done.optimisations++;
            }
            mapped.done();
            optimised.finished(Stage::optimisation, job->frame, job->released_ns, begin_ns,
                               clock_ns());
        }
    }

    const StereoRig &rig;
    const std::vector<std::int64_t> &ticks_ns;
    const std::vector<StereoImages> &images;
    const RealTimeOptions &options;
    FrontEnd front_end;
    Mapping mapping;
    Optimisation optimisation;
    SharedMap map;
    /* The first tick: set before the first frame comes. */
    std::int64_t start_ns = 0;
    std::atomic<unsigned> in_place{0};
    /* One frame waits beside the one that is worked on; optimisation has none that wait. */
    WorkQueue<std::size_t> frames{2};
    WorkQueue<Waiting> keyframes{mapping_queue_max};
    WorkQueue<Mapped> mapped{1};
    /* Each of its fields is one thread's until all have been joined. */
    Run done;
    /* One thread's each: of the cameras, the front-end, mapping and optimisation. */
    JobLog dropped{ticks_ns.size(), start_ns}, located{ticks_ns.size(), start_ns};
    JobLog mapped_jobs{2 * ticks_ns.size(), start_ns}, optimised{ticks_ns.size(), start_ns};
    std::atomic<bool> stopped{false}; /* no more frames: a thread has thrown */
    InheritingMutex stopping;
    std::exception_ptr failure;
};

} // namespace

Run run_in_real_time(const StereoRig &rig, const std::vector<std::int64_t> &ticks_ns,
                     const std::vector<StereoImages> &images, const RealTimeOptions &options) {
    /* What cannot be had is said here: no thread has to. */
    for (const ThreadPlace &place :
         {options.front_end, options.mapping, options.optimisation, place_of_cameras(options)}) {
        const Placed tried(place);
    }
    const LockedMemory locked(options.lock_memory);
    /* Each stage has its cores: OpenCV is not to take others. */
    cv::setNumThreads(1);
    if (ticks_ns.empty())
        return {};
    return RealTime(rig, ticks_ns, images, options).go();
}

} // namespace ar_hud
