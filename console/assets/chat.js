// A chat over the body of the playground: what is typed, what the model answers and what its tools return are appended to the body in
// the editor, as its protocol spells them. The body stays the truth: it can be edited at any turn.
const largest = 500 << 10; // of a picture, in bytes: the form takes 1 MiB

// spellings are how protocols spell a conversation: the member that has it, and the turns that are appended for what a user says (with
// a picture: {type, data} or null), for an answer, and for the results of its tool calls.
const spellings = {
  chat_completions: {
    member: "messages", system: (turn) => ["system", "developer"].includes(turn.role),
    user: (text, picture) => [{ role: "user", content: picture ? [{ type: "text", text }, { type: "image_url", image_url: { url: url(picture) } }] : text }],
    answer: (text, calls) => [{ role: "assistant", content: text || null, ...(calls.length && { tool_calls: calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } })) }) }],
    results: (calls) => calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: result })),
  },
  responses: {
    member: "input", system: (turn) => ["system", "developer"].includes(turn.role),
    user: (text, picture) => [{ role: "user", content: picture ? [{ type: "input_text", text }, { type: "input_image", image_url: url(picture) }] : text }],
    answer: (text, calls) => [...(text ? [{ role: "assistant", content: text }] : []), ...calls.map(({ id, name, args }) => ({ type: "function_call", call_id: id, name, arguments: args }))],
    results: (calls) => calls.map(({ id, result }) => ({ type: "function_call_output", call_id: id, output: result })),
  },
  messages: {
    member: "messages", system: () => false,
    user: (text, picture) => [{ role: "user", content: picture ? [{ type: "image", source: { type: "base64", media_type: picture.type, data: picture.data } }, { type: "text", text }] : text }],
    answer: (text, calls) => [{ role: "assistant", content: [...(text ? [{ type: "text", text }] : []), ...calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: parsed(args) }))] }],
    results: (calls) => [{ role: "user", content: calls.map(({ id, result }) => ({ type: "tool_result", tool_use_id: id, content: result })) }],
  },
  generate_content: {
    member: "contents", system: () => false,
    user: (text, picture) => [{ role: "user", parts: [{ text }, ...(picture ? [{ inlineData: { mimeType: picture.type, data: picture.data } }] : [])] }],
    answer: (text, calls) => [{ role: "model", parts: [...(text ? [{ text }] : []), ...calls.map(({ name, args, signature }) => ({ functionCall: { name, args: parsed(args) }, ...(signature && { thoughtSignature: signature }) }))] }],
    results: (calls) => [{ role: "user", parts: calls.map(({ name, result }) => ({ functionResponse: { name, response: { result } } })) }],
  },
  grpc: {
    member: "messages", system: (turn) => turn.role === "ROLE_SYSTEM",
    user: (text, picture) => [{ role: "ROLE_USER", parts: [{ text: { text } }, ...(picture ? [{ image: { mimeType: picture.type, data: picture.data } }] : [])] }],
    answer: (text, calls) => [{ role: "ROLE_ASSISTANT", parts: [...(text ? [{ text: { text } }] : []), ...calls.map(({ id, name, args }) => ({ toolCall: { id, name, argumentsJson: args || "{}" } }))] }],
    results: (calls) => [{ role: "ROLE_TOOL", parts: calls.map(({ id, name, result }) => ({ toolResult: { toolCallId: id, name, parts: [{ text: { text: result } }] } })) }],
  },
};

// chat makes the chat of the form. send sends the body in the editor, calls show with each state of the answer of the first model, and
// returns that answer with its facts, or null where it failed.
export function chat(form, send) {
  const box = document.getElementById("chat");
  if (!form || !box) return;
  const editor = form.elements.body;
  const [turns, say, picture, state] = ["turns", "say", "picture", "chat-state"].map((id) => document.getElementById(id));
  const spelling = spellings[form.elements.protocol.value];
  const again = new URLSearchParams(location.search).has("replay");
  let begun = again; // the conversation of an example is replaced by the first message

  // write changes the body by a function; false where the body cannot be read.
  const write = (change) => {
    try {
      const body = JSON.parse(editor.value);
      change(body);
      editor.value = JSON.stringify(body, null, 2);
    } catch (error) {
      state.textContent = `The body cannot be changed: ${error.message}`;
      return false;
    }
    form.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  };
  const append = (list) => write((body) => {
    const { member } = spelling;
    if (typeof body[member] === "string") body[member] = spelling.user(body[member], null);
    const before = body[member] ?? [];
    body[member] = [...(begun || editor.value !== editor.defaultValue ? before : before.filter(spelling.system)), ...list];
  });

  // turn sends the body as it is, and shows the answer as it comes.
  const turn = async () => {
    begun = true;
    state.textContent = "";
    const bubble = element(turns, "li", "turn model");
    const said = element(bubble, "p", "said");
    const images = element(bubble, "div", "images");
    box.querySelectorAll("button").forEach((button) => { button.disabled = true; });
    const answer = await send((now) => {
      said.textContent = now.text;
      for (const source of [...now.images].slice(images.children.length)) Object.assign(element(images, "img", ""), { alt: "an image of the answer", src: source });
      bubble.scrollIntoView({ block: "nearest" });
    });
    box.querySelectorAll("button").forEach((button) => { button.disabled = false; });
    if (!answer) {
      said.textContent ||= "There is no answer; the raw exchange says why.";
      return;
    }
    const facts = new Map(answer.facts);
    element(bubble, "p", "hint", ["Model", "Took", "First event", "Tokens in", "Tokens out", "Cost"].filter((name) => facts.has(name)).map((name) => `${name} ${facts.get(name)}`).join(" · "));
    const calls = [...answer.tools.values()].map((call) => ({ ...call, id: call.id || call.name }));
    if (!spelling || !append(spelling.answer(answer.text, calls)) || !calls.length) {
      say.focus();
      return;
    }
    const results = element(bubble, "div", "fields");
    for (const call of calls) {
      const label = element(results, "label", "", `${call.name}(${call.args}) returns `);
      call.field = element(label, "input", "");
    }
    const give = element(bubble, "button", "", "Send results");
    give.type = "button";
    give.addEventListener("click", () => {
      results.querySelectorAll("input").forEach((field) => { field.readOnly = true; });
      give.remove();
      if (append(spelling.results(calls.map((call) => ({ ...call, result: call.field.value }))))) turn();
    });
    results.querySelector("input").focus();
  };

  document.getElementById("say-send").addEventListener("click", async () => {
    const text = say.value.trim();
    const file = picture?.files[0];
    if (!text && !file) return;
    if (file && file.size > largest) {
      state.textContent = `The picture has ${file.size} bytes; at most ${largest} can be sent from here.`;
      return;
    }
    const sent = file ? await read(file) : null;
    if (!(spelling ? append(spelling.user(text, sent)) : write((body) => { body.prompt = text; }))) return;
    const bubble = element(turns, "li", "turn");
    element(bubble, "p", "said", text);
    if (sent) Object.assign(element(element(bubble, "div", "images"), "img", ""), { alt: "the picture that was sent", src: url(sent) });
    say.value = "";
    if (picture) picture.value = "";
    turn();
  });
  say.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    document.getElementById("say-send").click();
  });
  document.getElementById("chat-new").addEventListener("click", () => {
    editor.value = editor.defaultValue;
    begun = again;
    turns.replaceChildren();
    form.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// read returns a file as {type, data}.
function read(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ type: file.type, data: reader.result.slice(reader.result.indexOf(",") + 1) });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function url({ type, data }) { return `data:${type};base64,${data}`; }

function parsed(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return {};
  }
}

export function element(parent, name, classes, text) {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}
