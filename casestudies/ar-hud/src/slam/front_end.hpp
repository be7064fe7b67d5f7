/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The front-end: for each frame, where the camera is. It follows corners from the frame before,
 * locates the camera by those that are landmarks with a position, then looks for each where that camera
 * should see it, as it looked when it was first seen, so that errors do not add up from frame to frame.
 * It decides which frames become keyframes. It reads the map when it begins with a frame and changes only
 * what is its own.
 */
#pragma once

#include "map.hpp"
#include "patch.hpp"
#include "pose.hpp"
#include "tracking.hpp"

namespace ar_hud {

enum class Tracking { starting, tracked, lost };

struct FrameResult {
    std::size_t frame = 0;
    Tracking tracking = Tracking::starting;
    Pose world_from_left = Pose::Identity(); /* of a lost frame: where it was expected */
    std::size_t corners = 0;                 /* that are followed */
    std::size_t inliers = 0;                 /* landmarks that agree on the pose */
    std::optional<Keyframe> keyframe;        /* if the frame has become one */
};

class FrontEnd {
  public:
    explicit FrontEnd(const StereoRig &rig) : rig(rig) {
    }

    /* `left` is rectified; frames come in order, some may be missing. */
    FrameResult process(std::size_t frame, const cv::Mat &left, const Map &map,
                        bool keyframes_allowed);
    /* The world of the map was corrected: `moved` is new from old, for what comes after. */
    void correct(const Pose &moved);

    /* For recording/stage_file.cpp: all but the rig. */
    template <typename Archive> void serialize(Archive &archive) {
        archive(last, tracks, last_frame, world_from_left, motion, lost_since, tracks_at_keyframe,
                keyframe_frame, keyframe_image, keyframe_pose, adopted, next_landmark,
                next_keyframe);
    }

  private:
    /* A corner that is followed from frame to frame; it is a landmark once mapping has placed it. */
    struct Track {
        LandmarkId landmark;
        cv::Point2f at;                         /* in the last frame that has it */
        Patch patch;                            /* what it is to look like */
        std::optional<cv::Point2f> at_keyframe; /* in the last one */
        std::size_t missed = 0;                 /* frames since it was seen, in a row */

        template <typename Archive> void serialize(Archive &archive) {
            archive(landmark, at, patch, at_keyframe, missed);
        }
    };

    void rename_tracks(const Map &map);
    void adopt(const Keyframe &keyframe, const Map &map);
    void follow_tracks(const Pyramid &next, const Map &map, const Pose &expected);
    std::optional<LocatedCamera> locate(const Pyramid &next, const Map &map, const Pose &expected);
    std::optional<LocatedCamera> locate_by_tracks(const Map &map, const Pose &expected) const;
    std::optional<LocatedCamera> look_closely(const cv::Mat &left, const Map &map,
                                              const Pose &nearly);
    bool look_for(Track &track, const cv::Mat &left, const Map &map, const Pose &nearly) const;
    std::optional<LocatedCamera> relocate(const cv::Mat &left, const Map &map,
                                          const Pose &expected);
    std::size_t tracks_seen() const;
    bool wants_keyframe(std::size_t frame) const;
    Keyframe make_keyframe(std::size_t frame, const cv::Mat &left);

    StereoRig rig;
    Pyramid last; /* of the frame before; empty at the start */
    std::vector<Track> tracks;
    std::size_t last_frame = 0;
    Pose world_from_left = Pose::Identity();
    Pose motion = Pose::Identity(); /* from a frame to the next, in the camera */
    std::size_t lost_since = 0;     /* frames that could not be located, in a row */
    std::size_t tracks_at_keyframe = 0;
    std::size_t keyframe_frame = 0;
    cv::Mat keyframe_image;
    Pose keyframe_pose = Pose::Identity();
    std::optional<KeyframeId> adopted; /* the latest whose landmarks are followed */
    LandmarkId next_landmark = 0;
    KeyframeId next_keyframe = 0;
};

} // namespace ar_hud
