//! Writes a workload as a scenario file.

use std::fmt::Write as _;

use super::workload::{Task, Workload};

/// The file's text. A text has no end, so that writing to it cannot fail.
pub(super) fn write(workload: &Workload, platform: &str) -> String {
    let mut text = format!(
        "# Imported from a workload file of rt-app.\n\n\
         [scenario]\n\
         name = \"rt-app\"\n\
         platform = {}\n\
         duration = \"{} s\"\n",
        quoted(platform),
        workload.duration_s
    );
    for priority in (1..=99).rev() {
        let of_gang = |task: &&Task| task.priority == Some(priority);
        let tasks: Vec<&Task> = workload.tasks.iter().filter(of_gang).collect();
        write_gang(&mut text, priority, &tasks);
    }
    for task in workload.tasks.iter().filter(|task| task.priority.is_none()) {
        write_best_effort(&mut text, task);
    }
    text += "\n# As rt-app runs it: fixed priorities, side by side.\n\
             [[case]]\nname = \"co-run\"\n\n\
             # One gang at a time.\n\
             [[case]]\nname = \"rt-gang\"\n";
    text
}

fn write_gang(text: &mut String, priority: u8, tasks: &[&Task]) {
    let name = match tasks {
        [] => return,
        [task] => task.name.clone(),
        _ => format!("priority-{priority}"),
    };
    let _ = write!(
        text,
        "\n[[gang]]\nname = {}\npriority = {priority}\n",
        quoted(&name)
    );
    let mut next_core = 0;
    for task in tasks {
        write_task(text, task, &mut next_core);
    }
}

fn write_task(text: &mut String, task: &Task, next_core: &mut u32) {
    let _ = write!(text, "\n[[gang.task]]\nname = {}\n", quoted(&task.name));
    match &task.turn.timer {
        Some(timer) => {
            let _ = writeln!(text, "period = \"{} us\"", timer.period_us);
            if !timer.is_absolute {
                *text += "# A relative timer begins anew after a late job; here a release that comes\n\
                          # while a job runs is dropped, and the others stay where they are.\n\
                          overrun = \"skip\"\n";
            }
        }
        None => {
            let _ = write!(
                text,
                "# It runs and then sleeps {} us: this is its period as long as nothing delays it.\n\
                 period = \"{} us\"\noverrun = \"skip\"\n",
                task.turn.sleep_us,
                task.turn.run_us.saturating_add(task.turn.sleep_us)
            );
        }
    }
    if let Some(deadline_us) = task.deadline_us {
        let _ = writeln!(text, "deadline = \"{deadline_us} us\"");
    }
    if task.delay_us > 0 {
        let _ = writeln!(text, "offset = \"{} us\"", task.delay_us);
    }
    write_threads(text, task);
    let threads = u32::from(task.instances);
    match task.cpus.len() {
        0 => {
            let last = *next_core + threads - 1;
            let _ = writeln!(
                text,
                "# rt-app lets it run anywhere; here each thread of the gang has a core.\n\
                 cores = \"{}\"",
                range(*next_core, last)
            );
            *next_core = last + 1;
        }
        cpus => {
            if cpus > task.instances.into() {
                *text += "# rt-app lets it move among these; here each thread stays on the core of its number.\n";
            }
            let _ = writeln!(text, "cores = \"{}\"", list(&task.cpus));
        }
    }
    write_program(text, task);
}

fn write_best_effort(text: &mut String, task: &Task) {
    let _ = write!(text, "\n[[best_effort]]\nname = {}\n", quoted(&task.name));
    write_threads(text, task);
    if !task.cpus.is_empty() {
        let _ = writeln!(text, "cores = \"{}\"", list(&task.cpus));
    }
    write_program(text, task);
}

fn write_threads(text: &mut String, task: &Task) {
    if task.instances > 1 {
        let _ = writeln!(text, "threads = {}", task.instances);
    }
}

fn write_program(text: &mut String, task: &Task) {
    let _ = writeln!(
        text,
        "program = {{ kind = \"compute\", time = \"{} us\" }}",
        task.turn.run_us
    );
}

/// A name in quotes: TOML escapes as JSON does.
fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

fn range(first: u32, last: u32) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    }
}

fn list(cpus: &[u16]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    cpus.join(",")
}
