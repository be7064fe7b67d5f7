/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What is common to the targets: the reader has its input in a file, and may refuse it with an InputError only. */
#pragma once

#include "input_error.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>

/* A folder that is kept until the process ends; in memory where there is such a place. */
inline const std::filesystem::path &input_folder() {
    static const std::filesystem::path folder = [] {
        std::string name = std::filesystem::is_directory("/dev/shm") ? "/dev/shm/ar-hud-XXXXXX"
                                                                     : "/tmp/ar-hud-XXXXXX";
        if (!mkdtemp(name.data()))
            std::abort();
        return name;
    }();
    static const struct Remover {
        ~Remover() {
            std::error_code ignored;
            std::filesystem::remove_all(folder, ignored);
        }
    } remover;
    return folder;
}

inline std::filesystem::path write_input(const char *name, const std::uint8_t *data,
                                         std::size_t size) {
    const std::filesystem::path file = input_folder() / name;
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char *>(data), static_cast<std::streamsize>(size));
    return file;
}

/* Of what was read: a sanitizer does not know what has to hold. */
inline void expect(bool holds) {
    if (!holds)
        std::abort();
}

/* Reads, and looks at what was read; all that is thrown but an InputError ends the process. */
template <typename Read> int fuzz(Read read) {
    try {
        read();
    } catch (const ar_hud::InputError &error) {
        /* It names the file. */
        expect(std::string(error.what()).find(input_folder().string()) == 0);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);
