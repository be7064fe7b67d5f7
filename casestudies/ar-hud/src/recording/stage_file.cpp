/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "stage_file.hpp"

#include "fields.hpp"

#include <cereal/archives/binary.hpp>
#include <fstream>

namespace ar_hud {

namespace {

/* What a file begins with; another number after each change of what is in it. */
const std::string head = "ar-hud job 2\n";

} // namespace

void write_stage_job(const std::filesystem::path &file, const StageJob &job) {
    std::ofstream stream(file, std::ios::binary);
    stream << head;
    cereal::BinaryOutputArchive archive(stream);
    if (stream)
        archive(job);
    stream.close();
    if (!stream)
        throw InputError({file}, "cannot be written");
}

StageJob read_stage_job(const std::filesystem::path &file) {
    std::ifstream stream(file, std::ios::binary);
    std::string found(head.size(), '\0');
    if (!stream.read(found.data(), static_cast<std::streamsize>(found.size())) || found != head)
        throw InputError({file},
                         "is no job of this program; expected what `ar-hud stage-job` writes");
    StageJob job;
    try {
        cereal::BinaryInputArchive archive(stream);
        archive(job);
    } catch (const std::exception &error) {
        throw InputError({file}, std::string("is damaged; write it again (") + error.what() + ")");
    }
    return job;
}

} // namespace ar_hud
