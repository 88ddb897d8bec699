//! The machine this process runs on: processor, memory, host name, clock.

use crate::threads::available;
use sane_record::Timing;
use std::fs;
use std::time::SystemTime;

/// Description of the machine for `timings.jsonl`; `unknown` where the system does not report it.
pub fn machine() -> Timing {
    let processor = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Timing::Machine {
        processor: processor.unwrap_or_else(|| "an unknown processor".into()),
        logical_cores: available() as u64,
        memory_bytes: meminfo("MemTotal").unwrap_or(0),
        system: [std::env::consts::OS, release.trim(), std::env::consts::ARCH].join(" ").replace("  ", " "),
    }
}

/// Host name; on a node of a Slurm cluster, Slurm's name of the node.
pub fn host() -> String {
    let of_file = |path: &str| fs::read_to_string(path).ok().map(|name| name.trim().to_owned());
    std::env::var("SLURMD_NODENAME")
        .ok()
        .or_else(|| of_file("/proc/sys/kernel/hostname"))
        .or_else(|| of_file("/etc/hostname"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "an unnamed host".into())
}

/// Memory available to new processes without swapping, within the limit of the container; `None` where unknown.
pub fn free_memory() -> Option<u64> {
    let machine = meminfo("MemAvailable")?;
    let group = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
    let in_group = group("memory.max").zip(group("memory.current")).map(|(most, now)| most.saturating_sub(now));
    Some(in_group.map_or(machine, |group| machine.min(group)))
}

/// Resident memory of this process, where the system reports it.
pub fn resident_bytes() -> Option<u64> {
    resident_bytes_of(std::process::id())
}

/// Seconds since 1970 by the system clock, which may jump: for display only.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Resident memory of a process, where the system reports it.
pub fn resident_bytes_of(process: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    // In pages; the pages of every Linux this runs on are 4096 bytes.
    statm.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}

fn meminfo(key: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.split(':').next() == Some(key))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_memory_some_of_it_free_and_this_process_some_of_it() {
        let Timing::Machine { memory_bytes, logical_cores, .. } = machine() else { panic!("not a machine") };
        let (free, own) = (free_memory().unwrap(), resident_bytes_of(std::process::id()).unwrap());
        assert!(0 < logical_cores && 0 < own && own < memory_bytes && 0 < free && free < memory_bytes);
    }
}
