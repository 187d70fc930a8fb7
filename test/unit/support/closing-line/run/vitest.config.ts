import { defineConfig } from "vitest/config";

/** A run for closing-line.test.ts; SET_UP=broken lets its global set-up fail. */
export default defineConfig({
  test: {
    include: ["*.case.ts"],
    reporters: ["../../../../support/test-run/closing-line.ts"],
    globalSetup: "./global-setup.ts",
  },
});
