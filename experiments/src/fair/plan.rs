//! What a run draws and releases.

use data::GroupedTable;
use dp_core::sampling::GroupSampler;
use lab::diagnostic::Failure;

use super::settings::{Notion, Settings};
use super::table::Tables;

/// The release of a post-processing, by its name in the plan.
pub(crate) const HISTOGRAMS: &str = "histograms";

/// The groups that batches are sampled from.
pub(crate) fn groups(settings: &Settings, table: &GroupedTable) -> Result<GroupSampler, Failure> {
    let groups = Tables::groups(table, settings.notion);
    let name = |group: usize| match settings.notion {
        Notion::Sp => format!("group {group}"),
        Notion::Eo => format!("group {} of class {}", group % 2, group / 2),
    };
    if let Some(empty) = groups.iter().position(Vec::is_empty) {
        return Err(Failure::input(
            format!("{} has no record (0, at least 1 is needed)", name(empty)),
            "choose another sensitive attribute, or --notion sp",
        ));
    }
    let share = |group: &Vec<usize>| (group.len() as f64 * settings.batch_share).round();
    let shares = groups.iter().map(|group| (share(group) as usize).max(1));
    let batches = settings.batches.clone();
    let batches = batches.unwrap_or_else(|| shares.collect());
    let refuse = |why| {
        Failure::input(
            format!("--batches: {why}"),
            "one size a group, of 1 to its records",
        )
    };
    if batches.len() != groups.len() {
        let (sizes, groups) = (batches.len(), groups.len());
        return Err(refuse(format!("{sizes} sizes for {groups} groups")));
    }
    for (group, (&batch, records)) in batches.iter().zip(&groups).enumerate() {
        if !(1..=records.len()).contains(&batch) {
            let (name, records) = (name(group), records.len());
            return Err(refuse(format!(
                "{batch} for {name}, which has {records} records"
            )));
        }
    }
    GroupSampler::new(groups, &batches).map_err(Failure::failed)
}
