//! What people who do this job ran into with other tools, as kinds of faults, and which tests hold each kind down.
//!
//! A test is named by its file, from the workspace's root, or by its file and the function in it: `path::function`.

use crate::data::root;

/// A kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// `C1` to `C14`.
    pub name: &'static str,
    /// The fault.
    pub what: &'static str,
    /// The tests.
    pub tests: &'static [&'static str],
}

const fn report(name: &'static str, what: &'static str, tests: &'static [&'static str]) -> Report {
    Report { name, what, tests }
}

/// All of them.
pub const REPORTS: &[Report] = &[
    report(
        "C1",
        "fields shifted in the child",
        &[
            "lang-tests/run/params_struct_of_eight_floats.cdp",
            "lang-tests/run/params_mixed_orders.cdp",
            "lang-tests/run/params_over_aligned.cdp",
            "ptx-golden/cases/launch_struct_argument.cdp",
            "ptx-golden/cases/launch_padded_arguments.cdp",
            "compiler/backend/tests/it/launches.rs::arguments_lie_at_the_childs_offsets",
            "compiler/cdpc/tests/layout/main.rs",
        ],
    ),
    report(
        "C2",
        "shared or local address handed to a child",
        &[
            "lang-tests/check-fail/memory/shared_array_element_to_child.cdp",
            "lang-tests/check-fail/memory/local_variable_to_child.cdp",
            "lang-tests/check-fail/memory/shared_through_variable.cdp",
            "lang-tests/check-fail/memory/shared_through_field.cdp",
            "lang-tests/check-fail/memory/shared_through_selection.cdp",
            "lang-tests/check-fail/memory/shared_through_helper.cdp",
            "lang-tests/check-fail/memory/shared_through_var.cdp",
            "lang-tests/check-fail/memory/local_through_helper.cdp",
            "lang-tests/check-fail/memory/local_through_struct.cdp",
            "lang-tests/check-fail/memory/private_through_selection_of_var.cdp",
            "lang-tests/check-fail/lints/perhaps_private_pointer.cdp",
            "lang-tests/check-fail/lints/perhaps_private_pointer_from_helper.cdp",
            "lang-tests/check-pass/lints/private_pointers_that_stay.cdp",
            "lang-tests/defects/pointers/shared_through_a_generic_pointer.cdp",
        ],
    ),
    report(
        "C3",
        "device-side join",
        &[
            "lang-tests/check-fail/launch/device_join.cdp",
            "lang-tests/check-fail/launch/device_join_of_streams_and_events.cdp",
            "lang-tests/check-fail/lints/spin_on_child.cdp",
            "lang-tests/run/tail_consume.cdp",
        ],
    ),
    report(
        "C4",
        "cudadevrt missing",
        &[
            "compiler/cdpc/tests/it/cli.rs::a_missing_toolkit_matters_only_where_something_is_launched",
            "runtime-shim/tests/link.rs::a_missing_device_runtime_is_named_before_anything_is_assembled_and_matters_to_nobody_else",
            "compiler/backend/tests/it/launches.rs::dead_launches_need_no_device_runtime",
            "ptx-golden/cases/launch_dead.cdp",
        ],
    ),
    report(
        "C5",
        "PTX loaded without linking",
        &[
            "runtime-shim/tests/link.rs::unresolved_symbols_are_named",
            "runtime-shim/tests/link.rs::the_device_runtime_is_linked_only_when_asked",
            "ptx-golden/cases/launch_null_stream.cdp",
        ],
    ),
    report(
        "C6",
        "call convention",
        &[
            "lang-tests/run/calls_conventions.cdp",
            "ptx-golden/cases/function_call.cdp",
            "ptx-golden/cases/function_recursive.cdp",
            "ptx-golden/cases/option_opt_level_0.cdp",
            "runtime-shim/tests/link.rs::every_level_links",
        ],
    ),
    report(
        "C7",
        "kernel called, function launched",
        &[
            "lang-tests/check-fail/launch/kernel_called.cdp",
            "lang-tests/check-fail/launch/function_launched.cdp",
            "lang-tests/check-fail/launch/kernel_as_value.cdp",
            "lang-tests/check-fail/launch/undeclared_kernel.cdp",
            "lang-tests/check-fail/launch/wrong_number_of_arguments.cdp",
            "lang-tests/check-fail/launch/wrong_type_of_argument.cdp",
        ],
    ),
    report(
        "C8",
        "narrow parameters",
        &["lang-tests/run/params_narrow.cdp", "ptx-golden/cases/param_bool.cdp", "ptx-golden/cases/bool_in_memory.cdp"],
    ),
    report(
        "C9",
        "printf of mixed widths",
        &[
            "lang-tests/run/printf_mixed_widths.cdp",
            "lang-tests/check-fail/types/printf.cdp",
            "ptx-golden/cases/printf_strings.cdp",
        ],
    ),
    report(
        "C10",
        "driver too old, symbol missing, no GPU",
        &[
            "compiler/cdpc/tests/it/run.rs::a_gpu_that_is_not_there_exits_with_2",
            "runtime-shim/src/gpu/explain.rs::every_number_has_words",
            "compiler/cdpc/tests/it/cli.rs::each_kind_is_written",
        ],
    ),
    report(
        "C11",
        "PTX version and target",
        &[
            "compiler/cdpc/tests/it/cli.rs::an_unknown_architecture_lists_the_known_ones",
            "compiler/cdpc/tests/it/cli.rs::every_architecture_gets_ptx",
            "runtime-shim/tests/link.rs::every_architecture_links_from_its_lowest_ptx_version_and_from_none_lower",
            "runtime-shim/tests/link.rs::a_ptx_version_the_toolkit_does_not_know",
            "runtime-shim/src/arch.rs::cuda_counts",
        ],
    ),
    report(
        "C12",
        "the assembler's own words",
        &[
            "runtime-shim/tests/link.rs::refused_ptx_shows_the_line_and_keeps_the_text",
            "runtime-shim/src/link/log.rs::a_complaint_keeps_its_line_and_its_surroundings",
        ],
    ),
    report(
        "C13",
        "silent loss",
        &[
            "lang-tests/run/errors_pool_waiting.cdp",
            "lang-tests/run/errors_pool_full.cdp",
            "lang-tests/run/errors_pool_larger.cdp",
            "lang-tests/defects/others/pool_too_small.cdp",
            "lang-tests/defects/others/launch_error_that_nobody_sees.cdp",
            "lang-tests/check-fail/lints/unseen_launch_error.cdp",
            "lang-tests/check-fail/lints/unseen_launch_error_in_helper.cdp",
        ],
    ),
    report(
        "C14",
        "device memset",
        &[
            "lang-tests/run/runtime_fill_and_copy.cdp",
            "lang-tests/run/runtime_fill_shapes.cdp",
            "ptx-golden/cases/runtime_memset_value.cdp",
        ],
    ),
];

/// Every test of the table is there.
///
/// # Errors
/// The tests that are not, a line each.
pub fn tests_are_there() -> Result<(), String> {
    let workspace = root().join("..");
    let mut missing = Vec::new();
    for report in REPORTS {
        for test in report.tests {
            let (file, function) = test.split_once("::").map_or((*test, None), |(file, function)| (file, Some(function)));
            let text = std::fs::read_to_string(workspace.join(file)).unwrap_or_default();
            let is_there = !text.is_empty() && function.is_none_or(|function| text.contains(&format!("fn {function}()")));
            if !is_there {
                missing.push(format!("{} ({}): {test}", report.name, report.what));
            }
        }
    }
    let complete = (1..=14).all(|number| REPORTS.iter().any(|report| report.name == format!("C{number}")));
    if missing.is_empty() && complete { Ok(()) } else { Err(format!("not there:\n{}", missing.join("\n"))) }
}
