/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "scene.hpp"

#include "room.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ar_hud {

bool Solid::meets(const Ray &ray, Hit &hit) const {
    const Ray local{solid_from_world * ray.origin, solid_from_world.linear() * ray.direction};
    if (!(shape == Shape::cylinder ? meets_cylinder(local, hit) : meets_box(local, hit)))
        return false;
    hit.normal = solid_from_world.linear().transpose() * hit.normal;
    hit.u_m += paint_offset_m;
    return true;
}

/* A box is outside when all of it is on the wrong side of one plane. Its farthest point along a
 * normal is a corner. */
bool Solid::reaches_into(const std::array<Eigen::Vector3d, 4> &sides,
                         const Eigen::Isometry3d &solid_from_camera) const {
    for (const Eigen::Vector3d &side : sides) {
        const Eigen::Vector3d normal = solid_from_camera.linear() * side;
        const double farthest = normal.cwiseAbs().dot(half_size_m);
        if (farthest < normal.dot(solid_from_camera.translation()))
            return false;
    }
    return true;
}

/* The slabs between opposite faces: where the ray has entered all of them it enters the box, where
 * it leaves the first it leaves the box. */
bool Solid::meets_box(const Ray &local, Hit &hit) const {
    double enter = -std::numeric_limits<double>::infinity(), leave = -enter;
    int enter_axis = 0, leave_axis = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double inverse = 1 / local.direction[axis];
        const double middle = -local.origin[axis] * inverse;
        const double half = half_size_m[axis] * std::abs(inverse);
        if (middle - half > enter) {
            enter = middle - half;
            enter_axis = axis;
        }
        if (middle + half < leave) {
            leave = middle + half;
            leave_axis = axis;
        }
    }
    const bool inside = shape == Shape::room;
    const double distance = inside ? leave : enter;
    if (enter > leave || distance <= 0 || distance >= hit.distance_m)
        return false;
    const int axis = inside ? leave_axis : enter_axis;
    const bool far_face = (local.direction[axis] > 0) == inside;
    const Eigen::Vector3d place = local.origin + distance * local.direction;
    hit.distance_m = distance;
    hit.normal = Eigen::Vector3d::Unit(axis) * (local.direction[axis] > 0 ? -1 : 1);
    hit.u_m = place[axis == 0 ? 1 : 0];
    hit.v_m = place[axis == 2 ? 1 : 2];
    hit.texture = texture[2 * axis + (far_face ? 1 : 0)];
    return true;
}

/* The side only: ends are at other things, or hidden by their size. */
bool Solid::meets_cylinder(const Ray &local, Hit &hit) const {
    const double radius = half_size_m.x();
    const Eigen::Vector2d from = local.origin.head<2>(), way = local.direction.head<2>();
    const double a = way.squaredNorm(), b = from.dot(way);
    const double c = from.squaredNorm() - radius * radius;
    const double root2 = b * b - a * c;
    if (root2 <= 0 || a < 1e-12)
        return false;
    const double distance = (-b - std::sqrt(root2)) / a;
    const Eigen::Vector3d place = local.origin + distance * local.direction;
    if (distance <= 0 || distance >= hit.distance_m || std::abs(place.z()) > half_size_m.z())
        return false;
    hit.distance_m = distance;
    hit.normal << place.head<2>() / radius, 0;
    hit.u_m = std::atan2(place.y(), place.x()) * radius;
    hit.v_m = place.z();
    hit.texture = texture[0];
    return true;
}

namespace {

class Furnisher {
  public:
    Furnisher(Scene &scene, std::uint64_t seed) : scene(scene), random(seed, 3) {
    }

    void hall() {
        Solid &room = add(Solid::Shape::room, {0, 0, hall_height_m / 2}, 0,
                          {hall_half_x_m, hall_half_y_m, hall_height_m / 2});
        room.paint_offset_m = 0;
    }

    /* Machines along the walls, as high as they come. */
    void along_walls() {
        for (int side = 0; side < 4; side++) {
            const bool across = side < 2;
            const double length = across ? hall_half_y_m : hall_half_x_m;
            const double wall = (across ? hall_half_x_m : hall_half_y_m) * (side % 2 ? 1 : -1);
            for (double at = -length + 1; at < length - 1; at += random.uniform(1, 3))
                at_wall(across, wall, at);
        }
    }

    void low_ones() {
        for (int n = 0; n < 10; n++) {
            const double half_height = random.uniform(0.2, machine_low_m / 2);
            add(Solid::Shape::box,
                {random.uniform(-hall_half_x_m + 3, hall_half_x_m - 3),
                 random.uniform(-hall_half_y_m + 3, hall_half_y_m - 3), half_height},
                random.uniform(-M_PI, M_PI),
                {random.uniform(0.3, 1), random.uniform(0.2, 0.7), half_height});
        }
    }

    void cranes_and_pipes() {
        for (int n = 0; n < 4; n++)
            add(Solid::Shape::box, {random.uniform(-9, 9), 0, crane_low_m + 0.5}, 0,
                {random.uniform(0.15, 0.5), hall_half_y_m, random.uniform(0.1, 0.4)});
        for (int n = 0; n < 6; n++) {
            Solid &pipe = add(Solid::Shape::cylinder, {0, 0, 0}, 0, {0.12, 0.12, hall_half_x_m});
            const Eigen::Vector3d at(0, random.uniform(-6.5, 6.5), random.uniform(5.2, 5.8));
            pipe.solid_from_world =
                Eigen::Isometry3d(Eigen::Translation3d(at) *
                                  Eigen::AngleAxisd(M_PI / 2, Eigen::Vector3d::UnitY()))
                    .inverse();
        }
    }

    void lamps() {
        for (int x = -1; x <= 1; x++)
            for (int y = -1; y <= 1; y += 2)
                scene.lamps_m.emplace_back(x * 6.5, y * 3.5, hall_height_m - 0.3);
    }

  private:
    Solid &add(Solid::Shape shape, const Eigen::Vector3d &middle, double yaw,
               const Eigen::Vector3d &half_size_m) {
        Solid solid;
        solid.shape = shape;
        solid.half_size_m = half_size_m;
        solid.solid_from_world = Eigen::Isometry3d(Eigen::Translation3d(middle) *
                                                   Eigen::AngleAxisd(yaw, Eigen::Vector3d::UnitZ()))
                                     .inverse();
        for (int &face : solid.texture)
            face = random.below(static_cast<int>(scene.textures.size()));
        solid.paint_offset_m = random.uniform(0, 5);
        scene.solids.push_back(solid);
        return scene.solids.back();
    }

    void at_wall(bool across, double wall, double at) {
        const double depth = random.uniform(0.2, machine_depth_m / 2);
        const double width = random.uniform(0.3, 1.2), half_height = random.uniform(0.4, 2.2);
        const double from_wall = wall - std::copysign(depth, wall);
        const Eigen::Vector3d middle(across ? from_wall : at, across ? at : from_wall, half_height);
        if (random.uniform() < 0.25) {
            const double radius = std::min(depth, 0.8);
            add(Solid::Shape::cylinder, middle, 0, {radius, radius, half_height});
        } else {
            add(Solid::Shape::box, middle, 0,
                {across ? depth : width, across ? width : depth, half_height});
        }
    }

    Scene &scene;
    Random random;
};

} // namespace

Scene Scene::furnish(std::uint64_t seed) {
    Scene scene;
    scene.textures = paint_textures(seed);
    Furnisher furnisher(scene, seed);
    furnisher.hall();
    furnisher.along_walls();
    furnisher.low_ones();
    furnisher.cranes_and_pipes();
    furnisher.lamps();
    return scene;
}

float Scene::light(const Hit &hit, const Eigen::Vector3d &place, double footprint_m) const {
    /* Daylight from everywhere, and lamps whose light falls with the square of the distance. */
    double received = 1.05;
    for (const Eigen::Vector3d &lamp : lamps_m) {
        const Eigen::Vector3d way = lamp - place;
        const double distance2 = way.squaredNorm() + 1;
        received += 2.5 * std::max(0.0, way.dot(hit.normal)) / (distance2 * std::sqrt(distance2));
    }
    const Texture &painted = textures[static_cast<std::size_t>(hit.texture)];
    return static_cast<float>(received) * painted.at(hit.u_m, hit.v_m, footprint_m);
}

} // namespace ar_hud
