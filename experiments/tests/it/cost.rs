//! The tables of costs, as `just bench-table` prints them.

#[allow(dead_code)] // its main
#[path = "../../../benches/cost/main.rs"]
mod example;

use clap::Parser;

use self::example::{Arguments, run};

#[test]
fn the_tables_of_a_device_are_printed() {
    // Of four sizes of the sort and three of the distance, those of at most 60000 keys.
    let line = "cost --backend flex --only device --most-keys 60000 --repeat 1";
    run(&Arguments::parse_from(line.split(' '))).expect("it runs");
}
