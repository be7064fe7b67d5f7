/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What SLAM knows: keyframes, and landmarks seen in them. The three stages compute on what they read
 * from it when they begin, and change it when they end; meanwhile others may have changed it.
 *
 * A landmark hangs on the keyframe that saw it first: whatever moves that keyframe moves it too, also
 * if the correction was computed before the landmark was there.
 */
#pragma once

#include "../camera/stereo.hpp"
#include "descriptors.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace ar_hud {

using LandmarkId = std::uint32_t;
using KeyframeId = std::uint32_t;

/* Where a keyframe saw a landmark: pixels of the rectified images. */
struct Observation {
    LandmarkId landmark = 0;
    Eigen::Vector2d left = Eigen::Vector2d::Zero();
    std::optional<double> right_u; /* column in the right image, if it was found there */
};

struct Keyframe {
    KeyframeId id = 0;
    std::size_t frame = 0; /* its number in the sequence */
    Pose world_from_left = Pose::Identity();
    std::vector<Observation> observations; /* by landmark, increasing */
    /* What the image looks like around each landmark that it has seen; see descriptors.hpp. */
    std::map<LandmarkId, Descriptor> descriptors;
    bool redundant = false; /* of no more use to optimisation */
    cv::Mat left;           /* the rectified image; those who copy the keyframe share it */
};

struct Landmark {
    KeyframeId anchor = 0;
    Eigen::Vector3d in_anchor = Eigen::Vector3d::Zero(); /* m, in the anchor's left camera */
};

/* What mapping found in a keyframe. */
struct MappingResult {
    KeyframeId keyframe = 0;
    std::vector<std::pair<LandmarkId, double>> right_u; /* of its observations, by landmark */
    std::map<LandmarkId, Landmark> landmarks;           /* new ones */
    std::map<LandmarkId, Descriptor> descriptors;       /* of its observations */
    std::vector<Observation> found_again; /* landmarks that it saw without tracking them */
    /* Landmarks that turned out to be others that were there before: which, and what each really is. */
    std::vector<std::pair<LandmarkId, LandmarkId>> same;
};

/* What optimisation makes of its keyframes, the newest last. */
struct OptimisationResult {
    std::vector<std::pair<KeyframeId, Pose>> world_from_left;
    Pose newest_before = Pose::Identity(); /* where it began with the newest of them */
    std::map<LandmarkId, Eigen::Vector3d> in_world;
    std::vector<std::pair<KeyframeId, LandmarkId>> outliers; /* observations that are wrong */
    std::vector<KeyframeId> redundant;
};

class Map {
  public:
    const std::map<KeyframeId, Keyframe> &keyframes() const {
        return keyframes_;
    }
    const std::map<LandmarkId, Landmark> &landmarks() const {
        return landmarks_;
    }
    /* Position in the world, if the landmark has one yet. */
    std::optional<Eigen::Vector3d> position(LandmarkId landmark) const;
    /* Keyframes that saw a landmark. */
    const std::vector<KeyframeId> &observers(LandmarkId landmark) const;

    /* What a landmark is called by now: it may have turned out to be one that was there before. */
    LandmarkId known_as(LandmarkId landmark) const;

    /*
     * Parts of the map are what a stage needs, of bounded size: keyframes, and the landmarks that they
     * see. Other keyframes are there only for landmarks to hang on, without what they saw.
     */
    /* The latest keyframes, so many. */
    Map latest(std::size_t count) const;
    /* Beside them older ones, so many, that see what a keyframe should see from where it is. */
    Map around(const StereoRig &rig, KeyframeId keyframe, std::size_t latest,
               std::size_t older) const;
    /* Beside the latest that are not redundant those, so many, that share most landmarks with them. */
    Map sharing(std::size_t latest, std::size_t older) const;

    void add(Keyframe keyframe);
    void apply(const MappingResult &result);
    /* Later keyframes move with the newest one that was optimised. The result is what moves poses
     * after that: new world from old world. */
    Pose apply(const OptimisationResult &result);

    /* For recording/stage_file.cpp. */
    template <typename Archive> void serialize(Archive &archive) {
        archive(keyframes_, landmarks_, observers_, known_as_);
    }

  private:
    Map part(const std::set<KeyframeId> &ids) const;
    std::set<KeyframeId> latest_ids(std::size_t count, bool with_redundant) const;
    void make_same(KeyframeId mapped, LandmarkId landmark, LandmarkId really);
    void add_observation(KeyframeId keyframe, const Observation &seen);
    void remove_observation(KeyframeId keyframe, LandmarkId landmark);
    Observation *observation(KeyframeId keyframe, LandmarkId landmark);

    std::map<KeyframeId, Keyframe> keyframes_;
    std::map<LandmarkId, Landmark> landmarks_;
    std::map<LandmarkId, std::vector<KeyframeId>> observers_; /* increasing */
    /* Of the last few keyframes that were mapped, the landmarks that are others since. */
    std::map<KeyframeId, std::map<LandmarkId, LandmarkId>> known_as_;
};

} // namespace ar_hud
