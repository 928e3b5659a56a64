//! The program: what is asked, to a file.

use std::path::{Path, PathBuf};

use data::privatised::{Header, Writer, header_path};
use data::{DataError, Stored};
use dp_core::mechanism::NoiseSource;
use lab::prelude::*;
use rand::seq::SliceRandom;

use super::arguments::{Arguments, Noise};
use super::{Preprocessing, input, mechanism_of, privatise, promise};

/// Does what the flags say.
///
/// # Errors
///
/// [`Failure::BadInput`] for flags, files and headers that are refused; [`Failure::Failed`] for what cannot be written;
/// [`Failure::Interrupted`] after a signal. Nothing is written then.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(file) = &arguments.show {
        return show(file, &arguments.noise);
    }
    let (Some(from), Some(out)) = (&arguments.source.input, &arguments.out) else {
        let message = "--input and --out: a file for each is needed";
        return Err(Failure::input(message, "say --input FILE --out FILE"));
    };
    let asked = &arguments.noise;
    let mechanism = asked.mechanism()?;
    let labels = asked.label_weight.is_some();
    arguments.check_files(out)?;
    let mut noise = noise_source(asked.insecure_noise_seed)?;
    let source = &arguments.source;
    let input = input::read(from, source, labels, mechanism.epsilon(), noise.rng())?;
    let preprocessing = asked.preprocessing(mechanism, &input.form)?;
    let header = preprocessing.header(&input.form, noise.is_secret())?;
    let refuse = |e: DataError| Failure::input(e.to_string(), "nothing was written");
    let writer = Writer::create(out, &header, arguments.force).map_err(refuse)?;
    let count = input.records.len();
    println!("data      {}: {count} records", from.display());
    let announced = Header {
        records: count as u64,
        ..header.clone()
    };
    say(&announced)?;
    println!(
        "order     {}",
        match arguments.source.keeps_order() {
            true => "that of the input: the place of a record is public",
            false => "secret: no place of a record in the input is public",
        }
    );
    if !noise.is_secret() {
        eprintln!("NOT PRIVATE: --insecure-noise-seed gives noise that anybody can subtract");
    }
    let header = arguments.write(input, &preprocessing, &mut noise, writer, header)?;
    println!("written   {}: {} records", out.display(), header.records);
    Ok(())
}

impl Arguments {
    fn check_files(&self, out: &Path) -> Result<(), Failure> {
        let log = self.log.as_deref();
        let source = &self.source;
        let read = [&source.input, &source.label_file, &source.schema];
        let mut taken: Vec<_> = read.into_iter().flatten().map(|p| place(p)).collect();
        // What is written is none of what is read, nor the one file another.
        for (flag, path) in [
            ("out", Some(out)),
            ("out", Some(&header_path(out))),
            ("log", log),
        ] {
            let Some(path) = path else { continue };
            let here = place(path);
            if taken.contains(&here) {
                return Err(Failure::input(
                    format!(
                        "--{flag} {}: another flag names the same file",
                        path.display()
                    ),
                    "name another one; the log, which is private, belongs where the records do not go",
                ));
            }
            taken.push(here);
        }
        let folder = log.and_then(Path::parent);
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        if let Some(missing) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::input(
                format!("--log: there is no folder {}", missing.display()),
                "make it first, on the private side",
            ));
        }
        Ok(())
    }

    /// The records, then the log, and only then the name of the file.
    fn write(
        &self,
        input: input::Input,
        preprocessing: &Preprocessing,
        noise: &mut NoiseSource,
        mut writer: Writer,
        header: Header,
    ) -> Result<Header, Failure> {
        let interrupt = Interrupt::listen()?;
        let bar = Progress::new("records", input.records.len() as u64);
        let mut before = 0;
        // Files of a folder are read in a secret order.
        let folder = self.source.input.as_deref().is_some_and(Path::is_dir);
        let in_turn = folder || self.source.keeps_order();
        let mut noisy = Stored::<f32>::default();
        let mut counts = privatise(
            &input.records,
            &input.form,
            preprocessing,
            noise,
            &mut |record| match in_turn {
                true => writer.push(record),
                false => noisy.add(record),
            },
            &mut |done| {
                (before..done).for_each(|_| bar.step());
                before = done;
                if self.stop_after_record.is_some_and(|stop| done >= stop) {
                    interrupt.ask();
                }
                interrupt.check("privatising; nothing was written")
            },
        )?;
        bar.finish();
        counts.dropped = input.dropped;
        if !in_turn {
            let width = header.width;
            let mut order: Vec<usize> = (0..counts.records as usize).collect();
            order.shuffle(noise.rng());
            for place in order {
                interrupt.check("privatising; nothing was written")?;
                let record = noisy.read(place * width..(place + 1) * width);
                writer.push(&record.or_failed()?).or_failed()?;
            }
        }
        let header = Header {
            records: counts.records,
            ..header
        };
        if let (Some(log), Some(out)) = (&self.log, &self.out) {
            super::log::log(log, out, &header, &counts)?;
        }
        writer.finish().or_failed()
    }
}

/// A path by which two names of one file are the same, be it there or not.
fn place(path: &Path) -> PathBuf {
    if let Ok(whole) = path.canonicalize() {
        return whole;
    }
    // A name alone lies here.
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder.unwrap_or(path),
    };
    let folder = folder.canonicalize().ok();
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

fn show(file: &Path, noise: &Noise) -> Result<(), Failure> {
    let name = file.display().to_string();
    let refuse = |e: DataError| Failure::input(e.to_string(), "nothing was changed");
    let Some(header) = Header::read(file).map_err(refuse)? else {
        return Err(Failure::input(
            format!("{name}: it holds no privatised records, or its header is not beside it"),
            "give a file that `privatise` wrote",
        ));
    };
    header
        .check_request(&name, &noise.wanted())
        .map_err(refuse)?;
    mechanism_of(&name, &header)?;
    println!("data      {name}: {} records", header.records);
    say(&header)
}

fn say(header: &Header) -> Result<(), Failure> {
    promise(header)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
