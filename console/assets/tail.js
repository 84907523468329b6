// The live tail: requests as they end, at the top of the table of requests. It keeps a bounded number of
// rows, and says how many it left out.
import { localize } from "./times.js";

const most = 200;

export function follow(bar, table) {
  if (!bar || !table) return;
  const button = document.getElementById("tail-pause");
  const state = document.getElementById("tail-state");
  const body = table.tBodies[0];
  let source = null;
  let seen = 0;
  let dropped = 0;

  const tell = (word) => {
    state.textContent = `${word}: ${seen} seen` + (dropped ? `, ${dropped} left out since they came too fast` : "");
  };

  const heads = [...table.tHead.rows[0].cells];

  const row = (request) => {
    const tr = document.createElement("tr");
    request.cells.forEach((text, i) => {
      const cell = document.createElement(i === 0 ? "th" : "td");
      if (i === 0) {
        cell.scope = "row";
        const a = document.createElement("a");
        a.href = "/requests/" + encodeURIComponent(request.id);
        const time = document.createElement("time");
        time.textContent = text;
        a.append(time);
        cell.append(a);
      } else if (i === 1) {
        const badge = document.createElement("span");
        badge.className = "badge " + request.outcome;
        badge.textContent = text;
        cell.append(badge);
      } else {
        cell.textContent = text || "–";
        cell.className = heads[i].className;
        cell.title = text;
      }
      cell.dataset.label = heads[i].textContent;
      tr.append(cell);
    });
    return tr;
  };

  const begin = () => {
    seen = 0;
    dropped = 0;
    source = new EventSource(bar.dataset.live);
    source.onopen = () => tell("Live");
    source.onerror = () => tell(source.readyState === EventSource.CLOSED ? "The connection has ended; sign in again" : "Connecting again");
    source.onmessage = (event) => {
      const { rows, dropped: more } = JSON.parse(event.data);
      body.querySelector(".nothing")?.remove();
      seen += rows.length;
      dropped += more + Math.max(0, rows.length - most);
      const added = rows.slice(-most).reverse().map(row);
      added.forEach(localize);
      body.prepend(...added);
      while (body.rows.length > most) body.lastElementChild.remove();
      tell("Live");
    };
  };

  const end = () => {
    source.close();
    source = null;
    tell("Paused");
  };

  button.addEventListener("click", () => {
    if (source) end(); else begin();
    button.textContent = source ? "Pause" : "Follow live";
  });
}
