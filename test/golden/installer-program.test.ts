import { expect, test } from "vitest";
import { bundleInstaller } from "../support/clients/bundle.ts";

test("the installer's program is bundled from its source (npm run installer:update)", async () => {
  await expect(await bundleInstaller()).toMatchFileSnapshot("../../clients/install/program.js");
});
