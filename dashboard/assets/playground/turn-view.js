// How a turn of the conversation looks. Output of a model or input of a person is always shown as text.
import { costOf, showUsd } from "./cost.js";
import { renderMarkdown } from "./markdown.js";

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.append(...children);
  return made;
}

export function userTurn({ text, images }) {
  const pictures = images.map(({ url, name }) => {
    const picture = document.createElement("img");
    picture.src = url;
    picture.alt = name;
    return picture;
  });
  const attached = pictures.length === 0 ? [] : [element("div", "attachments", ...pictures)];
  return element("article", "turn user", element("h3", "hidden", "You"), ...attached, element("p", "letter", text));
}

export function toolTurn({ results }) {
  const rows = results.map(({ name, content }) => element("p", "letter", element("code", "", name), ` returned: ${content}`));
  return element("article", "turn tool", element("h3", "hidden", "Tool results"), ...rows);
}

/** Markdown is parsed again as it grows, but not for each word: a long answer would keep the page busy. */
const RENDER_MS = 80;

/** @param onResults called with the tools' results. */
export function assistantView({ model, prices, onResults, onRetry }) {
  const thinkingText = element("p", "letter muted small");
  const thinking = element("details", "thinking", element("summary", "small", "Thinking"), thinkingText);
  const text = element("div", "markdown");
  const calls = element("div", "");
  const problem = element("p", "problem");
  const facts = element("p", "muted small facts-line");
  thinking.hidden = true;
  problem.hidden = true;
  const waiting = element("p", "muted small waiting", "Waiting for the first token…");
  const root = element(
    "article",
    "turn assistant",
    element("h3", "small", model),
    thinking,
    waiting,
    text,
    calls,
    problem,
    facts,
  );
  let timer = null;

  function render(turn) {
    timer = null;
    waiting.hidden = turn.isOver || turn.text !== "" || turn.thinking !== "";
    thinking.hidden = turn.thinking === "";
    thinkingText.textContent = turn.thinking;
    text.replaceChildren(renderMarkdown(turn.text));
  }

  return {
    root,
    update(turn) {
      timer ??= setTimeout(() => render(turn), RENDER_MS);
    },
    finish(turn) {
      clearTimeout(timer);
      render(turn);
      if (turn.calls.length > 0) calls.replaceChildren(callForm(turn.calls, onResults));
      if (turn.problem !== null) {
        problem.hidden = false;
        problem.textContent = turn.problem;
        if (turn.isFailed) problem.append(" ", retryButton(onRetry));
      }
      facts.replaceChildren(...factsOf(turn, prices));
    },
  };
}

function retryButton(onRetry) {
  const button = element("button", "", "Try again");
  button.type = "button";
  button.addEventListener("click", onRetry);
  return button;
}

/** The calls of a turn, with inputs for their results. */
function callForm(calls, onResults) {
  const fields = calls.map(({ id, name, parameters }) => {
    const area = element("textarea", "code");
    area.rows = 2;
    const label = element("label", "", `Result of ${name}`);
    label.htmlFor = `result-${id}`;
    area.id = label.htmlFor;
    const shown = element("pre", "", parameters === "" ? "{}" : parameters);
    shown.tabIndex = 0;
    const call = element("div", "call", element("p", "small", "Called ", element("code", "", name)), shown);
    call.append(element("div", "field", label, area));
    return { id, name, area, call };
  });
  const send = element("button", "primary", "Send results");
  send.type = "button";
  const root = element("div", "calls", ...fields.map(({ call }) => call), send);
  send.addEventListener("click", () => {
    const results = fields.map(({ id, name, area }) => ({ id, name, content: area.value }));
    if (!onResults(results)) return;
    send.remove();
    for (const { area } of fields) area.closest(".field").remove();
  });
  return root;
}

/** A shorter stream does not show a model's speed. */
const PACE_MS = 250;

function factsOf(turn, prices) {
  const parts = [];
  if (turn.usage !== null) {
    const { input, cached, written, output } = turn.usage;
    const classes = [cached > 0 ? `${cached} cached` : "", written > 0 ? `${written} written to cache` : ""].filter(Boolean);
    parts.push(
      `${input + cached + written} tokens in${classes.length === 0 ? "" : ` (${classes.join(", ")})`}`,
      `${output} out`,
      showUsd(costOf(turn.usage, prices)),
    );
  }
  if (turn.firstMs !== null) parts.push(`first token ${(turn.firstMs / 1000).toFixed(2)} s`);
  if (turn.wholeMs !== null) parts.push(`total ${(turn.wholeMs / 1000).toFixed(2)} s`);
  // A complete answer has no streaming speed.
  const streamedMs = turn.wholeMs - turn.firstMs;
  if (turn.usage !== null && turn.firstMs !== null && streamedMs > PACE_MS)
    parts.push(`${Math.round((turn.usage.output / streamedMs) * 1000)} tokens/s`);
  if (["length", "max_tokens", "max_output_tokens"].includes(turn.stopReason)) parts.push("stopped at max tokens");
  const line = parts.map((each, index) => element("span", "", index < parts.length - 1 ? `${each} · ` : each));
  if (turn.requestId === null) return line;
  const link = element("a", "", "View in logs");
  link.href = `/dashboard/usage/requests/${encodeURIComponent(turn.requestId)}`;
  return [...line, " ", link];
}
