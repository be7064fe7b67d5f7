//! The words of the page, for who meets them for the first time.

/// Word and meaning, in the order in which a reader meets them.
pub const GLOSSARY: [(&str, &str); 17] = [
    (
        "Task, job",
        "A task is work that repeats; each repetition is a job. A job is released, started and finished, or dropped.",
    ),
    (
        "Deadline",
        "How long after its release a job must be finished.",
    ),
    (
        "Response time",
        "From a job's release until its last thread has finished.",
    ),
    (
        "Real-time",
        "Work whose results are wrong when they are late.",
    ),
    (
        "Best-effort",
        "Work without a deadline, such as logging or a display.",
    ),
    (
        "Aggressor",
        "Best-effort work made to use as much memory traffic as it can.",
    ),
    ("Case", "One run of the scenario under one set of rules."),
    (
        "solo",
        "A task runs alone on the machine: as good as it gets.",
    ),
    (
        "co-run",
        "Everything runs together and nothing is enforced.",
    ),
    (
        "Gang",
        "All threads of one parallel real-time task, scheduled together. Several tasks can form one virtual gang.",
    ),
    (
        "RT-Gang",
        "The rule that one gang at a time runs in a partition, while best-effort work gets a limited share of the memory traffic.",
    ),
    (
        "Partition",
        "A fixed set of cores inside which one gang runs at a time.",
    ),
    (
        "Tolerance",
        "How much traffic of best-effort work a gang accepts per core while it runs.",
    ),
    (
        "Budget, period",
        "What a core may read and write in one period; it is refilled when the next begins.",
    ),
    (
        "Throttled",
        "Out of budget: the core runs no best-effort work until the next period.",
    ),
    (
        "Slowdown",
        "A median response time divided by the one that the task has solo.",
    ),
    ("99th percentile", "99 of 100 jobs were at most that slow."),
];
