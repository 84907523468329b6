// Tables whose rows are sorted by a click on a column's head: figures by their size, whatever their unit, the rest as texts.
const units = { "\u00b5s": 1e-6, ms: 1e-3, s: 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

// size returns the figure that a text begins with, in its base unit; NaN for others.
function size(text) {
  const long = /^(?:(\d+)h)?(?:(\d+)m)?(\d+)s$/.exec(text); // a minute and more
  if (long) return 3600 * (long[1] ?? 0) + 60 * (long[2] ?? 0) + Number(long[3]);
  const found = /^\$?(\u2212|-)?([\d\u202f]+(?:\.\d+)?(?:e-?\d+)?)\s*([a-zA-Z\u00b5]*)/.exec(text);
  if (!found) return NaN;
  const figure = Number(found[2].replaceAll("\u202f", "")) * (units[found[3]] ?? 1);
  return found[1] ? -figure : figure;
}

export function sortable(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    const figures = head.classList.contains("n");
    const value = (row) => {
      const text = row.cells[column]?.textContent ?? "";
      return figures ? size(text) : text;
    };
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending" || (!figures && !head.hasAttribute("aria-sort"));
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const sign = down ? 1 : -1;
      const body = table.tBodies[0];
      const rows = [...body.rows].filter((row) => row.cells.length === heads.length);
      rows.sort((a, b) => {
        const [x, y] = [value(a), value(b)];
        if (!figures) return sign * x.localeCompare(y);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // what is not known is last
        return sign * (x - y);
      });
      body.append(...rows);
    });
  });
}
