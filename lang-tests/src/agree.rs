//! What the reference executor finds, and what the compiler says of the same mistake before it runs.
//!
//! Each class names a program of `defects`, which the executor refuses, and whether the compiler can tell: of that very program, of the same
//! mistake where it is in plain sight, or never. The page `docs/executor.md` shows the table.

use crate::annotation::annotations;
use crate::compile::compile;
use crate::data::{Case, cases, compare_blessed, root};
use crate::defect::is_twin;
use cdp_core::diag::Code;
use std::fmt::Write as _;

/// Whether the compiler says something, too.
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// This, of the same program.
    Same(&'static str),
    /// This, where the mistake is in plain sight: in a case of `check-fail`. The program of `defects` hides it behind values of the run.
    InSight(&'static str, &'static str),
    /// Nothing, for a reason.
    Never(&'static str),
}

/// A kind of mistake.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    /// In a few words.
    pub what: &'static str,
    /// A program of `defects`, whose annotations name the code.
    pub defect: &'static str,
    /// What the compiler says.
    pub told: Told,
}

const fn class(what: &'static str, defect: &'static str, told: Told) -> Class {
    Class { what, defect, told }
}

use Told::{InSight, Never, Same};

/// Every kind of mistake that the executor finds.
pub const CLASSES: &[Class] = &[
    class("parent reads what its child writes", "parent_and_child/read_result_of_child", Same("W0503")),
    class("parent writes what its child uses", "parent_and_child/write_after_launch", Same("W0504")),
    class("launch before other threads have reached a barrier", "barriers/fill_then_launch", Same("W0502")),
    class(
        "threads of a block without a barrier",
        "barriers/shared_staging",
        Never("which threads touch the same bytes is known when it runs"),
    ),
    class(
        "children in different streams",
        "siblings/two_streams",
        Never("which bytes two children touch is known when they run"),
    ),
    class(
        "event on the wrong stream, or recorded too early",
        "siblings/event_on_the_wrong_stream",
        Never("an event may mean to order something else"),
    ),
    class("atomic and plain access", "parent_and_child/atomic_and_plain", Same("W0503")),
    class(
        "access outside of memory",
        "pointers/out_of_bounds_in_a_child",
        Never("how large a buffer is, is known when it is made"),
    ),
    class("index outside of an array", "others/index_of_an_array", InSight("E0510", "lints/index_outside_of_an_array")),
    class("null pointer", "pointers/null_from_malloc", Never("whether the heap has room is known when it runs")),
    class("misaligned access", "pointers/misaligned", Never("an address is known when it runs")),
    class("write to constant memory", "others/write_to_constant", InSight("E0502", "memory/constant_is_not_written")),
    class(
        "memory used after it was given back, or while it may be",
        "pointers/used_after_free",
        Never("when a child runs is known when it runs"),
    ),
    class("memory given back twice", "pointers/freed_twice", Never("which grid gives back is known when it runs")),
    class(
        "memory of the host given back by a kernel",
        "pointers/freed_of_the_host",
        Never("where a pointer points is known when it runs"),
    ),
    class("private memory passed to a child", "pointers/shared_through_a_generic_pointer", Same("W0501")),
    class("private memory of another thread", "pointers/local_in_memory", Never("a number in memory is not followed")),
    class("pointer to another space than it says", "others/wrong_space", InSight("E0209", "types/conversions")),
    class("memory that was never written", "pointers/uninitialised", Never("which bytes a thread reads is known when it runs")),
    class("array or structure filled in part", "uninitialised/array_filled_in_part", InSight("E0215", "types/unassigned")),
    class(
        "variable that a call leaves without a value",
        "uninitialised/out_parameter",
        Never("whether a function writes through a pointer is known when it runs"),
    ),
    class(
        "copy of a structure of which a field was never written",
        "uninitialised/copied_structure",
        Never("which bytes a structure is copied from is known when it runs"),
    ),
    class("launch or call that failed, and nobody looked", "others/launch_error_that_nobody_sees", Same("W0401")),
    class(
        "launch pool that is too small",
        "others/pool_too_small",
        Never("how many launches are pending is known when it runs"),
    ),
    class("barrier that not every thread reaches", "others/barrier_not_reached_by_all", Same("W0407")),
    class("barriers in two branches", "others/barriers_of_two_branches", Same("W0407")),
    class(
        "warp operation whose mask names an absent lane",
        "others/warp_operation_without_a_lane",
        Never("which lanes come is known when they run"),
    ),
    class(
        "stream or event of another grid",
        "handles/stream_of_another_grid",
        InSight("E0511", "lints/handle_in_global_memory"),
    ),
    class("stream or event of the host", "handles/stream_of_the_host", Never("a handle in memory is not followed")),
    class("stream or event that was destroyed", "handles/stream_destroyed", Same("W0405")),
    class(
        "stream destroyed while another thread uses it",
        "handles/destroyed_while_another_thread_launches",
        Never("the order of two threads is known when they run"),
    ),
    class("handle that nobody made", "handles/garbage", Never("a number in memory is not followed")),
    class(
        "copy between areas that overlap",
        "others/copy_onto_itself",
        Never("where two pointers point is known when it runs"),
    ),
    class("waiting for a child, or for a tail of one's own", "others/waiting_for_a_child", Same("W0408")),
    class(
        "another block's shared memory before it starts",
        "clusters/before_the_block_starts",
        Never("which block's memory is meant is known when it runs"),
    ),
    class(
        "another block's shared memory after its end",
        "clusters/after_the_block_ended",
        Never("which block's memory is meant is known when it runs"),
    ),
    class(
        "blocks of a cluster without its barrier",
        "clusters/shared_memory_without_a_barrier",
        Never("which threads touch the same bytes is known when it runs"),
    ),
    class("a block that the cluster has not", "clusters/rank_beyond_the_cluster", Never("a rank is known when it runs")),
    class("barrier of a cluster that a block does not reach", "clusters/barrier_of_half_a_cluster", Same("W0407")),
    class(
        "half of a cluster's barrier out of turn",
        "clusters/arriving_twice",
        Never("how often a thread comes there is known when it runs"),
    ),
    class("signed overflow", "others/signed_overflow", InSight("W0203", "lints/signed_overflow")),
    class("division by zero", "others/division_by_zero", InSight("W0201", "lints/division_by_zero")),
    class("shift by the width or more", "others/shift_by_the_width", InSight("W0202", "lints/shift_too_far")),
    class("shuffle of a width that does not exist", "others/shuffle_width", InSight("E0242", "types/shuffle_widths")),
    class(
        "copy by `memcpy` of bytes without a value",
        "uninitialised/copied_bytes",
        Never("which bytes have a value is known when it runs"),
    ),
    class("`__trap`", "others/trap", Never("whether control comes there is known when it runs")),
    class("promise to the optimiser that does not hold", "others/assumption", Never("what holds is known when it runs")),
    class(
        "what was promised not to be reached",
        "others/unreachable",
        Never("whether control comes there is known when it runs"),
    ),
    class("`memcpy` onto itself", "others/copy_in_a_thread", Never("where two pointers point is known when it runs")),
    class("failed assertion", "others/assertion_in_a_child", Never("the condition is the program's own")),
    class(
        "calls that nest too deeply",
        "others/endless_recursion",
        Never("how often a function calls itself is known when it runs"),
    ),
    class(
        "texture that is destroyed",
        "handles/texture_destroyed",
        Never("which object a number stands for is known when it runs"),
    ),
    class(
        "texture read in a way that it does not have",
        "handles/texture_of_linear_memory_by_place",
        Never("what an object is made of is known when it runs"),
    ),
    class(
        "texture or surface beyond its end",
        "handles/texture_beyond_the_end",
        Never("what an object is made of is known when it runs"),
    ),
    class(
        "texture read of what its own grid wrote",
        "handles/texture_of_own_writes",
        Never("which memory is behind an object is known when it runs"),
    ),
];

/// Codes of the executor that no mistake of a program causes: limits, interruptions, what it has not, output.
const OTHERS: [&str; 4] = ["E0730", "E0735", "E0736", "E0742"];

/// The code that a class's program is annotated with.
fn run_code(class: &Class, defects: &[Case]) -> Result<(Code, Case), String> {
    let case = defects.iter().find(|case| case.name == class.defect);
    let case = case.ok_or_else(|| format!("there is no `defects/{}`", class.defect))?;
    let firm: String =
        case.text.lines().filter(|line| !line.contains("//~?")).fold(String::new(), |text, line| text + line + "\n");
    let code = annotations(&firm)?.first().map(|(_, code)| *code);
    Ok((code.ok_or_else(|| format!("`defects/{}` has no code", class.defect))?, case.clone()))
}

/// Every class is held down by its program, and by what the compiler says; every code of the executor and every kind of defect has its class.
///
/// # Errors
/// What is missing.
pub fn check() -> Result<(), String> {
    let defects = cases("defects")?;
    let refused = cases("check-fail")?;
    let mut seen = Vec::new();
    let mut disagreements = Vec::new();
    for class in CLASSES {
        let (code, case) = run_code(class, &defects)?;
        seen.push(code);
        let said = || -> Result<Vec<&'static str>, String> {
            let text = crate::annotation::without_annotations(&case.text);
            let outcome = compile(case.folder(), &case.file_name(), &text)?;
            Ok(outcome.diagnostics.iter().map(|diagnostic| diagnostic.code.id()).collect())
        };
        let wrong = match class.told {
            Same(id) => !said()?.contains(&id),
            InSight(id, name) => {
                let case = refused.iter().find(|case| case.name == name);
                let case = case.ok_or_else(|| format!("there is no `check-fail/{name}`"))?;
                !annotations(&case.text)?.iter().any(|(_, code)| code.id() == id) || said()?.contains(&id)
            }
            Never(reason) => reason.is_empty() || !said()?.is_empty(),
        };
        if wrong {
            disagreements.push(format!(
                "\"{}\": {:?}, but of `defects/{}` the compiler says {:?}",
                class.what,
                class.told,
                class.defect,
                said()?
            ));
        }
    }
    if !disagreements.is_empty() {
        return Err(disagreements.join("\n"));
    }
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| ("E0720".."E0760").contains(&code.id()) && !seen.contains(code))
        .map(|code| code.id())
        .filter(|id| !OTHERS.contains(id))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no class shows {}", missing.join(", "))) }
}

/// The page about the executor has this table, and counts what there is.
///
/// # Errors
/// When the page says something else; blessing writes it anew.
pub fn page() -> Result<(), String> {
    let defects = cases("defects")?;
    let mut table = "| mistake | code | the report says | the compiler says before |\n|---|---|---|---|\n".to_owned();
    for class in CLASSES {
        let (code, case) = run_code(class, &defects)?;
        let rendering = std::fs::read_to_string(case.path.with_extension("stderr"));
        let rendering = rendering.map_err(|error| format!("{}: {error}", case.path.display()))?;
        let message = rendering.lines().find_map(|line| line.strip_prefix(&format!("error[{}]: ", code.id())));
        let message = message.filter(|message| !message.is_empty());
        let message = message.ok_or_else(|| format!("`defects/{}` has no report of {}", class.defect, code.id()))?;
        let told = match class.told {
            Same(id) => format!("{}, of the same program", link(id)),
            InSight(id, _) => format!("{}, where it is in plain sight", link(id)),
            Never(reason) => format!("nothing: {reason}"),
        };
        let _ = writeln!(table, "| {} | {} | {message} | {told} |", class.what, link(code.id()));
    }
    let programs = defects.iter().filter(|case| !is_twin(case)).count();
    let path = root().join("../docs/executor.md");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let text = between(&text, "executor-classes", &table)?;
    let count = format!("{programs} programs, in {} orders each\n", crate::execute::SCHEDULES.len());
    compare_blessed(&path, &between(&text, "executor-defects", &count)?)
}

/// A code that leads to its entry in the error index.
fn link(code: &str) -> String {
    format!("[{code}](error-index.md#{code})")
}

/// The text with something else between `<!-- NAME: … -->` and `<!-- end -->`.
fn between(text: &str, name: &str, new: &str) -> Result<String, String> {
    let start = text.find(&format!("<!-- {name}:")).ok_or_else(|| format!("`{name}` has no place in the page"))?;
    let (before, rest) = text.split_at(start);
    let (mark, rest) = rest.split_once('\n').ok_or("the page ends in a mark")?;
    let end = rest.find("<!-- end -->").ok_or_else(|| format!("`{name}` does not end"))?;
    let (_, after) = rest.split_at(end);
    Ok(format!("{before}{mark}\n\n{new}\n{after}"))
}
