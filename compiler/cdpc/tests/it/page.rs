//! `cdpc inspect --html`, in a browser without a window: what it shows, and that lines belong together.
//!
//! Needs Chromium, which `make test` installs where it is missing; CDPC_BROWSER names another one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::Command;

use crate::common::Place;

const SOURCE: &str = "\
struct Row { begin: i32, flag: bool, len: i64 }

kernel child(x: *global f32, row: Row, by: f32) {
    x[row.begin] *= by; // </script> is text here
}

kernel parent(x: *global f32) {
    let row = Row(1, true, 2);
    child<<<1, 32, 0, cudaStreamFireAndForget>>>(x, row, 2.0);
}
";

/// What a reader does with the page; the answers are left in an element that ends the document.
const READER: &str = r##"<script>
{
const said = [];
const rows = (name) => [...document.querySelectorAll(`[data-column="${name}"] .row`)];
const names = [...document.querySelectorAll("section")].map((s) => s.dataset.column);
said.push("columns " + names.join(", "));
said.push("source " + rows("source").length);
const line9 = rows("source")[8];
said.push("marked " + line9.classList.contains("launches"));
line9.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
said.push("hover " + names.map((n) => document.querySelectorAll(`[data-column="${n}"] .on`).length > 0).join(" "));
said.push("others " + rows("PTX").some((r) => r.classList.contains("on") && r.dataset.line !== "9"));
const ptx4 = rows("PTX").find((r) => r.dataset.line === "4");
ptx4.click();
said.push("click " + names.map((n) => document.querySelectorAll(`[data-column="${n}"] .pin`).length > 0).join(" "));
said.push("text " + rows("source")[3].textContent.includes("<\/script> is text here"));
const site = document.querySelector("figure");
said.push("site " + site.querySelector("figcaption").textContent);
const boxes = [...site.querySelectorAll("rect.param")];
said.push("boxes " + boxes.map((b) => b.dataset.offset + "+" + b.dataset.size).join(" "));
const width = (b) => Number(b.getAttribute("width"));
said.push("scale " + (Math.abs(width(boxes[1]) / width(boxes[0]) - 2) < 1e-9) + " " + (Math.abs(width(boxes[2]) / width(boxes[0]) - 0.5) < 1e-9));
site.click();
said.push("figure " + site.classList.contains("on") + " " + line9.classList.contains("pin") + " " + location.hash);
document.body.append(Object.assign(document.createElement("pre"), { id: "said", textContent: said.join("\n") }));
}
</script>"##;

fn browser() -> Command {
    let named = std::env::var("CDPC_BROWSER").ok();
    let known = ["chromium", "chromium-browser", "google-chrome"].map(str::to_owned);
    let found = named.into_iter().chain(known).find(|name| Command::new(name).arg("--version").output().is_ok());
    let found = found.expect("there is no browser: `make test` installs Chromium; CDPC_BROWSER names another one");
    let mut command = Command::new(found);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--window-size=1600,900",
    ]);
    command
}

fn read_in_browser(page: &Path) -> String {
    let output = browser().arg("--dump-dom").arg(format!("file://{}", page.display())).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = dom.split_once("<pre id=\"said\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    said.map(|(said, _)| said.replace("&gt;", ">"))
        .unwrap_or_else(|| panic!("the page's script did not come to its end:\n{dom}"))
}

#[test]
fn pages_work_in_a_browser() {
    let place = Place::new();
    place.write("a.cdp", SOURCE);
    // merged launches bring code of their own
    place.run_with_toolkit("inspect a.cdp --launch-merging=off --html a.html").succeeds();
    let text = std::fs::read_to_string(place.path("a.html")).unwrap();
    for word in [" src=", " href=", "url(http", "@import", "fetch("] {
        assert!(!text.contains(word), "the page needs something from elsewhere: {word}");
    }
    place.write("tried.html", text.replace("</html>", &format!("{READER}</html>")));
    let said = read_in_browser(&place.path("tried.html"));
    let expected = "\
columns source, IR, PTX, machine code
source 10
marked true
hover true true true true
others false
click true true true true
text true
site parent → child line 9 · cudaGetParameterBufferV2, cudaLaunchDeviceV2 · 28 bytes of parameters
boxes 0+8 8+16 24+4
scale true true
figure true true #9";
    assert_eq!(said, expected);
}

#[test]
fn pages_without_machine_code_need_no_toolkit() {
    let place = Place::new();
    place.write("a.cdp", SOURCE);
    let ran = place.run("inspect a.cdp --no-sass --html -");
    ran.succeeds().prints(&["\"name\":\"PTX\""]);
    assert!(!ran.out.contains("machine code"), "{}", ran.out);
}
