import GithubSlugger from "github-slugger";
import { toString } from "mdast-util-to-string";
import { visit } from "unist-util-visit";
import { parseMarkdown } from "./markdown-tree.ts";

interface MarkdownLink {
  /** As written: `../docs/api.md#errors`. */
  readonly target: string;
  /** What readers see; empty for images and HTML. */
  readonly label: string;
  readonly line: number;
}

/** The links of a page, and the anchors that other pages can link to. */
export interface MarkdownPage {
  readonly links: readonly MarkdownLink[];
  /** Anchors as GitHub derives them from headings, plus explicit `id` and `name` attributes. */
  readonly anchors: ReadonlySet<string>;
}

export function readMarkdown(text: string): MarkdownPage {
  const tree = parseMarkdown(text);
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  const links: MarkdownLink[] = [];
  visit(tree, (node) => {
    const line = node.position?.start.line ?? 0;
    if (node.type === "heading") anchors.add(slugger.slug(toString(node)));
    else if (node.type === "link") links.push({ target: node.url, label: toString(node), line });
    else if (node.type === "image" || node.type === "definition") links.push({ target: node.url, label: "", line });
    else if (node.type === "html") {
      for (const anchor of attributes(node.value, /\b(?:id|name)="([^"]+)"/g)) anchors.add(anchor);
      for (const target of attributes(node.value, /\b(?:href|src|srcset)="([^"]+)"/g)) links.push({ target, label: "", line });
    }
  });
  return { links, anchors };
}

function attributes(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].flatMap(([, value]) => (value === undefined ? [] : [value]));
}
