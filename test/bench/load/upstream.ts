import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** The model server that every gateway of the bench calls. */
export interface Upstream {
  /** `http://127.0.0.1:…` */
  readonly url: string;
  stop(): Promise<void>;
}

export async function startUpstream(program: string): Promise<Upstream> {
  // It ends when its standard input closes, so it cannot outlive this process.
  const child = spawn(program, ["upstream"], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [url] = await Promise.race([once(lines, "line"), exited]);
  if (typeof url !== "string") throw new Error("The bench's model server did not start.");
  return {
    url,
    async stop() {
      child.stdin.end();
      await exited;
    },
  };
}
