import { getNodeValue, parseTree, printParseErrorCode, type Node, type ParseError } from "jsonc-parser";
import type { Operation } from "../../../operations.ts";
import { Refused } from "../refused.ts";
import { withoutKey } from "./key.ts";
import type { Editor } from "./editor.ts";
import { insertMember, pretty, removeMember, splice } from "./json-text.ts";

interface Dialect {
  /** Comments and trailing commas. */
  allowsComments: boolean;
}

type Path = readonly string[];

export function createJsonEditor(dialect: Dialect): Editor {
  return {
    apply(text, operations, key) {
      let edited = text.trim() === "" ? `${text}{}\n` : text;
      for (const { kind, path, value } of operations) {
        const root = parse(edited, dialect);
        if (kind !== "set" && find(root, path) !== undefined) continue;
        edited = set(edited, { root, path, value: JSON.parse(value.replaceAll("@key@", key)) });
      }
      parse(edited, dialect);
      return edited;
    },
    revert(text, operations, before = "") {
      const old = before.trim() === "" ? undefined : parse(before, dialect);
      let edited = text;
      for (const operation of [...operations].reverse()) {
        const root = parse(edited, dialect);
        const node = find(root, operation.path);
        if (node === undefined || !isOurs(node, operation)) continue;
        const oldNode = old === undefined ? undefined : find(old, operation.path);
        edited =
          oldNode === undefined
            ? removeUp(edited, operation.path, { dialect, old })
            : splice(edited, node, before.slice(oldNode.offset, oldNode.offset + oldNode.length));
      }
      parse(edited, dialect);
      return edited;
    },
  };
}

function parse(text: string, { allowsComments }: Dialect): Node {
  const start = text.search(/\S/);
  if (!/^(?:\{|\/[/*])/.test(text.slice(start))) throw new Refused("It is not a JSON object: it does not begin with {.");
  const errors: ParseError[] = [];
  const root = parsed(() => parseTree(text, errors, { disallowComments: !allowsComments, allowTrailingComma: allowsComments }));
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw new Refused(`It is not valid JSON: ${sentenceOf(error)} (line ${line}).`);
  }
  if (root?.type !== "object") throw new Refused("It is not a JSON object: it does not begin with {.");
  return root;
}

/** The parser recurses. */
function parsed(parse: () => Node | undefined): Node | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) throw new Refused("It is not valid JSON: it is nested too deeply.");
    throw error;
  }
}

const SENTENCES: Readonly<Record<string, string>> = {
  InvalidSymbol: "a value is not JSON",
  InvalidNumberFormat: "a number is not JSON",
  PropertyNameExpected: "a name in quotes is missing",
  ValueExpected: "a value is missing",
  ColonExpected: "a colon is missing",
  CommaExpected: "a comma is missing",
  CloseBraceExpected: "} is missing",
  CloseBracketExpected: "] is missing",
  EndOfFileExpected: "there is something after its end",
  InvalidCommentToken: "it has a comment, which the tool does not accept",
  UnexpectedEndOfComment: "a comment has no end",
  UnexpectedEndOfString: "a string has no end",
};

function sentenceOf({ error }: ParseError): string {
  const name = printParseErrorCode(error);
  return SENTENCES[name] ?? name;
}

function find(root: Node, path: Path): Node | undefined {
  let node: Node | undefined = root;
  for (const name of path) node = node === undefined ? undefined : childOf(node, name);
  return node;
}

function childOf(node: Node, name: string): Node | undefined {
  const item = itemOf(name);
  if (item === undefined) return propertyOf(node, name)?.children?.[1];
  if (node.type !== "array") return undefined;
  return node.children?.findLast((each) => propertyOf(each, item.field)?.children?.[1]?.value === item.value);
}

/** If a name occurs twice, tools use the last. */
function propertyOf(node: Node, name: string): Node | undefined {
  return node.type === "object" ? node.children?.findLast(({ children }) => children?.[0]?.value === name) : undefined;
}

/** `[id=x]` names an item of a list by its id or name. */
function itemOf(name: string): { field: string; value: string } | undefined {
  const [, field, value] = /^\[(id|name)=(.*)\]$/.exec(name) ?? [];
  return field === undefined || value === undefined ? undefined : { field, value };
}

function set(text: string, { root, path, value }: { root: Node; path: Path; value: unknown }): string {
  const node = find(root, path);
  if (node !== undefined) {
    if (JSON.stringify(getNodeValue(node)) === JSON.stringify(value)) return text;
    return splice(text, node, pretty(text, value, node.offset));
  }
  const name = path.at(-1) ?? "";
  const item = itemOf(name);
  const parentPath = path.slice(0, -1);
  const parent = find(root, parentPath);
  if (parent === undefined) return set(text, { root, path: parentPath, value: item === undefined ? { [name]: value } : [value] });
  const needed = item === undefined ? "object" : "array";
  if (parent.type !== needed) {
    const shape = needed === "object" ? "an object" : "a list";
    throw new Refused(`"${parentPath.at(-1) ?? ""}" is not ${shape}, as this tool's settings need it to be.`);
  }
  return insertMember(text, { parent, name: item === undefined ? name : undefined, value });
}

function isOurs(node: Node, { kind, value }: Operation): boolean {
  const found: unknown = getNodeValue(node);
  const written: unknown = JSON.parse(value);
  return kind === "touch" || withoutKey(JSON.stringify(found)) === withoutKey(JSON.stringify(written));
}

/** Removes a value, and objects that were created for it once they are empty. */
function removeUp(text: string, path: Path, { dialect, old }: { dialect: Dialect; old: Node | undefined }): string {
  let edited = text;
  for (let depth = path.length; depth > 0; depth--) {
    const root = parse(edited, dialect);
    const node = find(root, path.slice(0, depth));
    const isParent = depth < path.length;
    if (node === undefined) return edited;
    if (isParent && ((node.children?.length ?? 0) > 0 || (old !== undefined && find(old, path.slice(0, depth)) !== undefined)))
      return edited;
    edited = removeMember(edited, node.parent?.type === "property" ? node.parent : node);
  }
  return edited;
}
