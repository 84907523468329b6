// The editor of the configuration: says what is wrong while somebody types.
const pause = 400; // milliseconds without a key

export function configure(form) {
  if (!form) return;
  const list = document.getElementById("typed-mistakes");
  let timer = 0;
  let asked = 0;
  const check = async () => {
    const number = ++asked;
    try {
      const answer = await fetch("/configuration/check", { method: "POST", body: new URLSearchParams({ yaml: form.elements.yaml.value }) });
      if (!answer.ok || number !== asked) return;
      const { mistakes, warnings } = await answer.json();
      const texts = [...mistakes.map((m) => (m.line ? `line ${m.line}: ` : "") + m.message), ...warnings];
      list.replaceChildren(...(texts.length ? texts : ["nothing is wrong"]).map((text) => {
        const item = document.createElement("li");
        item.textContent = text;
        return item;
      }));
    } catch {
      list.replaceChildren();
    }
  };
  form.elements.yaml.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, pause);
  });
}
