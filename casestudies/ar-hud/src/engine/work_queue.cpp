/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "work_queue.hpp"

#include <system_error>

namespace ar_hud {

InheritingMutex::InheritingMutex() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    int error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (error == 0)
        error = pthread_mutex_init(&mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (error != 0)
        throw std::system_error(error, std::generic_category(),
                                "no mutex with priority inheritance");
}

InheritingMutex::~InheritingMutex() {
    pthread_mutex_destroy(&mutex);
}

void InheritingMutex::lock() {
    pthread_mutex_lock(&mutex);
}

void InheritingMutex::unlock() {
    pthread_mutex_unlock(&mutex);
}

pthread_mutex_t *InheritingMutex::native() {
    return &mutex;
}

} // namespace ar_hud
