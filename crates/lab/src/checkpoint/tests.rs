use super::*;

fn identity() -> Identity {
    Identity {
        experiment: "test".into(),
        settings: "s".into(),
        records: "r".into(),
        encoder: String::new(),
        program: "p".into(),
    }
}

fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
    [("a.bin".to_string(), text.as_bytes().to_vec())].into()
}

#[test]
fn the_last_two_are_kept_and_come_back() {
    let run = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::of(run.path());
    assert!(checkpoints.last().unwrap().is_none());
    for step in [9, 10, 200] {
        let text = step.to_string();
        checkpoints
            .write(step, step + 1, &identity(), None, &files(&text))
            .unwrap();
    }
    assert_eq!(checkpoints.steps(), [10, 200]);
    assert_eq!(
        reporting::released::recorded(run.path()),
        [10, 200].map(|step| (format!("checkpoints/step-{step:09}"), step + 1))
    );
    let last = checkpoints.last().unwrap().unwrap();
    assert_eq!((last.step, last.file("a.bin").unwrap()), (200, &b"200"[..]));
    assert!(last.file("b.bin").is_err());
    checkpoints.remove().unwrap();
    checkpoints.remove().unwrap();
}

/// What a refusal says, whose help has `remedy` and nothing that would destroy a whole checkpoint.
fn helps(refusal: &Failure, remedy: &str) -> String {
    let Failure::BadInput { message, help } = refusal else {
        panic!("{refusal}");
    };
    let help = help.as_deref().unwrap_or_default();
    assert!(
        help.contains(remedy) && help.contains("remove nothing"),
        "{help}"
    );
    assert!(!help.contains("remove this folder"), "{help}");
    message.clone()
}

#[test]
fn damage_and_foreign_checkpoints_are_named() {
    let run = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::of(run.path());
    checkpoints
        .write(1, 1, &identity(), None, &files("one"))
        .unwrap();
    let last = checkpoints.last().unwrap().unwrap();
    let mut other = identity();
    other.program = "q".into();
    assert!(last.check(&other).is_ok());
    other.records = "x".into();
    let refusal = helps(&last.check(&other).unwrap_err(), "give the records");
    assert!(refusal.contains("other private records"), "{refusal}");
    assert!(
        refusal.ends_with("records"),
        "no checksum of theirs: {refusal}"
    );
    other = identity();
    other.encoder = "e".into();
    let refusal = helps(&last.check(&other).unwrap_err(), "--cache-dir");
    assert!(
        refusal.contains("other weights of the autoencoder"),
        "{refusal}"
    );
    other = identity();
    other.settings = "t".into();
    let refusal = helps(&last.check(&other).unwrap_err(), "config.toml");
    assert!(refusal.contains("other settings"), "{refusal}");
    fs::write(last.path.join("a.bin"), "two").unwrap();
    let refusal = checkpoints.last().err().unwrap().to_string();
    assert!(
        refusal.contains("a.bin does not have the SHA-256"),
        "{refusal}"
    );
    fs::write(last.path.join(MANIFEST), "{").unwrap();
    let refusal = checkpoints.last().err().unwrap().to_string();
    assert!(refusal.contains(MANIFEST), "{refusal}");
}

/// Text of what lies in a folder, at any depth.
fn everything(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries
        .map(|path| match path.is_dir() {
            true => everything(&path),
            false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
        })
        .collect()
}

#[test]
fn the_key_of_noise_that_has_left_goes_with_the_next_checkpoint() {
    let run = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::of(run.path());
    let mut noise = NoiseSource::secret().unwrap();
    let mut keys = Vec::new();
    for step in 1..=3 {
        let state = noise.state();
        keys.push(serde_json::to_string(&state).unwrap());
        let half = run.path().join("checkpoints/.part-killed");
        if step == 3 {
            fs::create_dir(&half).unwrap();
            fs::write(half.join(NOISE), &keys[1]).unwrap();
        }
        checkpoints
            .write(step, step, &identity(), Some(&state), &files("one"))
            .unwrap();
        noise.advance();
    }
    let found = everything(run.path());
    assert!(found.contains(&keys[2]));
    assert!(!found.contains(&keys[0]) && !found.contains(&keys[1]));

    // As by a kill between the new checkpoint and the removal of the old one's key.
    let old = checkpoints.at(2).join(NOISE);
    fs::write(&old, &keys[1]).unwrap();
    let mut again = NoiseSource::secret().unwrap();
    let resume = |noise: &mut NoiseSource| {
        let resumed = checkpoints.resume(&identity(), Backend::Flex, Some(noise));
        resumed.unwrap().unwrap().step
    };
    assert_eq!(resume(&mut again), 3);
    assert_eq!(serde_json::to_string(&again.state()).unwrap(), keys[2]);
    assert!(!old.exists());

    // The one before it is whole, and resumes with noise of its own.
    fs::remove_dir_all(checkpoints.at(3)).unwrap();
    let mut fresh = NoiseSource::secret().unwrap();
    let own = fresh.state();
    assert_eq!(resume(&mut fresh), 2);
    assert!(fresh.state() == own);
}

#[test]
fn a_known_key_stays_so_that_a_run_can_be_repeated() {
    let run = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::of(run.path());
    let known = NoiseSource::insecure(4).state();
    for step in 1..=2 {
        checkpoints
            .write(step, step, &identity(), Some(&known), &files("one"))
            .unwrap();
    }
    fs::remove_dir_all(checkpoints.at(2)).unwrap();
    let mut noise = NoiseSource::insecure(5);
    checkpoints
        .resume(&identity(), Backend::Flex, Some(&mut noise))
        .unwrap();
    assert!(noise.state() == known);
}

#[test]
fn a_half_written_checkpoint_is_none() {
    let run = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::of(run.path());
    fs::create_dir_all(run.path().join("checkpoints/.part-x")).unwrap();
    assert!(checkpoints.last().unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads_a_checkpoint() {
    use std::os::unix::fs::PermissionsExt;
    let run = tempfile::tempdir().unwrap();
    Checkpoints::of(run.path())
        .write(1, 1, &identity(), None, &files("one"))
        .unwrap();
    let mode = fs::metadata(run.path().join("checkpoints"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}
