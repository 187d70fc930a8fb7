import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { cacheDirectory } from "../../local/cache-directory.ts";
import { NODE_ADDRESS } from "../support/cluster/addresses.ts";
import { createBuildah } from "../support/cluster/images/buildah.ts";
import { prepareLocalImage } from "../support/cluster/images/prepare.ts";
import { requirePackages } from "../support/cluster/prerequisites.ts";
import { openRoom } from "../support/cluster/room.ts";
import { eventually } from "../support/eventually.ts";

const STARTED = { withinMs: 60_000, everyMs: 250 };

test("the image for machines without Node serves what its start screen says (docs/local.md)", async () => {
  await requirePackages();
  const images = path.join(cacheDirectory(process.env), "cluster");
  const onProgress = (line: string) => console.log(line);
  const reference = await prepareLocalImage({ directory: images, environment: process.env, onProgress });
  const container = await createBuildah(images).createContainer(reference);
  onTestFinished(() => container.remove());
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-local-image-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  // Without a network beyond its own: nothing is fetched.
  const room = await openRoom(directory, NODE_ADDRESS);
  onTestFinished(() => room.close());

  await room.start("gateway", container.command);
  const screen = async () => await readFile(path.join(directory, "logs/gateway.log"), "utf8");
  await eventually(async () => expect(await screen()).toContain("Ctrl-C"), STARTED);
  const lines = (await screen()).match(/^ *curl (?:.*\\\n)*.*$/gm) ?? [];
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(await room.run(["bash", "-c", line])).toMatch(/data: \[DONE\]|event: message_stop/);
  expect(await screen()).not.toContain("Bundling");
});
