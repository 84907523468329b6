// A tool by form: adds a function with parameters to the body in the editor, as its protocol spells one. The body stays text that
// anybody can edit further.
const types = { messages: "input_schema", chat_completions: "parameters", responses: "parameters", generate_content: "parameters", grpc: "parametersJson" };

export function tools(form) {
  const box = document.getElementById("tool-form");
  if (!form || !box) return;
  const field = (name) => box.querySelector(`[data-tool="${name}"]`);
  const state = document.getElementById("tool-state");
  document.getElementById("tool-add").addEventListener("click", () => {
    const name = field("name").value.trim();
    if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)) {
      state.textContent = "Name the tool: up to 64 letters, digits, _ and -, beginning with a letter or _.";
      field("name").focus();
      return;
    }
    let body;
    try {
      body = JSON.parse(form.elements.body.value);
    } catch (error) {
      state.textContent = `The body is no JSON: ${error.message}`;
      return;
    }
    if (body === null || typeof body !== "object" || Array.isArray(body)) {
      state.textContent = "The body is no JSON object.";
      return;
    }
    const given = schema(field("parameters").value);
    if (given.wrong) {
      state.textContent = given.wrong;
      field("parameters").focus();
      return;
    }
    const known = Array.isArray(body.tools) ? body.tools : [];
    body.tools = [...known, spelled(form.elements.protocol.value, name, field("description").value.trim(), given)];
    form.elements.body.value = JSON.stringify(body, null, 2);
    form.dispatchEvent(new Event("input", { bubbles: true }));
    state.textContent = `${name} is in the body; ${body.tools.length} in all.`;
  });
}

// schema reads parameters: "city: string, days?: integer", where ? says that one is optional.
function schema(text) {
  const properties = Object.create(null);
  const required = [];
  for (const part of text.split(",").map((piece) => piece.trim()).filter(Boolean)) {
    const found = /^([A-Za-z_][A-Za-z0-9_-]*)(\?)?\s*(?::\s*(string|integer|number|boolean|object|array))?$/.exec(part);
    if (!found) return { wrong: `“${part}” is no parameter; write name: type, with string, integer, number, boolean, object or array.` };
    properties[found[1]] = { type: found[3] ?? "string" };
    if (!found[2]) required.push(found[1]);
  }
  return { type: "object", properties, required };
}

// shouted is a schema with the protocol's names of types.
function shouted(given) {
  const properties = Object.fromEntries(Object.entries(given.properties).map(([name, { type }]) => [name, { type: type.toUpperCase() }]));
  return { ...given, type: "OBJECT", properties };
}

// spelled is a tool as a protocol has it.
function spelled(protocol, name, description, given) {
  const parameters = types[protocol];
  const own = { name, ...(description && { description }), [parameters]: protocol === "grpc" ? JSON.stringify(given) : given };
  switch (protocol) {
    case "chat_completions": return { type: "function", function: own };
    case "responses": return { type: "function", ...own };
    case "generate_content": return { functionDeclarations: [{ ...own, parameters: shouted(given) }] };
    case "grpc": return { function: own };
  }
  return own;
}
