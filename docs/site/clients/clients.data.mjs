// The clients are those that the console shows: its text is their one source.
import fs from "node:fs";
import path from "node:path";

const text = path.resolve(import.meta.dirname, "../../../console/clients.txt");
const values = { "{BASE}": "http://127.0.0.1:8080", "{MODEL}": "sandbox-text", "{KEY}": "gwk_…" };

export const clients = () =>
  fs.readFileSync(text, "utf8").split(/^## /m).slice(1).map((piece) => {
    const [head, ...lines] = piece.trim().split("\n");
    const filled = (text) => Object.entries(values).reduce((text, [from, to]) => text.replaceAll(from, to), text);
    const [group, name] = [head.slice(0, head.indexOf(":")), filled(head.slice(head.indexOf(":") + 2))];
    const code = filled(lines.join("\n").trim());
    return { group, name, code, slug: `${group}-${name}`.toLowerCase().replace(/\(.*/, "").trim().replace(/[^a-z0-9]+/g, "-") + (name.includes("Python") ? "-python" : "") };
  });

export default { watch: [text], load: clients };
