//! Runs over several processes, by the MPI of this machine.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use data::Schema;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::program::{
    Home, Ran, folder, lines, make_folder, metrics, refusal, says, signal, sliver, text, text_at,
    unwrapped, words,
};
use crate::synth_table::people;

/// `mpirun` of so many processes of the program; nothing where there is no MPI.
fn mpirun(ranks: usize) -> Option<Command> {
    let tried = Command::new("mpirun")
        .args(["--allow-run-as-root", "-n", "1", "true"])
        .output();
    if !cfg!(feature = "mpi") || !tried.is_ok_and(|output| output.status.success()) {
        test_support::skipped(
            "mpi",
            "no mpirun that starts, or a build without the feature mpi",
        );
        return None;
    }
    let mut command = Command::new("mpirun");
    command.env("RAYON_NUM_THREADS", "1");
    // More processes than cores, other tests beside them, and whoever runs the tests.
    command.args(words(
        "--oversubscribe --bind-to none --allow-run-as-root -n",
    ));
    command.arg(ranks.to_string());
    command.arg(env!("CARGO_BIN_EXE_sliver"));
    Some(command)
}

const TRAINING: &str = "swae glyphs --records 400 --batch 50 --steps 6 --seed 1 --insecure-noise-seed 5 --backend flex \
                        --quick-scores --checkpoint-every 1";

#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.ran();
    let (stdout, failed) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{failed}");
    output
}

/// A line in one process, or over so many ranks.
fn over(ranks: usize, line: &str) -> Option<Command> {
    if ranks == 0 {
        return Some(sliver(line));
    }
    let mut command = mpirun(ranks)?;
    command.args(words(line));
    command.args(["--ranks", &ranks.to_string()]);
    Some(command)
}

fn train(ranks: usize, flags: &str, out: &Path) -> Option<()> {
    let mut command = over(ranks, &format!("{TRAINING} {flags}"))?;
    done(command.arg("--out").arg(out));
    Some(())
}

/// All numbers of the metrics of a run.
fn numbers(out: &Path) -> Vec<f64> {
    fn all(value: &serde_json::Value) -> Vec<f64> {
        match value {
            serde_json::Value::Object(fields) => fields.values().flat_map(all).collect(),
            other => other.as_f64().into_iter().collect(),
        }
    }
    metrics(out).0.iter().flat_map(all).collect()
}

/// The same releases and scores by any number of ranks; with `--ordered` the same to the bit.
#[test]
fn ranks_train_as_one_process_does() {
    let keep = tempfile::tempdir().expect("a folder");
    let place = |name: &str| keep.path().join(name);
    train(0, "", &place("one"));
    for ranks in [2, 3] {
        let out = place(&ranks.to_string());
        if train(ranks, "", &out).is_none() {
            return;
        }
        assert_eq!(lines(&out), lines(&place("one")));
        let pairs = numbers(&place("one")).into_iter().zip(numbers(&out));
        for (one, over) in pairs {
            assert!(
                (one - over).abs() < 2e-3 * (1.0 + one.abs()),
                "{ranks}: {one} and {over}"
            );
        }
    }
    for ranks in [1, 2, 3] {
        train(ranks, "--ordered", &place(&format!("ordered-{ranks}")));
        let [own, first] = [ranks, 1].map(|ranks| numbers(&place(&format!("ordered-{ranks}"))));
        assert!(own == first, "{own:?} and {first:?}");
    }
}

/// Counts are whole numbers, whose sums are exact: what is released of a table is the same to the bit.
#[test]
fn ranks_release_a_table_as_one_process_does() {
    let home = Home::new();
    people(&home, 700);
    // Three Parquet files of one row group each: a group a rank.
    let known = Schema::read(&home.at("people.toml")).expect("a schema");
    make_folder(home.at("parts"));
    let table = known.coded(&home.at("people.csv")).expect("records");
    for (part, codes) in table.codes.chunks(250 * table.columns).enumerate() {
        let path = home.at(&format!("parts/part-{part}.parquet"));
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        known.write(&path, codes, rng).expect("written");
    }
    let copy = |ranks: usize, table: &str, out: &str, more: &str| {
        let flags = "--schema people.toml --epsilon 1 --score-share 0 --insecure-noise-seed 3 --backend flex";
        let line = format!("synth table {table} {flags} --out {out} {more}");
        done(over(ranks, &line)?.current_dir(home.at("")));
        let names = ["columns.bin", "pairs.bin", "copy.bin"];
        Some(names.map(|name| home.bytes(&format!("{out}/{name}"))))
    };
    let one = copy(0, "people.csv", "one", "");
    assert!(one.is_some());
    for (ranks, table, place) in [
        (3, "people.csv", "three"),
        (3, "parts", "groups"),
        (4, "parts", "records"),
    ] {
        let Some(over) = copy(ranks, table, place, "") else {
            return;
        };
        assert!(one.as_ref() == Some(&over), "{place}");
    }
    // Which records of a unit count does not depend on who holds them.
    let units = "--unit patient --most-per-unit 2";
    let one = copy(0, "people.csv", "one-of-units", units);
    assert!(one.is_some() && one == copy(3, "people.csv", "units", units));
}

/// The process of `rank` of the job that `mpirun` started.
fn process_of(job: &Child, rank: usize) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?;
    let mut ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| {
        let read = |file| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        let of_job = read("stat")
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.split(' ').nth(1) == Some(&job.id().to_string()));
        let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
        of_job
            && read("environ")
                .split('\0')
                .any(|variable| variable == wanted)
    })
}

/// Starts a long training over two ranks, and sends a signal to the second one once something was released.
fn disturbed(out: &Path, name: &str, flags: &str) -> Option<Output> {
    let long = TRAINING.replace("--steps 6", "--steps 300");
    let mut command = over(2, &format!("{long} {flags}"))?;
    command.arg("--out").arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut job = command.spawn().expect("mpirun starts");
    while lines(out) < 3 {
        let ended = job.try_wait().expect("a state");
        assert!(ended.is_none(), "the run ended by itself");
        std::thread::yield_now();
    }
    let id = process_of(&job, 1).expect("the process of rank 1");
    signal(id, name);
    Some(job.wait_with_output().expect("an end"))
}

#[test]
fn a_rank_that_dies_or_stalls_ends_the_run_and_another_number_of_ranks_goes_on() {
    for (signal, flags, words) in [
        ("KILL", "", "rank 1"),
        ("STOP", "--rank-timeout 2", "no answer for 2 s from rank 1"),
    ] {
        let (_keep, out) = folder();
        let Some(output) = disturbed(&out, signal, flags) else {
            return;
        };
        let message = unwrapped(&output.stderr);
        assert!(!output.status.success(), "{signal}: {message}");
        says(&message, &[words]);
        assert!(!out.join("run.json").exists(), "{signal}");
        let released = lines(&out);
        // One process takes it to its end, and the ledger counts what is made again.
        let settings = text_at(out.join("config.toml"));
        says(&settings, &["steps = 300"]);
        let ranks = if signal == "KILL" { 0 } else { 3 };
        let line = "swae --quick-scores --backend flex";
        let mut resumed = over(ranks, line).expect("mpirun");
        done(resumed.arg("--resume").arg(&out));
        let all = lines(&out);
        assert!(
            all >= 300 && all <= 300 + released,
            "{released} and then {all}"
        );
    }
}

#[test]
fn what_ranks_cannot_do_is_refused_by_name() {
    let message = refusal(sliver(&format!("{TRAINING} --ranks 2")));
    let expected = match cfg!(feature = "mpi") {
        true => "--ranks 2: there are 1 processes",
        false => "--ranks 2: this program was built without MPI",
    };
    says(&message, &[expected]);
    let home = Home::new();
    people(&home, 300);
    for (line, words) in [
        (TRAINING.to_string(), "--ranks is not given"),
        (
            format!("{TRAINING} --ranks 3"),
            "--ranks 3: there are 2 processes",
        ),
        (
            "synth table people.csv --schema people.toml --epsilon 1 --ranks 2".into(),
            "private records score the copy in one process",
        ),
        (
            "fair adult --repair 0.5 --ranks 2".into(),
            "--repair takes one process",
        ),
        (
            format!("{TRAINING} --no-privacy --ordered --ranks 2"),
            "without privacy",
        ),
        (format!("{TRAINING} --ranks 2 --epsilon -1"), "--epsilon -1"),
    ] {
        let Some(mut job) = mpirun(2) else { return };
        job.args(line.split(' ')).args(["--out", "out"]);
        let message = refusal(job.current_dir(home.at("")));
        says(&message, &[words]);
        assert!(!home.has("out"), "{line}");
    }
}

/// Each rank starts in a folder of its own, with another table of the same name.
#[test]
fn ranks_with_other_records_are_refused() {
    let homes = [300, 303].map(|records| {
        let home = Home::new();
        people(&home, records);
        home
    });
    let Some(mut job) = mpirun(1) else { return };
    let flags = "synth table people.csv --schema people.toml --epsilon 1 --score-share 0 --ranks 2 --out run";
    job.current_dir(homes[0].at("")).args(flags.split(' '));
    job.args([":", "-n", "1", "-wdir"]).arg(homes[1].at(""));
    job.arg(env!("CARGO_BIN_EXE_sliver")).args(flags.split(' '));
    let output = job.ran();
    let message = unwrapped(&output.stderr);
    says(&message, &["rank 1 has other private records"]);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(homes.iter().all(|home| !home.has("run")));
}
