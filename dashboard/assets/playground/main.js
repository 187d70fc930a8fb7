// The playground: a message goes to one model, or to two side by side.
import { codeFor } from "./code.js";
import { createImages } from "./images.js";
import { createPane } from "./pane.js";
import { readSettings, watchTools } from "./settings.js";

const part = (id) => document.getElementById(id);
const form = part("playground");
const prompt = part("prompt");
const mayUse = prompt.dataset.allowed === "yes";

function showProblem(text) {
  part("problem").textContent = text;
  part("problem").hidden = text === "";
}

const images = createImages({ list: part("attachments"), input: part("images"), button: part("attach"), onProblem: showProblem });
const panes = ["first", "second"].map((id) =>
  createPane({
    root: part(id),
    form,
    settings: readSettings,
    chosenInterface: () => part("interface").value,
    onChange: refresh,
  }),
);
const shown = () => (part("compare").checked ? panes : panes.slice(0, 1));

function refresh() {
  const isRunning = panes.some((pane) => pane.isRunning);
  part("stop").hidden = !isRunning;
  part("send").disabled = !mayUse || isRunning;
  part("attach").disabled = !mayUse || isRunning;
  part("compare").disabled = isRunning;
  part("new-chat").disabled = isRunning || panes.every((pane) => pane.isEmpty);
  part("view-code").disabled = false;
}

function send() {
  const text = prompt.value.trim();
  if (!mayUse || panes.some((pane) => pane.isRunning)) return;
  if (text === "" && images.count === 0) return prompt.focus();
  try {
    readSettings();
  } catch (error) {
    part("settings").open = true;
    return showProblem(`Tools: ${error.message}`);
  }
  if (shown().some((pane) => pane.isWaitingForResults))
    return showProblem("The model has called a tool. Enter what it returned and send the results first.");
  showProblem("");
  const message = { text, images: images.take() };
  prompt.value = "";
  for (const pane of shown()) pane.send(message);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
prompt.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
prompt.addEventListener("paste", ({ clipboardData }) => {
  const pasted = [...clipboardData.files].filter(({ type }) => type.startsWith("image/"));
  if (pasted.length > 0) void images.add(pasted);
});
part("stop").addEventListener("click", () => {
  for (const pane of panes) pane.stop();
});
part("new-chat").addEventListener("click", () => {
  for (const pane of panes) pane.clear();
  showProblem("");
  refresh();
  prompt.focus();
});
/** Both models start at the same point: a conversation that the second one has not seen cannot be compared. */
part("compare").addEventListener("change", () => {
  const [, second] = panes;
  second.setVisible(part("compare").checked);
  form.classList.toggle("comparing", part("compare").checked);
  second.clear();
});

function showCode(language) {
  for (const button of document.querySelectorAll("[data-language]"))
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  const { baseUrl } = form.dataset;
  try {
    part("code-text").textContent = codeFor(language, { baseUrl, ...panes[0].request(prompt.value.trim()) });
  } catch (error) {
    part("code-text").textContent = `Tools: ${error.message}`;
  }
}
for (const button of document.querySelectorAll("[data-language]"))
  button.addEventListener("click", () => showCode(button.dataset.language));
part("view-code").addEventListener("click", () => {
  showCode(document.querySelector("[data-language][aria-pressed=true]").dataset.language);
  part("code").showModal();
});
part("close-code").addEventListener("click", () => part("code").close());

watchTools();
// Only wide screens have room for the settings next to the conversation.
part("settings").open = matchMedia("(min-width: 80rem)").matches;
// Earlier clicks would submit the form itself and lose the message.
refresh();
