// What an answer says, of any protocol: its text, its thinking, its tool calls and its images, as its pieces come.
// Everything is text; nothing here makes HTML.
const mostImages = 8;
const magic = [["iVBORw0KGgo", "png"], ["/9j/", "jpeg"], ["R0lGOD", "gif"], ["UklGR", "webp"]];

export class Answer {
  text = "";
  thinking = "";
  tools = new Map();
  images = new Set();

  // take reads one piece: a frame of server-sent events, or JSON.
  take(piece) {
    const data = piece.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n");
    let value;
    try {
      value = JSON.parse(data || piece);
    } catch {
      return; // [DONE], a comment, or what is no JSON
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null || typeof one !== "object") continue;
      this.#chat(one);
      this.#responses(one);
      this.#messages(one);
      this.#generateContent(one);
      this.#contract(one);
      this.#pictures(one);
    }
  }

  #say(text) { if (typeof text === "string") this.text += text; }
  #think(text) { if (typeof text === "string") this.thinking += text; }
  #tool(at, name, args, id, signature) {
    const tool = this.tools.get(String(at)) ?? { name: "", args: "", id: "", signature: "" };
    if (typeof id === "string") tool.id ||= id;
    if (typeof signature === "string") tool.signature = signature;
    if (typeof name === "string") tool.name += name;
    if (typeof args === "string") tool.args += args;
    else if (args && typeof args === "object") tool.args += JSON.stringify(args);
    this.tools.set(String(at), tool);
  }

  #chat(value) {
    for (const choice of list(value.choices)) {
      const said = choice.delta ?? choice.message ?? {};
      this.#say(said.content);
      this.#think(said.reasoning_content ?? said.reasoning);
      list(said.tool_calls).forEach((call, i) => this.#tool(`${choice.index}.${call.index ?? i}`, call.function?.name, call.function?.arguments, call.id));
    }
  }

  #responses(value) {
    switch (value.type) {
      case "response.output_text.delta": this.#say(value.delta); break;
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta": this.#think(value.delta); break;
      case "response.function_call_arguments.delta": this.#tool(value.output_index, "", value.delta); break;
      case "response.output_item.added": if (value.item?.type === "function_call") this.#tool(value.output_index, value.item.name, "", value.item.call_id); break;
    }
    if (value.object !== "response") return;
    list(value.output).forEach((item, i) => {
      list(item.content).forEach((part) => this.#say(part.text));
      list(item.summary).forEach((part) => this.#think(part.text));
      if (item.type === "function_call") this.#tool(i, item.name, item.arguments, item.call_id);
    });
  }

  #messages(value) {
    const block = value.content_block;
    if (value.type === "content_block_start" && block?.type === "tool_use") this.#tool(value.index, block.name, "", block.id);
    if (value.type === "content_block_delta") {
      this.#say(value.delta?.text);
      this.#think(value.delta?.thinking);
      if (value.delta?.partial_json) this.#tool(value.index, "", value.delta.partial_json);
    }
    if (value.type !== "message") return;
    list(value.content).forEach((part, i) => {
      this.#say(part.text);
      this.#think(part.thinking);
      if (part.type === "tool_use") this.#tool(i, part.name, part.input, part.id);
    });
  }

  #generateContent(value) {
    for (const candidate of list(value.candidates)) {
      for (const part of list(candidate.content?.parts)) {
        if (part.thought) this.#think(part.text); else this.#say(part.text);
        if (part.functionCall) this.#tool(this.tools.size, part.functionCall.name, part.functionCall.args, part.functionCall.id, part.thoughtSignature);
      }
    }
  }

  #contract(value) {
    const at = (of) => `${of.candidate ?? 0}.${of.index ?? 0}`;
    const part = (is, where) => {
      this.#say(is.text?.text);
      this.#think(is.thinking?.text);
      if (is.toolCall) this.#tool(where, is.toolCall.name, is.toolCall.argumentsJson, is.toolCall.id);
    };
    if (value.partStarted?.part) part(value.partStarted.part, at(value.partStarted));
    const delta = value.partDelta;
    if (delta) {
      this.#say(delta.text);
      this.#think(delta.thinking);
      if (delta.argumentsJson) this.#tool(at(delta), "", delta.argumentsJson);
    }
    for (const candidate of list(value.candidates)) {
      list(candidate.parts).forEach((one, i) => part(one, `${candidate.index ?? 0}.${i}`));
    }
  }

  // #pictures finds images by how their bytes begin, wherever they are.
  #pictures(value) {
    if (typeof value === "string") {
      const url = /^data:image\/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/=]+)$/.exec(value);
      const known = value.length > 64 ? magic.find(([begin]) => value.startsWith(begin)) : undefined;
      if (this.images.size >= mostImages) return;
      if (url) this.images.add(value);
      else if (known && /^[A-Za-z0-9+/=]+$/.test(value)) this.images.add(`data:image/${known[1]};base64,${value}`);
    } else if (value && typeof value === "object") {
      Object.values(value).forEach((one) => this.#pictures(one));
    }
  }
}

function list(value) { return Array.isArray(value) ? value.filter((one) => one && typeof one === "object") : []; }
