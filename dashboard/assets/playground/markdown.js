// Markdown from a model as elements. The library only parses it: elements are created here from texts, never from HTML, so that
// no model output becomes markup.
import { lexer } from "../marked.js";

const LINK = /^(?:https?:|mailto:)/i;
/** Deeper than any readable text nests lists and quotations. */
const MAX_DEPTH = 24;

export function renderMarkdown(text) {
  const fragment = document.createDocumentFragment();
  fragment.append(...read(text));
  return fragment;
}

function read(text) {
  try {
    return blocks(lexer(text, { gfm: true }), 0);
  } catch {
    // Thousands of nested quotations: the library gives up, and the text is shown as it is.
    return [element("p", [text], { class: "letter" })];
  }
}

const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00A0" };

/** Texts keep the entities that a model wrote; an HTML renderer would pass them on. */
function decode(text) {
  return text.replaceAll(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);
}

function element(name, children = [], attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function blocks(tokens, depth) {
  return depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.flatMap((token) => block(token, depth + 1));
}

function block(token, depth) {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading":
      // The page uses the first three levels.
      return [element(`h${Math.min(token.depth + 3, 6)}`, inlines(token.tokens, depth))];
    case "paragraph":
      return [element("p", inlines(token.tokens, depth))];
    case "text":
      return token.tokens === undefined ? [decode(token.text)] : inlines(token.tokens, depth);
    case "code":
      return [codeBlock(token)];
    case "blockquote":
      return [element("blockquote", blocks(token.tokens, depth))];
    case "list":
      return [list(token, depth)];
    case "table":
      return [table(token, depth)];
    case "hr":
      return [element("hr")];
    default:
      // HTML too: it is shown as text.
      return [element("p", [token.raw])];
  }
}

function codeBlock({ lang = "", text }) {
  const language = lang.split(/\s/)[0];
  const pre = element("pre", [element("code", [text])], { tabindex: "0" });
  return element("div", [...(language === "" ? [] : [element("p", [language], { class: "muted small" })]), pre], {
    class: "code-block",
  });
}

function list({ ordered, start, items }, depth) {
  const children = items.map(({ task, checked, tokens }) =>
    element("li", [
      ...(task ? [checked ? "☑ " : "☐ "] : []),
      ...blocks(
        tokens.filter(({ type }) => type !== "checkbox"),
        depth,
      ),
    ]),
  );
  return element(ordered ? "ol" : "ul", children, ordered && start !== 1 ? { start: String(start) } : {});
}

function table({ header, rows }, depth) {
  const row = (name, cells) =>
    element(
      "tr",
      cells.map(({ tokens }) => element(name, inlines(tokens, depth))),
    );
  const body = element(
    "tbody",
    rows.map((cells) => row("td", cells)),
  );
  const made = element("table", [element("thead", [row("th", header)]), body]);
  return element("div", [made], { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" });
}

function inlines(tokens, depth) {
  return depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.flatMap((token) => inline(token, depth + 1));
}

function inline(token, depth) {
  switch (token.type) {
    case "strong":
      return [element("strong", inlines(token.tokens, depth))];
    case "em":
      return [element("em", inlines(token.tokens, depth))];
    case "del":
      return [element("del", inlines(token.tokens, depth))];
    case "codespan":
      return [element("code", [token.text])];
    case "br":
      return [element("br")];
    case "link":
      return [link(token, depth)];
    case "image":
      // Nothing is loaded from an address in model output: the address alone could leak the conversation.
      return [link({ href: token.href, tokens: [{ type: "text", text: token.text || token.href }] }, depth)];
    case "text":
    case "escape":
      return token.tokens === undefined ? [decode(token.text)] : inlines(token.tokens, depth);
    default:
      return [token.raw];
  }
}

function link({ href, tokens }, depth) {
  const children = inlines(tokens, depth);
  if (!LINK.test(href)) return element("span", children);
  return element("a", children, { href, target: "_blank", rel: "noopener noreferrer nofollow", title: href });
}
