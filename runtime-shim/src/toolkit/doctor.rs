//! The report of `cdpc doctor`: every component, the driver and the GPUs, with what each is needed for.

use std::path::PathBuf;

use super::{Component, Origin, Search, Toolkit, version};
use crate::gpu::{self, Driver};
use crate::link::Linker;

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There and usable.
    Good,
    /// There, but something about it deserves a look.
    Doubtful,
    /// Missing, and only some commands need it.
    MissingOptional,
    /// Missing or unusable, and needed.
    Missing,
}

/// One line of the report.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What it is: a component, "CUDA driver", "GPU 0".
    pub subject: String,
    /// How it stands.
    pub state: State,
    /// Where it is.
    pub path: Option<PathBuf>,
    /// Its version.
    pub version: Option<String>,
    /// Which place it was found at, for example `CUDA_HOME`.
    pub found_by: Option<String>,
    /// What it is for, or what is wrong with it.
    pub detail: String,
    /// Where it was searched, when it is missing.
    pub looked_at: Vec<PathBuf>,
}

/// Searches everything and reports in a fixed order: components, driver, GPUs.
#[must_use]
pub fn report(search: &Search) -> Vec<Finding> {
    let toolkit = Toolkit::find_with(search);
    let mut findings: Vec<Finding> = Component::ALL.into_iter().map(|component| of_component(&toolkit, component)).collect();
    findings.extend(of_variables(&toolkit));
    findings.extend(of_gpu());
    findings
}

fn of_component(toolkit: &Toolkit, component: Component) -> Finding {
    let missing = if component.is_required() { State::Missing } else { State::MissingOptional };
    let mut finding = Finding {
        subject: component.name().to_owned(),
        state: missing,
        path: None,
        version: None,
        found_by: None,
        detail: component.purpose().to_owned(),
        looked_at: Vec::new(),
    };
    let Some(found) = toolkit.get(component) else {
        finding.looked_at = toolkit.looked_at(component);
        return finding;
    };
    finding.state = State::Good;
    finding.path = Some(found.path.clone());
    finding.found_by = Some(found.place.origin.to_string());
    if component == Component::NvJitLink {
        match Linker::open(&found.path) {
            Ok(linker) => finding.version = Some(linker.version().to_string()),
            Err(error) => {
                finding.state = State::Missing;
                finding.detail = format!("{}; {}", error.message(), error.notes().join("; "));
            }
        }
    } else {
        finding.version = version::of(found);
    }
    finding
}

/// A variable that names no toolkit is worth a line of its own, even when all was found elsewhere.
fn of_variables(toolkit: &Toolkit) -> Vec<Finding> {
    let named = toolkit.places().iter().filter(|place| matches!(place.origin, Origin::Argument | Origin::Variable(_)));
    named
        .filter(|place| Component::ALL.into_iter().all(|component| place.find(component).is_none()))
        .map(|place| Finding {
            subject: place.origin.to_string(),
            state: State::Doubtful,
            path: Some(place.root.clone()),
            version: None,
            found_by: None,
            detail: "holds no part of a CUDA toolkit; programs that launch from the device will not link until it is corrected or unset".to_owned(),
            looked_at: Vec::new(),
        })
        .collect()
}

fn of_gpu() -> Vec<Finding> {
    let nothing = |subject: &str, state, detail: String| Finding {
        subject: subject.to_owned(),
        state,
        path: None,
        version: None,
        found_by: None,
        detail,
        looked_at: Vec::new(),
    };
    let driver = match Driver::open() {
        Ok(driver) => driver,
        Err(error) => {
            let detail = [vec![error.message()], error.notes()].concat().join("; ");
            return vec![nothing("CUDA driver", State::MissingOptional, format!("{detail}; only running needs it"))];
        }
    };
    let mut findings = vec![Finding {
        path: gpu::driver::library_path(),
        version: Some(driver.version().to_string()),
        ..nothing("CUDA driver", State::Good, "the newest CUDA version it knows".to_owned())
    }];
    match driver.devices() {
        Ok(devices) if devices.is_empty() => {
            findings.push(nothing("GPU", State::MissingOptional, "the driver sees none; only running needs one".to_owned()));
        }
        Ok(devices) => findings.extend(devices.iter().map(|device| Finding {
            version: Some(device.arch().to_string()),
            ..nothing(
                &format!("GPU {}", device.ordinal),
                State::Good,
                format!("{}, {} multiprocessors, {} MiB", device.name, device.multiprocessors, device.memory >> 20),
            )
        })),
        Err(error) => findings.push(nothing("GPU", State::MissingOptional, error.message())),
    }
    findings
}
