//! A snapshot as metrics (OpenMetrics 1.0, which Prometheus reads).

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use ringfence_linux::live::Snapshot;
use ringfence_linux::live::snapshot::{Budget, Gang, GangState, Mode, Resource};

/// What the text is.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics; without a snapshot only that nothing is enforced.
///
/// # Errors
/// None of them: the text is in memory.
pub fn text(snapshot: Option<&Snapshot>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics(snapshot.cloned())));
    let mut text = String::new();
    text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Option<Snapshot>);

type Labels = Vec<(&'static str, String)>;

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut families = Families(encoder);
        let up = i64::from(self.0.is_some());
        families.gauge(
            "up",
            "Whether gangs are kept apart on this machine now",
            [(vec![], up)],
        )?;
        match &self.0 {
            None => Ok(()),
            Some(snapshot) => families.all(snapshot),
        }
    }
}

struct Families<'a>(DescriptorEncoder<'a>);

impl Families<'_> {
    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, i64)>,
    ) -> fmt::Result {
        let values = values.into_iter();
        let values = values.map(|(labels, value)| (labels, ConstGauge::new(value)));
        self.family(name, help, MetricType::Gauge, values)
    }

    /// The text has `_total` behind the name.
    fn counter(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let values = values.into_iter();
        let values = values.map(|(labels, value)| (labels, ConstCounter::new(value)));
        self.family(name, help, MetricType::Counter, values)
    }

    /// One without values is left out.
    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        values: impl Iterator<Item = (Labels, impl EncodeMetric)>,
    ) -> fmt::Result {
        let mut values = values.peekable();
        if values.peek().is_none() {
            return Ok(());
        }
        let name = format!("ringfence_{name}");
        let mut family = self.0.encode_descriptor(&name, help, None, kind)?;
        for (labels, value) in values {
            // There is only one without labels.
            if labels.is_empty() {
                return value.encode(family);
            }
            value.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn all(&mut self, snapshot: &Snapshot) -> fmt::Result {
        self.whole(snapshot)?;
        self.partitions(snapshot)?;
        self.cpus(snapshot)?;
        self.gangs(snapshot)
    }

    fn whole(&mut self, snapshot: &Snapshot) -> fmt::Result {
        let mode = match snapshot.mode {
            Mode::SchedExt => "sched-ext",
            Mode::Portable => "portable",
        };
        let labels = vec![
            ("scenario", snapshot.scenario.clone()),
            ("case", snapshot.case.clone()),
            ("mode", mode.to_owned()),
        ];
        self.gauge("enforced", "What is enforced; always 1", [(labels, 1)])?;
        let since_s = (snapshot.since_unix_ms / 1000) as i64;
        let help = "Since when it is enforced, in seconds since 1970";
        self.gauge("start_time_seconds", help, [(vec![], since_s)])
    }

    fn partitions(&mut self, snapshot: &Snapshot) -> fmt::Result {
        let shares = || {
            let partitions = snapshot.partitions.iter();
            partitions.filter_map(|partition| {
                Some((
                    vec![("partition", partition.name.clone())],
                    partition.share?,
                ))
            })
        };
        let used = shares().map(|(labels, share)| (labels, share.used_ns as i64));
        let help = "Real-time work of the window of now, in nanoseconds";
        self.gauge("partition_share_used_nanoseconds", help, used)?;
        let limit = shares().map(|(labels, share)| (labels, share.limit_ns as i64));
        let help = "Real-time work that is allowed in each window, in nanoseconds";
        self.gauge("partition_share_limit_nanoseconds", help, limit)?;
        let exhausted = shares().map(|(labels, share)| (labels, share.is_exhausted.into()));
        let help = "Whether no gang may run before the window ends";
        self.gauge("partition_share_is_exhausted", help, exhausted)
    }

    fn cpus(&mut self, snapshot: &Snapshot) -> fmt::Result {
        let regulated = || {
            let cpus = snapshot.cpus.iter();
            cpus.filter_map(|cpu| {
                let labels: Labels = vec![("cpu", cpu.cpu.to_string())];
                Some((labels, cpu.best_effort.as_ref()?))
            })
        };
        let throttled = regulated().map(|(labels, it)| (labels, it.is_throttled.into()));
        let help = "Whether best-effort work is kept off until the next period";
        self.gauge("cpu_is_throttled", help, throttled)?;
        let times = regulated().map(|(labels, it)| (labels, it.times_throttled));
        let help = "How often best-effort work was throttled";
        self.counter("cpu_throttled", help, times)?;
        let budgets = |number: fn(&Budget) -> Option<u64>| {
            regulated().flat_map(move |(labels, it)| {
                it.budgets.iter().filter_map(move |budget| {
                    let of = ("of", resource(budget.of).to_owned());
                    let labels = labels.iter().cloned().chain([of]).collect();
                    Some((labels, number(budget)? as i64))
                })
            })
        };
        let help = "What best-effort work has used of its budget of the period, in what it is of";
        self.gauge("cpu_budget_used", help, budgets(|budget| budget.used))?;
        let help = "What best-effort work may use in a period, in what it is of; none while it is not limited";
        self.gauge("cpu_budget", help, budgets(|budget| budget.budget))
    }

    fn gangs(&mut self, snapshot: &Snapshot) -> fmt::Result {
        let gangs = || snapshot.gangs.iter().map(|gang| (of_gang(gang), gang));
        let is = |state: GangState| {
            gangs().map(move |(labels, gang)| (labels, (gang.state == state).into()))
        };
        let help = "Whether the gang has CPUs";
        self.gauge("gang_active", help, is(GangState::Active))?;
        let help = "Whether the gang is runnable and may not run";
        self.gauge("gang_blocked", help, is(GangState::Blocked))?;
        let seconds = gangs().map(|(labels, gang)| (labels, gang.active_ns as f64 / 1e9));
        let seconds = seconds.map(|(labels, value)| (labels, ConstCounter::new(value)));
        let help = "How long the gang had CPUs, in seconds";
        self.family("gang_active_seconds", help, MetricType::Counter, seconds)?;
        let jobs = gangs().filter_map(|(labels, gang)| Some((labels, gang.jobs?)));
        self.counter("gang_jobs", "Jobs that the gang has finished", jobs)?;
        let misses = gangs().filter_map(|(labels, gang)| Some((labels, gang.deadline_misses?)));
        let help = "Jobs that were finished after their deadline, or dropped";
        self.counter("gang_deadline_misses", help, misses)
    }
}

fn of_gang(gang: &Gang) -> Labels {
    vec![
        ("gang", gang.name.clone()),
        ("partition", gang.partition.clone()),
        ("priority", gang.priority.to_string()),
    ]
}

fn resource(of: Resource) -> &'static str {
    match of {
        Resource::TimeNs => "time_nanoseconds",
        Resource::ReadEvents => "read_events",
        Resource::WriteEvents => "write_events",
    }
}
