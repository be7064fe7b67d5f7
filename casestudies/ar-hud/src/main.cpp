/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The command `ar-hud`. */
#include "engine/virtual_time.hpp"
#include "euroc/sequence.hpp"
#include "evaluation/report.hpp"
#include "hall/sequences.hpp"
#include "input_error.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace {

/* As for `ringfence`: done, or an error. */
constexpr int exit_done = 0, exit_error = 1;

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
        ar_hud::generate_sequence(kind, seed, frames, folder, [](std::size_t done, std::size_t of) {
            if (done % 20 == 0 || done == of)
                std::fprintf(stderr, "\r%zu of %zu frames%s", done, of, done == of ? "\n" : "");
        });
    }
};

struct RunCommand {
    std::string sequence, estimate;
    std::size_t frames = 0;

    void add_to(CLI::App &app) {
        CLI::App *command = app.add_subcommand(
            "run", "Stereo SLAM on a sequence, in virtual time: every stage done at once");
        command->add_option("SEQUENCE", sequence, "Folder of the sequence")->required();
        command->add_option("-o,--output", estimate, "Trajectory of the body, in TUM's format")
            ->required();
        command->add_option("--frames", frames, "Only the first so many; 0: all")
            ->capture_default_str();
        command->callback([this] { run(); });
    }

    void run() const {
        const ar_hud::Sequence input = ar_hud::read_sequence(sequence);
        const ar_hud::StereoRig rig(input.left, input.right);
        std::vector<std::int64_t> ticks_ns;
        for (const ar_hud::StereoFrame &frame : input.frames)
            if (frames == 0 || ticks_ns.size() < frames)
                ticks_ns.push_back(frame.left.timestamp_ns);
        const auto images = [&](std::size_t frame) { return input.load(input.frames[frame]); };
        const ar_hud::Run done = ar_hud::run_in_virtual_time(
            rig, ticks_ns, images, [](std::size_t) { return ar_hud::ServiceTimes(); });
        ar_hud::Trajectory trajectory;
        std::size_t lost = 0, keyframes = 0;
        for (const ar_hud::FrameRecord &frame : done.frames) {
            lost += frame.tracking == ar_hud::Tracking::lost;
            keyframes += frame.keyframe;
            if (!frame.dropped)
                trajectory.push_back({frame.tick_ns, frame.world_from_body});
        }
        ar_hud::write_tum(estimate, trajectory);
        std::printf("%zu frames, %zu lost, %zu keyframes, %zu optimisations\n", done.frames.size(),
                    lost, keyframes, done.optimisations);
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

} // namespace

int main(int argc, char **argv) {
    CLI::App app("The AR-HUD case study: stereo SLAM on images like EuRoC's");
    app.require_subcommand(1);
    Generate generate;
    generate.add_to(app);
    RunCommand run;
    run.add_to(app);
    Evaluate evaluate;
    evaluate.add_to(app);
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
