import { copyFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Operation } from "../../operations.ts";
import type { Format } from "./edit/editor.ts";
import { editorOf } from "./edit/editors.ts";
import { decodeAs, encodingOf } from "./encoding.ts";
import { makeFolders, modeOf, protect, replaceFile, sumOf } from "./files.ts";

/** A changed file, with a copy of its original. */
export interface Entry {
  number: number;
  format: Format;
  /** undefined if there was no file. */
  mode: number | undefined;
  /** Hash of the file as it was written. */
  sum: string;
  file: string;
}

/** The installer's changes, in order. */
export interface Changes {
  entries: Entry[];
  /** Folders that it created. */
  folders: string[];
}

const FORMATS: readonly Format[] = ["json", "jsonc", "toml", "yaml", "env", "profile"];

/** Lines of fields between tabs: `file NUMBER FORMAT MODE SUM PATH` and `folder - - - - PATH`; MODE is - if there was no file. */
export type ChangeRecord = ReturnType<typeof createRecord>;

export function createRecord(state: string) {
  const manifest = path.join(state, "manifest");
  const copyOf = ({ number }: Pick<Entry, "number">): string => path.join(state, `${number}.before`);
  const operationsFile = ({ number }: Pick<Entry, "number">): string => path.join(state, `${number}.ops`);

  function read(): Changes {
    const record: Changes = { entries: [], folders: [] };
    for (const line of existsSync(manifest) ? readFileSync(manifest, "utf8").split("\n") : []) {
      const [what, number, formatName, mode, sum = "", ...rest] = line.split("\t");
      const file = rest.join("\t");
      const format = FORMATS.find((each) => each === formatName);
      if (what === "folder" && file !== "") record.folders.push(file);
      if (what !== "file" || format === undefined || file === "") continue;
      record.entries.push({
        number: Number(number),
        format,
        mode: mode === "-" ? undefined : Number.parseInt(mode ?? "600", 8),
        sum,
        file,
      });
    }
    return record;
  }

  function write({ entries, folders }: Changes): void {
    makeFolders(state);
    const lines = [
      ...folders.map((folder) => ["folder", "-", "-", "-", "-", folder]),
      ...entries.map(({ number, format, mode, sum, file }) => ["file", number, format, mode?.toString(8) ?? "-", sum, file]),
    ];
    replaceFile(manifest, lines.map((fields) => `${fields.join("\t")}\n`).join(""), 0o600);
  }

  function operationsOf(entry: Entry): Operation[] {
    const isJson = entry.format === "json" || entry.format === "jsonc";
    const lines = readFileSync(operationsFile(entry), "utf8")
      .split("\n")
      .filter((line) => line !== "");
    return lines.map((line) => {
      const [kind, name = "", value = ""] = line.split("\t");
      return {
        kind: kind === "default" || kind === "touch" ? kind : "set",
        path: name.split("/").map((each) => each.replaceAll("~1", "/")),
        value: isJson ? value : value.replaceAll(String.raw`\n`, "\n"),
      };
    });
  }

  function beforeOf(entry: Entry): string | undefined {
    return entry.mode === undefined ? undefined : decodeAs(entry.format, readFileSync(copyOf(entry)));
  }

  /** The file's text without the installer's settings. */
  function reverted(entry: Entry): string {
    const text = decodeAs(entry.format, readFileSync(entry.file));
    return editorOf(entry.format).revert(text, operationsOf(entry), beforeOf(entry));
  }

  return {
    read,
    write,
    copyOf,
    reverted,
    /** Before a file is written: keeps a copy of it, and records the folders that were created for it. */
    remember(file: string, format: Format, madeFolders: readonly string[]): Entry {
      const record = read();
      const folders = [...record.folders, ...makeFolders(state), ...madeFolders];
      const known = record.entries.find((entry) => entry.file === file);
      if (known !== undefined) {
        // Changed since: without the installer's settings, that is its "before" now.
        if (existsSync(file) && sumOf(file) !== known.sum) {
          replaceFile(copyOf(known), Buffer.from(reverted(known), encodingOf(format)), 0o600);
          known.mode ??= 0o600;
        }
        write({ entries: record.entries, folders });
        return known;
      }
      const number = Math.max(0, ...record.entries.map((entry) => entry.number)) + 1;
      const mode = existsSync(file) ? modeOf(file) : undefined;
      const entry: Entry = { number, format, mode, sum: "", file };
      if (mode !== undefined) {
        copyFileSync(file, copyOf(entry));
        protect(copyOf(entry), 0o600);
      }
      write({ entries: record.entries, folders });
      return entry;
    },
    /** After a file was written. */
    written(entry: Entry, operations: readonly Operation[]): void {
      const lines = operations.map(({ kind, path: names, value }) => {
        const name = names.map((each) => each.replaceAll("/", "~1")).join("/");
        return `${kind}\t${name}\t${value.replaceAll("\n", String.raw`\n`)}\n`;
      });
      replaceFile(operationsFile(entry), lines.join(""), 0o600);
      const { entries, folders } = read();
      const others = entries.filter(({ file }) => file !== entry.file);
      write({ entries: [...others, { ...entry, sum: sumOf(entry.file) }], folders });
    },
  };
}
