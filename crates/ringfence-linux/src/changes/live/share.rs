//! Shares of resctrl groups, in their file `schemata`.

use std::fs::File;
use std::io;
use std::path::Path;

use super::files;

/// The share of a domain of a resource, without blanks and leading zeros: kernels differ
/// in both.
pub fn read(group: &Path, resource: &str, domain: u32) -> io::Result<String> {
    let schemata = files::text(&group.join("schemata"))?;
    find(&schemata, resource, domain).ok_or_else(|| {
        io::Error::other(format!(
            "{}/schemata has no domain {domain} of {resource}",
            group.display()
        ))
    })
}

/// Writes the share; what the kernel has against it is in the error.
pub fn write(group: &Path, resource: &str, domain: u32, share: &str) -> io::Result<()> {
    // The topmost group is the mount.
    let is_group = |folder: &&Path| folder.join("schemata").exists();
    let mount = group.ancestors().take_while(is_group).last();
    let mount = mount.ok_or(io::ErrorKind::NotFound)?;
    // Users of resctrl agree to hold this lock while they write and ask what came of it.
    let folder = File::open(mount)?;
    folder.lock()?;
    let line = format!("{resource}:{domain}={share}");
    files::write(&group.join("schemata"), &line).map_err(|error| {
        match files::value(&mount.join("info/last_cmd_status")) {
            Ok(status) if status != "ok" => io::Error::new(error.kind(), status),
            _ => error,
        }
    })
}

fn find(schemata: &str, resource: &str, domain: u32) -> Option<String> {
    let line = schemata.lines().find_map(|line| {
        let (name, domains) = line.split_once(':')?;
        (name.trim() == resource).then_some(domains)
    })?;
    line.split(';').find_map(|entry| {
        let (id, share) = entry.split_once('=')?;
        let share = share.trim();
        let digits = share.trim_start_matches('0');
        let shortest = match digits {
            "" => "0",
            digits => digits,
        };
        (id.trim().parse() == Ok(domain)).then(|| shortest.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_kernels_are_read_alike() {
        for text in [
            "    L3:0=fffff;1=000ff\n    MB:0= 100;1=  16\n",
            "MB:0=100;1=16\nL3:0=fffff;1=ff\n",
        ] {
            for (resource, domain, share) in [
                ("L3", 0, Some("fffff")),
                ("L3", 1, Some("ff")),
                ("MB", 0, Some("100")),
                ("MB", 1, Some("16")),
                ("L3", 2, None),
                ("L2", 0, None),
            ] {
                let found = find(text, resource, domain);
                assert_eq!(found.as_deref(), share, "{resource} {domain} in {text}");
            }
        }
        assert_eq!(find("L3:0=0", "L3", 0).as_deref(), Some("0"));
    }
}
