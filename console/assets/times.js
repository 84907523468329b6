// Times are written in UTC. The reader sees them in the time of the browser, or in UTC by choice, which the browser keeps.
const kept = "times";
const inUTC = () => localStorage.getItem(kept) === "utc";
const two = (n) => String(n).padStart(2, "0");

// localize rewrites the times of a part of the page. A time keeps the fraction of its second.
export function localize(part) {
  for (const time of part.querySelectorAll("time")) {
    time.dataset.utc ??= time.textContent;
    const at = new Date(time.dataset.utc.replace(" ", "T") + "Z");
    if (inUTC() || Number.isNaN(at.valueOf())) {
      time.textContent = time.dataset.utc;
      continue;
    }
    const fraction = /\.\d+$/.exec(time.dataset.utc)?.[0] ?? "";
    time.textContent = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}${fraction}`;
  }
}

// zones shows all times, and a button that changes between both zones. Days and hours of charts and reports stay UTC's.
export function zones(place) {
  if (!place) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain";
  const show = () => {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    button.textContent = inUTC() ? "Times: UTC" : `Times: ${zone}`;
    button.title = inUTC() ? `Show times of ${zone}` : "Show times of UTC";
    localize(document);
  };
  button.addEventListener("click", () => {
    localStorage.setItem(kept, inUTC() ? "local" : "utc");
    show();
  });
  place.replaceChildren(button);
  show();
}
