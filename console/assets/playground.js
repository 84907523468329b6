// The playground: sends a body to the gateway of this process, once for each model, and shows what comes: raw,
// and as text, tool calls and images. Everything that comes is text; nothing here makes HTML of it.
import { Answer } from "./answer.js";
import { chat, element } from "./chat.js";

const mostPieces = 400;
const mostShown = 4096;

export function play(form) {
  if (!form) return;
  const answers = document.getElementById("answers");
  const state = document.getElementById("playground-state");
  const stop = document.getElementById("stop");
  const send = document.getElementById("run");
  let ending = null;

  const models = () => {
    const list = [...new Set(form.elements.model.value.split(",").map((name) => name.trim()).filter(Boolean))];
    return list.length ? list : [""];
  };
  const curl = () => { document.getElementById("as-curl").textContent = command(form, models()[0]); };
  form.addEventListener("input", curl);
  curl();

  stop.addEventListener("click", () => ending?.abort());
  // submit sends the body to each model. show gets the first model's answer as it comes; submit returns that answer, or null.
  const submit = async (show) => {
    const list = models();
    if (list.length > Number(form.dataset.most)) {
      state.textContent = `${list.length} models are more than ${form.dataset.most}.`;
      return null;
    }
    ending = new AbortController();
    send.disabled = true;
    stop.disabled = false;
    state.textContent = "Sending";
    answers.replaceChildren();
    const [first] = await Promise.all(list.map((model, i) => run(form, model, answers, ending.signal, i === 0 ? show : undefined)));
    send.disabled = false;
    stop.disabled = true;
    state.textContent = ending.signal.aborted ? "Stopped" : "Done";
    return first;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  chat(form, submit);
}

// run sends one request, and fills a card of its own. It returns the answer, or null where there is none.
async function run(form, model, answers, signal, show) {
  const card = new Card(answers, model || "the body’s model", show);
  const fields = new FormData(form);
  fields.set("model", model);
  try {
    const response = await fetch(form.action, { method: "POST", body: new URLSearchParams(fields), signal, redirect: "error" });
    if (!response.ok) {
      const said = (response.headers.get("Content-Type") ?? "").startsWith("text/plain") ? await response.text() : `The console answers ${response.status}. Sign in again, or look at its log.`;
      card.fail(said);
      return null;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) card.take(JSON.parse(line));
    }
  } catch (error) {
    card.fail(signal.aborted ? "Stopped." : `The connection to the console has failed: ${error.message}`);
  }
  return card.failed ? null : card.answer;
}

// Card is what one request shows.
class Card {
  answer = new Answer();
  failed = false;
  #pieces = 0;
  #left = 0;

  constructor(answers, title, show) {
    this.show = show;
    this.root = element(answers, "section", "card answer");
    element(this.root, "h2", "", title);
    this.state = element(this.root, "p", "row");
    this.badge = element(this.state, "span", "badge", "waiting");
    this.facts = element(this.root, "dl", "facts");
    this.thinking = element(this.root, "p", "thinking");
    this.text = element(this.root, "p", "said");
    this.tools = element(this.root, "div", "tools");
    this.images = element(this.root, "div", "images");
    this.head = element(element(this.root, "details", ""), "pre", "");
    this.head.tabIndex = 0;
    element(this.head.parentElement, "summary", "", "Head of the answer");
    const raw = element(this.root, "details", "");
    raw.open = true;
    this.count = element(raw, "summary", "", "Raw events");
    this.raw = element(raw, "ol", "raw");
    this.raw.tabIndex = 0;
    this.raw.setAttribute("role", "list");
    this.raw.setAttribute("aria-label", "Raw events");
  }

  take(event) {
    switch (event.kind) {
      case "head":
        this.badge.textContent = event.text.split("\n")[0];
        this.badge.className = event.failed ? "badge failed" : "badge";
        this.failed = Boolean(event.failed);
        this.head.textContent = event.text;
        break;
      case "piece": this.#piece(event); break;
      case "cut": this.fail(event.text); break;
      case "end": this.#end(event); break;
    }
  }

  fail(text) {
    this.failed = true;
    this.badge.className = "badge failed";
    if (this.badge.textContent === "waiting") this.badge.textContent = "failed";
    element(this.root, "p", "notice bad", text).setAttribute("role", "alert");
  }

  #piece(event) {
    this.answer.take(event.text);
    this.#pieces++;
    if (this.#pieces > mostPieces) {
      this.#left++;
    } else {
      const item = element(this.raw, "li", "");
      element(item, "span", "dim", `+${event.at.toFixed(1)} ms`);
      const long = event.text.length > mostShown;
      element(item, "pre", "", long ? `${event.text.slice(0, mostShown)}… and ${event.text.length - mostShown} characters more` : event.text.trimEnd());
    }
    this.count.textContent = `Raw events: ${this.#pieces}` + (this.#left ? `, of which ${this.#left} are left out here` : "");
    this.#show();
  }

  #show() {
    this.show?.(this.answer);
    this.text.textContent = this.answer.text;
    this.thinking.textContent = this.answer.thinking;
    this.tools.replaceChildren();
    for (const { name, args } of this.answer.tools.values()) {
      const call = element(this.tools, "pre", "tool");
      call.tabIndex = 0;
      call.textContent = `${name}(${indented(args)})`;
    }
    for (const url of [...this.answer.images].slice(this.images.children.length)) {
      const image = element(this.images, "img", "");
      image.alt = "an image of the answer";
      image.src = url;
    }
  }

  #end(event) {
    this.answer.facts = (event.facts ?? []).filter(([, value]) => value && value !== "–" && value !== "0");
    for (const [name, value] of this.answer.facts) {
      const fact = element(this.facts, "div", "");
      element(fact, "dt", "", name);
      element(fact, "dd", "", value);
    }
    if (event.id) {
      const link = element(this.state, "a", "", "its row and waterfall");
      link.href = "/requests/" + encodeURIComponent(event.id);
    } else {
      element(this.state, "span", "dim", `${event.text}; no row in the ledger`);
    }
    this.root.dataset.ended = "1";
  }
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// command is the request for a shell. The key is a variable, whatever was pasted.
function command(form, model) {
  const { base, path, method, streams, headers } = form.dataset;
  const stream = form.elements.stream?.checked;
  let body = form.elements.body.value;
  if (model && !path.includes("{MODEL}")) {
    try {
      body = JSON.stringify({ ...JSON.parse(body), model }, null, 2);
    } catch { /* it is sent as it is */ }
  }
  const lines = headers.split("\n").map((line) => `-H "${line.replace("{KEY}", "$KEY")}"`);
  if (method) {
    return `grpcurl -plaintext ${lines.join(" ").replace("Authorization", "authorization")} -d ${quoted(body)} \\\n  ${base} genway.v1.Generation/${stream && streams ? streams : method}`;
  }
  const to = (stream && streams ? streams : path).replace("{MODEL}", encodeURIComponent(model));
  return `curl ${/[?&]/.test(to) ? quoted(base + to) : base + to} ${lines.join(" ")} -H 'Content-Type: application/json' \\\n  -d ${quoted(body)}`;
}

function quoted(text) { return `'${text.replaceAll("'", "'\\''")}'`; }
