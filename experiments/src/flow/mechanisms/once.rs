//! One release, stored; then any number of steps.

use std::path::Path;

use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use swd::marginals::{Basis, Bins, Cleaning, MarginalQuery};
use swd::smoothed::{NoisyProjections, project};
use swd::{Region, SensitiveVector};

use crate::spent;

use super::super::plan::{MOMENTS, RELEASE};
use super::super::release::{Released, Values};
use super::{Flow, Generated};

/// The one release: already private.
pub(super) const FILE: &str = "release.bin";
/// The moments that a release is measured around.
const MOMENTS_FILE: &str = "moments.bin";

/// Refuses releases that are stored and cannot be read, before anything is released again.
///
/// # Errors
///
/// [`Failure::BadInput`] names the file.
pub fn check(folder: &RunFolder) -> Result<(), Failure> {
    [MOMENTS_FILE, FILE]
        .iter()
        .try_for_each(|file| stored(&folder.file(file)).map(drop))
}

/// What a file holds of a release; none where it is not there. How many releases the ledger held with it
/// is asked by [`lab::resume::ledger`].
pub(super) fn stored(path: &Path) -> Result<Option<Released>, Failure> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(|e| spent::damaged(path, &e))?;
    let damaged = || spent::damaged(path, &"it is damaged");
    let (sum, body) = bytes.split_at_checked(64).ok_or_else(damaged)?;
    if hex(body).as_bytes() != sum {
        return Err(damaged());
    }
    let (words, _) = body.as_chunks::<8>();
    let [_, deviation, rest @ ..] = words else {
        return Err(damaged());
    };
    let mut rest = rest;
    let mut groups = Vec::new();
    while let Some((&length, values)) = rest.split_first() {
        let length = u64::from_le_bytes(length) as usize;
        let (group, after) = values.split_at_checked(length).ok_or_else(damaged)?;
        groups.push(group.iter().map(|&v| f64::from_le_bytes(v)).collect());
        rest = after;
    }
    let deviation = f64::from_le_bytes(*deviation);
    Ok(Some(Released { groups, deviation }))
}

impl Flow<'_> {
    /// Private sliced marginals, counted around the private Gaussian of each group where a share of the
    /// budget goes to its moments.
    pub(super) fn marginals(&mut self) -> Result<Generated, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::run)?;
        let around = if self.settings.moments_first() {
            Some(self.moments(MOMENTS_FILE, MOMENTS)?)
        } else {
            None
        };
        let mut queries = Vec::new();
        for group in 0..self.groups.latents.len() {
            let slices = self.slices()?;
            let gaussian = around.as_ref().and_then(|moments| moments.gaussian(group));
            let query = match gaussian {
                Some((mean, factor)) => {
                    MarginalQuery::around_gaussian(slices, sphere, mean, factor, self.settings.bins)
                }
                None => Bins::uniform(1.0, self.settings.bins)
                    .and_then(|bins| MarginalQuery::new(slices, sphere, bins, Basis::Haar)),
            };
            queries.push(query.map_err(Failure::run)?);
        }
        let cleaning = if around.is_some() {
            Cleaning::towards_expected()
        } else {
            Cleaning::default()
        };
        let measure = |(query, latents): (&MarginalQuery, &Vec<f32>)| query.measure(latents);
        let released = self.once(|groups| {
            queries
                .iter()
                .zip(groups)
                .map(measure)
                .collect::<Result<_, _>>()
                .map_err(Failure::run)
        })?;
        let mut targets = Vec::new();
        for ((query, values), size) in queries
            .iter()
            .zip(&released.groups)
            .zip(self.groups.sizes())
        {
            let target = query.clean(values, size, released.deviation, cleaning);
            targets.push(target.map_err(Failure::run)?);
        }
        self.towards(&targets)
    }

    /// DPSWflow: all projections, once.
    pub(super) fn fixed(&mut self) -> Result<Generated, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::run)?;
        let slices = self.slices()?;
        let released = self.once(|groups| {
            groups
                .iter()
                .map(|latents| project(latents, &slices, sphere))
                .collect::<Result<_, _>>()
                .map_err(Failure::run)
        })?;
        let deviation = released.deviation;
        let targets = released
            .groups
            .into_iter()
            .map(|values| NoisyProjections::from_released(values, slices.clone(), deviation))
            .collect::<Result<Vec<_>, _>>()
            .map_err(Failure::run)?;
        self.towards(&targets)
    }

    /// Makes the one release, or reads it where the run made it before it was killed.
    pub(super) fn once(
        &mut self,
        measure: impl FnOnce(&[Vec<f32>]) -> Result<Vec<SensitiveVector>, Failure>,
    ) -> Result<Released, Failure> {
        if let Some(released) = stored(&self.folder.file(FILE))? {
            return Ok(released);
        }
        let values = measure(&self.groups.latents)?;
        let declared = self.declared()?;
        let released = self.out.once(RELEASE, Values::of(&values, declared))?;
        self.store(FILE, &released)?;
        Ok(released)
    }

    /// Keeps a release, little-endian in words of 8 bytes behind their checksum: how many the ledger
    /// holds with it, the deviation, and each group behind its length.
    pub(super) fn store(&self, file: &str, released: &Released) -> Result<(), Failure> {
        let mut bytes = self.out.ledger().releases().to_le_bytes().to_vec();
        bytes.extend(released.deviation.to_le_bytes());
        for group in &released.groups {
            bytes.extend((group.len() as u64).to_le_bytes());
            bytes.extend(group.iter().flat_map(|v| v.to_le_bytes()));
        }
        let sum = hex(&bytes);
        let bytes = [sum.into_bytes(), bytes].concat();
        self.folder.write(file, &bytes).map(|_| ())
    }
}
