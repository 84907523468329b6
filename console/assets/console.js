// The pages' script. They work without it, but for the live tail and the playground; nothing here makes HTML of a text.
import { follow } from "./tail.js";
import { play } from "./playground.js";
import { configure } from "./configure.js";
import { tools } from "./tools.js";
import { sortable } from "./sort.js";
import { zones } from "./times.js";

// A sign-in link carries its secret behind #, which is sent to no server; it leaves the address bar at once.
const signIn = document.getElementById("sign-in");
function useLink() {
  if (!signIn || location.hash.length < 2) return;
  signIn.elements.key.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  signIn.requestSubmit();
}
addEventListener("hashchange", useLink);
useLink();

// Buttons that copy the text of another element.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const from = document.getElementById(button.dataset.copy);
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(from.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(from);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = said; }, 1500);
  });
}

// Cells say of which column they are, which narrow screens show in place of the head.
for (const table of document.querySelectorAll(".scroll > table:not(.lines)")) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent);
  if (!heads.length) continue;
  table.classList.add("stacked");
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, i) => { if (cell.colSpan === 1) cell.dataset.label = heads[i]; });
  }
}

for (const table of document.querySelectorAll("#requests, .many")) sortable(table);

zones(document.getElementById("zone"));

// Keys: / goes to the search, g and a letter to a page.
let waiting = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (waiting) {
    waiting = false;
    const to = document.querySelector(`header a[data-key="${CSS.escape(event.key)}"]`);
    if (to) { event.preventDefault(); to.click(); }
    return;
  }
  if (event.key === "g") { waiting = true; setTimeout(() => { waiting = false; }, 1500); }
  if (event.key === "/") {
    const search = document.querySelector("[data-search]");
    if (search) { event.preventDefault(); search.focus(); }
  }
});

follow(document.getElementById("tail"), document.getElementById("requests"));
play(document.getElementById("playground"));
tools(document.getElementById("playground"));
configure(document.getElementById("configure"));

// Where the navigation is wider than the screen, the page that is open is in sight.
document.querySelector("header nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
