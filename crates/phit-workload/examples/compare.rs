//! Scratch: compares with reference rows.
use phit_workload::{goal, host::HostParams, ideal};
use std::sync::Arc;
fn main() {
    let root = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(format!("{root}/goal_runs.csv")).unwrap();
    let per: std::collections::HashMap<String, Vec<u64>> = std::fs::read_to_string(format!("{root}/goal_per_rank.txt")).unwrap().lines().filter_map(|l| {
        let mut w = l.split_whitespace(); let a = w.next()?; let b = w.next()?; Some((format!("{a} {b}"), w.filter_map(|x| x.parse().ok()).collect()))
    }).collect();
    let mut same = 0; let mut diff = 0; let mut skipped = 0;
    for line in text.lines().skip(1) {
        let c: Vec<&str> = line.split(',').collect();
        let path = ["hand","own","schedgen"].iter().map(|d| format!("{root}/goal/{d}/{}.goal", c[0])).find(|p| std::path::Path::new(p).exists());
        let Some(path) = path else { println!("no file {}", c[0]); continue };
        let n = |i: usize| c[i].parse::<u64>().unwrap();
        let params = HostParams { overhead: n(11), gap: n(12), gap_per_byte: n(13), overhead_per_byte: n(14), eager: n(15) };
        let program = match goal::read(std::fs::File::open(&path).unwrap()) { Ok(p) => p, Err(e) => { println!("{} {}: {e}", c[0], c[17]); skipped += 1; continue } };
        let l = n(10);
        let f = ideal::run(Arc::new(program), params, |_, _| l);
        if c[17] != "finished" || c[26] != "0" { println!("{} {} {} viol {}: left {:?} {}", c[0], c[9], c[17], c[26], f.left, f.completion()); skipped += 1; continue }
        let ok = f.left.is_empty() && f.completion() == n(18);
        let full = per.get(&format!("{} {}", c[0], c[9])).is_some_and(|p| *p == f.ranks);
        if ok && full { same += 1 } else { diff += 1; println!("DIFF {} {} want {} got {} left {} perrank {full}", c[0], c[9], c[18], f.completion(), !f.left.is_empty()); }
    }
    println!("{same} same {diff} different {skipped} skipped");
}
