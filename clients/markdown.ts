import type { Guide, Part } from "./guide.ts";

/** A guide as a page of Markdown. */
export function guideMarkdown({ title, lead, sections }: Guide): string {
  const parts = sections.flatMap(({ heading, parts }) => [`## ${heading}`, ...parts.map(partMarkdown)]);
  return `${[`# ${title}`, lead, ...parts].join("\n\n")}\n`;
}

export function partMarkdown(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "list":
      return part.items.map((item) => `- ${item}`).join("\n");
    case "code":
      return ["```" + part.language, part.text, "```"].join("\n");
  }
}
