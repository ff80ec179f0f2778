use phit_workload::StoredPlan;
use phit_workload::goal;
use phit_workload::host::HostParams;
use phit_workload::network::Ideal;
use phit_workload::run::run;
use std::sync::Arc;

pub fn main() -> Result<(), phit_workload::Error> {
    let schedule = "num_ranks 2\nrank 0 {\n send 8b to 1\n}\nrank 1 {\n recv 8b from 0\n}\n";
    let program = Arc::new(goal::read(schedule.as_bytes())?);
    let host = HostParams { overhead: 3, eager: 1024, ..HostParams::default() };
    let finish = run(Box::new(StoredPlan::new(program)), host, Ideal(|_source, _destination| 10));
    // The sender's overhead, the network's latency, the receiver's overhead.
    assert_eq!(finish.completion(), 3 + 10 + 3);
    Ok(())
}
