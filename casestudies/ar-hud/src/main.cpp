/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The command `ar-hud`. */
#include "engine/cpu_times.hpp"
#include "engine/real_time.hpp"
#include "engine/schedule.hpp"
#include "engine/virtual_time.hpp"
#include "euroc/sequence.hpp"
#include "evaluation/report.hpp"
#include "evaluation/run_errors.hpp"
#include "hall/sequences.hpp"
#include "head_pose/estimator.hpp"
#include "head_pose/layers.hpp"
#include "input_error.hpp"
#include "recording/job_marks.hpp"
#include "recording/stage_file.hpp"
#include "sweep/sweep_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <malloc.h>
#include <opencv2/imgcodecs.hpp>
#include <set>

namespace {

/* As for `ringfence`: done, or an error. */
constexpr int exit_done = 0, exit_error = 1;

void show_progress(std::size_t done, std::size_t of) {
    if (done % 20 == 0 || done == of)
        /* Whatever is said next, an error say, takes its place. */
        std::fprintf(stderr, "%zu of %zu%s", done, of, done == of ? "\n" : "\r");
}

/* Images come and go with each frame. Given back to the kernel, their memory would have to be had from it
 * again, page by page, in the middle of a job. */
void keep_freed_memory() {
    constexpr int largest_image_bytes = 32 << 20, kept_bytes = 256 << 20;
    mallopt(M_MMAP_THRESHOLD, largest_image_bytes);
    mallopt(M_TRIM_THRESHOLD, kept_bytes);
}

struct Generate {
    std::string name;
    std::uint64_t seed = 1;
    std::size_t frames = 0;
    std::string folder;

    void add_to(CLI::App &app) {
        CLI::App *command =
            app.add_subcommand("generate", "Render a flight through a machine hall, as EuRoC's "
                                           "sequences are, with exact ground truth");
        command->add_option("SEQUENCE", name, "MH01 to MH05: which of EuRoC's it is like")
            ->required();
        command->add_option("-o,--output", folder, "Folder to make")->required();
        command->add_option("--seed", seed, "Another flight and hall for each")
            ->capture_default_str();
        command->add_option("--frames", frames, "Only the first so many; 0: all")
            ->capture_default_str();
        command->callback([this] { run(); });
    }

    void run() const {
        const ar_hud::SequenceKind &kind = ar_hud::sequence_kind(name);
        ar_hud::generate_sequence(kind, seed, frames, folder, show_progress);
    }
};

const std::map<std::string, ar_hud::Stage> stages = {
    {ar_hud::name_of(ar_hud::Stage::front_end), ar_hud::Stage::front_end},
    {ar_hud::name_of(ar_hud::Stage::mapping), ar_hud::Stage::mapping},
    {ar_hud::name_of(ar_hud::Stage::optimisation), ar_hud::Stage::optimisation},
};

struct RunCommand {
    std::string sequence, estimate, schedule, disturbance, jobs, truth;
    std::size_t frames = 0, every = 1;
    std::uint64_t seed = 1;
    bool real_time = false, cpu_time = false;
    ar_hud::RealTimeOptions options;
    std::vector<int> priorities;

    void add_to(CLI::App &app) {
        CLI::App *command =
            app.add_subcommand("run", "Stereo SLAM on a sequence, in virtual time or in real time");
        command->add_option("SEQUENCE", sequence, "Folder of the sequence")->required();
        command->add_option("-o,--output", estimate, "Trajectory of the body, in TUM's format")
            ->required();
        command->add_option("--schedule", schedule,
                            "Table of what the stages take; without it, no time");
        command
            ->add_option("--disturbance", disturbance,
                         "What the stages take as in a sweep: a point's EXPERIMENT=VALUE")
            ->excludes(command->get_option("--schedule"));
        command->add_option("--seed", seed, "Of a disturbance's times")
            ->needs(command->get_option("--disturbance"))
            ->capture_default_str();
        command->add_option("--frames", frames, "Only the first so many; 0: all")
            ->capture_default_str();
        command->add_flag(
            "--cpu-time", cpu_time,
            "Also print what the jobs of each stage took of a processor, on which they "
            "are alone in virtual time");
        add_tables_to(*command);
        add_real_time_to(*command);
        command->callback([this] { run(); });
    }

    void add_tables_to(CLI::App &command) {
        command.add_option("--jobs", jobs, "Table of the stages' jobs to write (CSV)");
        command.add_option("--truth", truth,
                           "True trajectory at the frames to write, also those dropped");
        command.add_option("--every", every, "Of both trajectories only every so many-th frame")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
    }

    void add_real_time_to(CLI::App &command) {
        CLI::Option *flag = command.add_flag(
            "--real-time", real_time,
            "Three threads, and frames by the clock; holds all images in memory, 0.7 MB a frame");
        for (const char *name : {"--schedule", "--disturbance", "--cpu-time"})
            flag->excludes(command.get_option(name));
        command.add_option("--speed", options.speed, "Frames come so many times as fast")
            ->check(CLI::Range(0.01, 1000.0))
            ->needs(flag)
            ->capture_default_str();
        command
            .add_option("--priorities", priorities,
                        "Of SCHED_FIFO: front-end, mapping, optimisation; locks memory, too")
            ->expected(3)
            ->delimiter(',')
            ->check(CLI::Range(1, 98))
            ->needs(flag);
        const auto add_cores = [&](const char *name, ar_hud::ThreadPlace &place, const char *what) {
            command.add_option(name, place.cores, what)
                ->delimiter(',')
                ->check(CLI::Range(0, 1023))
                ->needs(flag);
        };
        add_cores("--front-end-cores", options.front_end, "Cores of the front-end: 0,1");
        add_cores("--mapping-cores", options.mapping, "Cores of mapping");
        add_cores("--optimisation-cores", options.optimisation, "Cores of state optimisation");
    }

    void run() const {
        const ar_hud::Sequence input = ar_hud::read_sequence(sequence);
        const ar_hud::StereoRig rig(input.left, input.right);
        std::vector<std::int64_t> ticks_ns;
        for (const ar_hud::StereoFrame &frame : input.frames)
            if (frames == 0 || ticks_ns.size() < frames)
                ticks_ns.push_back(frame.left.timestamp_ns);
        const ar_hud::Service service = service_of(ticks_ns.size());
        const auto images = [&](std::size_t frame) {
            show_progress(frame + 1, ticks_ns.size());
            return input.load(input.frames[frame]);
        };
        if (real_time) {
            run_in_real_time(input, rig, ticks_ns, images);
            return;
        }
        if (cpu_time)
            /* Nothing in threads whose time is not counted. */
            cv::setNumThreads(1);
        ar_hud::CpuTimes took;
        const ar_hud::Run done =
            ar_hud::run_in_virtual_time(rig, ticks_ns, images, service, ar_hud::mapping_queue_max,
                                        cpu_time ? took.watch() : ar_hud::StageWatch());
        write(done, input.ground_truth);
        print(done, input.ground_truth);
        if (cpu_time)
            print_times("CPU time, ms",
                        [&](ar_hud::Stage stage) { return took.of_jobs_ms(stage); });
    }

    ar_hud::Service service_of(std::size_t count) const {
        if (!schedule.empty())
            return ar_hud::read_schedule(schedule);
        if (!disturbance.empty())
            return ar_hud::disturbed(ar_hud::sweep_point(disturbance).disturbance, count, seed);
        return [](std::size_t) { return ar_hud::ServiceTimes(); };
    }

    void write(const ar_hud::Run &done, const ar_hud::Trajectory &ground_truth) const {
        ar_hud::write_tum(estimate, ar_hud::trajectory_of(done, every));
        if (!truth.empty())
            ar_hud::write_tum(truth, ar_hud::truth_of(done, ground_truth, every));
        if (!jobs.empty())
            ar_hud::write_jobs(jobs, done.jobs);
    }

    void run_in_real_time(const ar_hud::Sequence &input, const ar_hud::StereoRig &rig,
                          const std::vector<std::int64_t> &ticks_ns,
                          const std::function<ar_hud::StereoImages(std::size_t)> &image) const {
        ar_hud::RealTimeOptions chosen = options;
        if (!priorities.empty()) {
            chosen.front_end.priority = priorities[0];
            chosen.mapping.priority = priorities[1];
            chosen.optimisation.priority = priorities[2];
            chosen.lock_memory = true;
        }
        std::vector<ar_hud::StereoImages> images;
        for (std::size_t frame = 0; frame < ticks_ns.size(); frame++)
            images.push_back(image(frame));
        const auto done = ar_hud::run_in_real_time(rig, ticks_ns, images, chosen);
        write(done, input.ground_truth);
        print(done, input.ground_truth);
        print_times("stage, ms",
                    [&](ar_hud::Stage stage) { return ar_hud::times_ms(done.jobs, stage); });
    }

    static void print_times(const char *what,
                            const std::function<std::vector<double>(ar_hud::Stage)> &times_ms) {
        std::printf("%-14s %6s %8s %8s %8s %8s\n", what, "jobs", "p50", "p90", "p99", "max");
        for (const auto &[name, stage] : stages)
            print_row(name, times_ms(stage));
    }

    /* Nearest rank: each figure is a job's. */
    static void print_row(const std::string &stage, std::vector<double> times_ms) {
        std::printf("%-14s %6zu", stage.c_str(), times_ms.size());
        std::sort(times_ms.begin(), times_ms.end());
        const auto at = [&](std::size_t percent) {
            return times_ms[(times_ms.size() * percent + 99) / 100 - 1];
        };
        if (!times_ms.empty())
            std::printf(" %8.2f %8.2f %8.2f %8.2f", at(50), at(90), at(99), at(100));
        std::printf("\n");
    }

    static void print(const ar_hud::Run &done, const ar_hud::Trajectory &truth) {
        const ar_hud::RunErrors errors = ar_hud::errors_of(done, truth);
        std::size_t keyframes = 0;
        for (const ar_hud::FrameRecord &frame : done.frames)
            keyframes += frame.keyframe;
        std::printf("%zu frames, %.1f %% of them processed, %zu lost; %zu keyframes, %zu refused; "
                    "%zu optimisations, %zu skipped\n",
                    done.frames.size(), 100 * errors.processed_share, errors.lost, keyframes,
                    done.keyframes_refused, done.optimisations, done.optimisations_skipped);
        if (errors.evaluated)
            std::printf("absolute error: median %.4f m, rmse %.4f m, max %.4f m; as displayed: "
                        "median %.4f m, 95 %% %.4f m\n",
                        errors.absolute.median, errors.absolute.rmse, errors.absolute.max,
                        errors.stale.median, errors.stale_p95_m);
        else if (!truth.empty())
            std::printf("absolute error: not known, fewer than three poses are near a true one\n");
    }
};

struct StageJobCommand {
    std::string sequence, stage, job;
    std::size_t from_frame = 0;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "stage-job", "Write one job of a stage, with all that it reads, for `ar-hud-job`");
        command->add_option("SEQUENCE", sequence, "Folder of the sequence")->required();
        command->add_option("STAGE", stage, "Which")->required()->check(CLI::IsMember(stages));
        command->add_option("-o,--output", job, "File to write")->required();
        command->add_option("--from", from_frame, "The first job of this frame or a later one")
            ->capture_default_str();
        command->callback([this] { run(); });
    }

    void run() const {
        const ar_hud::Sequence input = ar_hud::read_sequence(sequence);
        const ar_hud::StereoRig rig(input.left, input.right);
        const auto images = [&](std::size_t frame) { return input.load(input.frames[frame]); };
        const auto found =
            ar_hud::stage_job_of(rig, input.frames.size(), images, stages.at(stage), from_frame);
        if (!found)
            throw ar_hud::InputError({sequence}, "has no job of " + stage + " from frame " +
                                                     std::to_string(from_frame) + " on; it has " +
                                                     std::to_string(input.frames.size()) +
                                                     " frames, counted from 0");
        ar_hud::write_stage_job(job, *found);
    }
};

struct Sweep {
    std::string sequence, output, only;
    std::uint64_t seeds = 10;
    std::size_t frames = SIZE_MAX;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "sweep", "SLAM under dropped frames, slow and late stages: a table of errors");
        command->add_option("SEQUENCE", sequence, "Folder of the sequence")->required();
        command
            ->add_option("-o,--output", output,
                         "Table to write (CSV); of one that is there only what is missing is run")
            ->required();
        command->add_option("--seeds", seeds, "Runs of each point")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        command->add_option("--frames", frames, "Only the first so many")
            ->check(CLI::PositiveNumber);
        std::set<std::string> experiments;
        for (const ar_hud::Point &point : ar_hud::sweep_points())
            experiments.insert(point.experiment);
        command->add_option("--only", only, "Only this experiment")
            ->check(CLI::IsMember(experiments));
        command->callback([this] { run(); });
    }

    void run() const {
        const ar_hud::Sequence input = ar_hud::read_sequence(sequence);
        if (input.ground_truth.empty())
            throw ar_hud::InputError({sequence}, "has no folder state_groundtruth_estimate0");
        const std::size_t taken = std::min(frames, input.frames.size());
        ar_hud::Trajectory ticks;
        for (std::size_t frame = 0; frame < taken; frame++)
            ticks.push_back({input.frames[frame].left.timestamp_ns});
        if (ar_hud::associate(ticks, input.ground_truth).size() < 3)
            throw ar_hud::InputError(
                {sequence}, "has no three true poses at the time of its first " +
                                std::to_string(taken) + " frames, which an alignment needs");
        const std::string name = std::filesystem::canonical(sequence).filename().string();
        ar_hud::SweepTable table(output, name, taken);
        const auto runs = table.missing(seeds, only);
        std::size_t done = 0;
        ar_hud::sweep(input, taken, runs, [&](const ar_hud::Outcome &outcome) {
            table.add(outcome);
            show_progress(++done, runs.size());
        });
    }
};

struct Evaluate {
    std::string sequence, estimate;
    std::size_t step = 1;
    bool json = false;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "evaluate", "How far an estimated trajectory is from a sequence's ground truth");
        command->add_option("SEQUENCE", sequence, "Folder of the sequence")->required();
        command->add_option("ESTIMATE", estimate, "Trajectory of the body, in TUM's format")
            ->required();
        command->add_option("--step", step, "Poses from one to the next of relative errors")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        command->add_flag("--json", json, "As JSON");
        command->callback([this] { run(); });
    }

    void run() const {
        const ar_hud::Trajectory truth = ar_hud::read_sequence(sequence).ground_truth;
        if (truth.empty())
            throw ar_hud::InputError({sequence}, "has no folder state_groundtruth_estimate0");
        const auto errors = ar_hud::evaluate(ar_hud::read_tum(estimate), truth, step, estimate);
        std::fputs((json ? ar_hud::json_of(errors) : ar_hud::text_of(errors)).c_str(), stdout);
    }
};

/* How long each of so many times took. */
template <typename Work>
ar_hud::Statistics times_ms(int repeat, ar_hud::JobMarks *marks, Work work) {
    std::vector<double> took_ms;
    for (int n = 0; n < repeat; n++) {
        const auto begin = std::chrono::steady_clock::now();
        if (marks)
            marks->begin();
        work();
        if (marks)
            marks->end();
        const auto took = std::chrono::steady_clock::now() - begin;
        took_ms.push_back(std::chrono::duration<double, std::milli>(took).count());
    }
    return ar_hud::statistics(took_ms);
}

struct HeadPoseCommand {
    std::string model, picture;
    int repeat = 1;
    bool mark_jobs = false;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "head-pose", "Where a driver looks, by a network in ONNX; see network/make-network");
        command->add_option("MODEL", model, "The network")->required();
        command->add_option("PICTURE", picture, "Of the driver's face")->required();
        command->add_option("--repeat", repeat, "Do it so many times, and say how long each took")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        command->add_flag("--mark-jobs", mark_jobs, "Mark each time for `ringfence trace record`");
        command->callback([this] { run(); });
    }

    void run() const {
        /* As the application has one core for it. */
        cv::setNumThreads(1);
        ar_hud::HeadPoseEstimator estimator(model);
        const cv::Mat face = cv::imread(picture, cv::IMREAD_COLOR);
        if (face.empty())
            throw ar_hud::InputError({picture}, "is no picture");
        ar_hud::HeadPose pose;
        ar_hud::JobMarks marks;
        const auto statistics = times_ms(repeat, mark_jobs ? &marks : nullptr,
                                         [&] { pose = estimator.estimate(face); });
        std::printf(
            "yaw %.1f, pitch %.1f, roll %.1f degrees; %.2f ms (median of %d), %.2f ms at most\n",
            pose.yaw_deg, pose.pitch_deg, pose.roll_deg, statistics.median, repeat, statistics.max);
    }
};

struct LayersCommand {
    std::string folder;
    int repeat = 1;
    bool mark_jobs = false;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "layers", "What each layer of the network takes, one by one; see network/make-network");
        command->add_option("FOLDER", folder, "The layers, and their table layers.csv")->required();
        command->add_option("--repeat", repeat, "Run each so many times")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        command->add_flag("--mark-jobs", mark_jobs, "Mark each time for `ringfence trace record`");
        command->callback([this] { run(); });
    }

    void run() const {
        cv::setNumThreads(1);
        ar_hud::JobMarks marks;
        for (ar_hud::Layer &layer : ar_hud::read_layers(folder)) {
            const auto statistics =
                times_ms(repeat, mark_jobs ? &marks : nullptr, [&] { layer.network.forward(); });
            std::printf("%-24s %8.3f ms (median of %d), %8.3f ms at most\n", layer.name.c_str(),
                        statistics.median, repeat, statistics.max);
        }
    }
};

} // namespace

int main(int argc, char **argv) {
    keep_freed_memory();
    CLI::App app("The AR-HUD case study: stereo SLAM on images like EuRoC's");
    app.require_subcommand(1);
    Generate generate;
    generate.add_to(app);
    RunCommand run;
    run.add_to(app);
    StageJobCommand stage_job;
    stage_job.add_to(app);
    Sweep sweep;
    sweep.add_to(app);
    Evaluate evaluate;
    evaluate.add_to(app);
    HeadPoseCommand head_pose;
    head_pose.add_to(app);
    LayersCommand layers;
    layers.add_to(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? exit_done : exit_error;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ar-hud: %s\n", error.what());
        return exit_error;
    }
    return exit_done;
}
