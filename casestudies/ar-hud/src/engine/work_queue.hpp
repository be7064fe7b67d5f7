/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a stage's thread waits for: a bounded queue, under a mutex with priority inheritance, so that
 * nobody of middle priority keeps the front-end waiting. */
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <utility>

namespace ar_hud {

/* As std::mutex, whose protocol cannot be chosen. */
class InheritingMutex {
  public:
    InheritingMutex();
    ~InheritingMutex();
    InheritingMutex(const InheritingMutex &) = delete;
    InheritingMutex &operator=(const InheritingMutex &) = delete;
    void lock();
    void unlock();
    pthread_mutex_t *native();

  private:
    pthread_mutex_t mutex;
};

/* What is worked on counts as in the queue, until done(). */
template <typename Item> class WorkQueue {
  public:
    explicit WorkQueue(std::size_t most) : most(most) {
        pthread_cond_init(&changed, nullptr);
    }
    ~WorkQueue() {
        pthread_cond_destroy(&changed);
    }
    WorkQueue(const WorkQueue &) = delete;
    WorkQueue &operator=(const WorkQueue &) = delete;

    bool has_room() {
        const std::lock_guard<InheritingMutex> guard(mutex);
        return items.size() + busy < most;
    }
    /* False if there is no room. */
    bool offer(Item item) {
        const std::lock_guard<InheritingMutex> guard(mutex);
        if (items.size() + busy >= most)
            return false;
        items.push_back(std::move(item));
        pthread_cond_signal(&changed);
        return true;
    }
    /* The newest wins: what waits is dropped, and given back. Of those that are put in by this alone
     * one waits at most. */
    std::optional<Item> replace(Item item) {
        const std::lock_guard<InheritingMutex> guard(mutex);
        std::optional<Item> dropped;
        if (!items.empty())
            dropped = std::move(items.front());
        items.clear();
        items.push_back(std::move(item));
        pthread_cond_signal(&changed);
        return dropped;
    }
    /* Waits for one; nothing when the queue is closed and empty. */
    std::optional<Item> take() {
        const std::lock_guard<InheritingMutex> guard(mutex);
        while (items.empty() && !closed)
            pthread_cond_wait(&changed, mutex.native());
        if (items.empty())
            return std::nullopt;
        std::optional<Item> item(std::move(items.front()));
        items.pop_front();
        busy = 1;
        return item;
    }
    void done() {
        const std::lock_guard<InheritingMutex> guard(mutex);
        busy = 0;
    }
    /* Nobody else waits for this item. */
    bool is_last() {
        const std::lock_guard<InheritingMutex> guard(mutex);
        return items.empty();
    }
    void close() {
        const std::lock_guard<InheritingMutex> guard(mutex);
        closed = true;
        pthread_cond_signal(&changed);
    }

  private:
    const std::size_t most;
    InheritingMutex mutex;
    pthread_cond_t changed;
    std::deque<Item> items;
    std::size_t busy = 0;
    bool closed = false;
};

} // namespace ar_hud
