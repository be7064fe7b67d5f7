/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "job_marks.hpp"

#include <ringfence_job_mark.h>

namespace ar_hud {

JobMarks::JobMarks() : page(ringfence_job_marks_map()) {
}

void JobMarks::begin() {
    ringfence_job_begin(page);
}

void JobMarks::end() {
    ringfence_job_end(page);
}

} // namespace ar_hud
