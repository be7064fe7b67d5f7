/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The hall with its machinery: boxes and cylinders with painted surfaces. */
#pragma once

#include "texture.hpp"

#include <Eigen/Geometry>
#include <array>
#include <vector>

namespace ar_hud {

struct Ray {
    Eigen::Vector3d origin;
    Eigen::Vector3d direction; /* unit length */
};

/* Where a ray meets a surface. */
struct Hit {
    double distance_m;
    Eigen::Vector3d normal; /* towards the ray */
    /* The place on the surface, and what is painted there. */
    double u_m, v_m;
    int texture;
};

class Solid {
  public:
    enum class Shape { box, cylinder, room };

    Shape shape = Shape::box;
    /* The solid's own axes: a cylinder's is z; a room is a box seen from inside. */
    Eigen::Isometry3d solid_from_world = Eigen::Isometry3d::Identity();
    Eigen::Vector3d half_size_m =
        Eigen::Vector3d::Ones(); /* cylinder: radius, radius, half length */
    /* By face: -x, +x, -y, +y, -z, +z; a cylinder's side is the first. */
    int texture[6] = {};
    double paint_offset_m = 0;

    /* Whether the ray meets it nearer than `hit`, which is then replaced. */
    bool meets(const Ray &ray, Hit &hit) const;

    /* Whether the box around it may reach into a pyramid with its tip at the camera, given by the
     * normals of its sides, inwards, in the camera. False only where no ray can meet it. */
    bool reaches_into(const std::array<Eigen::Vector3d, 4> &sides,
                      const Eigen::Isometry3d &solid_from_camera) const;

    /* At least so far from a place, which is in the solid's own axes, is what a ray meets of it. */
    double distance_m(const Eigen::Vector3d &place) const {
        return (place.cwiseAbs() - half_size_m).cwiseMax(0).norm();
    }

  private:
    bool meets_box(const Ray &local, Hit &hit) const;
    bool meets_cylinder(const Ray &local, Hit &hit) const;
};

struct Scene {
    std::vector<Texture> textures;
    std::vector<Solid> solids; /* the first is the hall itself, in which each ray ends */
    std::vector<Eigen::Vector3d> lamps_m;

    /* Another hall for each seed. */
    static Scene furnish(std::uint64_t seed);

    /* Light from a hit, 0 to 255 or somewhat more where a lamp is near. */
    float light(const Hit &hit, const Eigen::Vector3d &place, double footprint_m) const;
};

} // namespace ar_hud
