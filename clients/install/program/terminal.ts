import { openSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { ReadStream } from "node:tty";
import process from "node:process";
import { Stopped } from "./refused.ts";

export interface Terminal {
  ask(question: string, options?: { isSecret?: boolean }): Promise<string>;
  close(): void;
}

/** The terminal itself: standard input is this program if it comes through a pipe. undefined if there is none. */
export function openTerminal(platform: NodeJS.Platform): Terminal | undefined {
  const input = openInput(platform);
  if (input === undefined) return undefined;
  let isMuted = false;
  const output = new Writable({
    write(chunk, _encoding, done) {
      if (!isMuted) process.stdout.write(chunk);
      done();
    },
  });
  // Echo is off from now on: a key that is pasted early is not shown either.
  const lines = createInterface({ input, output, terminal: true });
  const closed = new AbortController();
  lines.once("close", () => closed.abort());
  return {
    async ask(question, { isSecret = false } = {}) {
      try {
        const answer = lines.question(question, { signal: closed.signal });
        isMuted = isSecret;
        return (await answer).trim();
      } catch (cause) {
        throw new Stopped("Cancelled: nothing else was changed.", { cause });
      } finally {
        if (isMuted) process.stdout.write("\n");
        isMuted = false;
      }
    },
    close() {
      lines.close();
      input.destroy();
    },
  };
}

function openInput(platform: NodeJS.Platform): ReadStream | undefined {
  if (platform === "win32") return process.stdin.isTTY ? process.stdin : undefined;
  try {
    return new ReadStream(openSync("/dev/tty", "r+"));
  } catch {
    return undefined;
  }
}
