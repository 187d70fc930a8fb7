import { html } from "ghtml";
import type { Part, Turn } from "../../prompt-log/transcript/turn.ts";
import type { Transcript } from "../../prompt-log/transcript/transcript.ts";
import { copyable } from "../keys/snippets.ts";
import { counted } from "../../counted.ts";

/** Longer texts are folded. */
const FOLDED_CHARACTERS = 1_200;
const PREVIEW_CHARACTERS = 160;
/** Of a page: a browser must be able to show it. The rest is in the file. */
const MAX_CHARACTERS = 600_000;
/** Around each part. */
const MARKUP_CHARACTERS = 100;
const MAX_TOOLS = 500;

export interface ShownTranscript {
  /** Begins the ids of its elements. */
  id: string;
  transcript: Transcript;
  /** Address of the file with all of it. */
  file: string;
}

/** A request or an answer: its turns, its tools, everything else, and all of it as JSON. */
export function transcriptParts({ id, transcript, file }: ShownTranscript): string {
  const { turns, tools, rest, whole, isJson } = transcript;
  const room = { characters: MAX_CHARACTERS };
  const shown = turns.map((each) => turnCard(each, room)).join("");
  const isAllShown = turns.length === 0;
  return html`!${shown} !${room.characters > 0 ? "" : TOO_LONG} !${tools.length === 0 ? "" : toolList(tools)}
    !${rest === "" ? "" : folded({ id: `${id}-rest`, summary: "Other fields", text: rest, isOpen: false })}
    !${folded({ id: `${id}-whole`, summary: isJson ? "Full JSON" : "As it was sent", text: whole, isOpen: isAllShown })}
    <p class="buttons"><a class="button" href="${file}" download>Download</a></p>`;
}

const TOO_LONG = html`<p class="muted">The rest is too long for this page. Download it.</p>`;

const ROLES: ReadonlyMap<string, string> = new Map([
  ["system", "System"],
  ["developer", "Developer"],
  ["instructions", "Instructions"],
  ["user", "User"],
  ["assistant", "Assistant"],
  ["tool", "Tool"],
]);

function turnCard({ role, parts }: Turn, room: { characters: number }): string {
  if (room.characters <= 0) return "";
  const texts = parts.map((part) => {
    const shown = part.text.slice(0, Math.max(0, room.characters));
    room.characters -= part.text.length + MARKUP_CHARACTERS;
    return partOf(part, shown);
  });
  return html`<div class="turn">
    <h3>${ROLES.get(role) ?? role}</h3>
    !${texts.join("")}
  </div>`;
}

const KINDS: Readonly<Record<Part["kind"], string>> = {
  text: "",
  reasoning: "Reasoning",
  tool_call: "Tool call",
  tool_result: "Tool result",
  other: "",
};

function partOf({ kind, title, text }: Part, shown: string): string {
  const head = [KINDS[kind], title ?? ""].filter((words) => words !== "").join(": ");
  const isCode = kind === "tool_call" || kind === "other";
  const body = html`<div class="${isCode ? "said code" : "said"}" tabindex="0">${shown}</div>`;
  const isLong = text.length > FOLDED_CHARACTERS;
  const isFolded = isLong || kind === "reasoning" || kind === "other";
  if (!isFolded) return html`!${head === "" ? "" : html`<p class="muted small">${head}</p>`}!${body}`;
  const preview = text.slice(0, PREVIEW_CHARACTERS).replaceAll(/\s+/g, " ");
  const summary = head === "" ? preview : head;
  return html`<details>
    <summary><span class="preview">${summary}</span> <span class="muted small nowrap">${characters(text)}</span></summary>
    !${body}
  </details>`;
}

function characters(text: string): string {
  return counted(text.length, "character");
}

function toolList(tools: Transcript["tools"]): string {
  const items = tools
    .slice(0, MAX_TOOLS)
    .map(
      ({ name, description }) =>
        html`<li>
          <code class="wrap">${name}</code
          >!${description === "" ? "" : html`<span class="sub">${description.slice(0, 200)}</span>`}
        </li>`,
    );
  return html`<details>
    <summary>${counted(tools.length, "tool")} offered</summary>
    <ul>
      !${items.join("")}
    </ul>
  </details>`;
}

function folded({ id, summary, text, isOpen }: { id: string; summary: string; text: string; isOpen: boolean }): string {
  const isCut = text.length > MAX_CHARACTERS;
  return html`<details !${isOpen ? "open" : ""}>
    <summary>${summary}</summary>
    !${copyable({ id, text: isCut ? text.slice(0, MAX_CHARACTERS) : text, label: summary })} !${isCut ? TOO_LONG : ""}
  </details>`;
}
