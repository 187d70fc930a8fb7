import { FINAL_EVENTS } from "../protocol/responses/final-events.ts";
import { rawMember } from "../protocol/json/scan.ts";
import { createSseParser } from "../protocol/sse.ts";
import { changeOutput } from "../translate/change-output.ts";
import type { StreamTranslation } from "../translate/translation.ts";

/**
 * The same stream, which delivers the response in its last event as the client reads it. Each output contains whole events only.
 */
export function withFinalResponse(machine: StreamTranslation, onResponse: (response: Buffer) => void): StreamTranslation {
  let isFound = false;

  function look(output: Buffer): void {
    if (isFound || !FINAL_EVENTS.some((name) => output.includes(name))) return;
    const parser = createSseParser();
    for (const { data } of [...parser.push(output), ...parser.end()]) {
      const event = Buffer.from(data);
      const type = rawMember(event, "type")?.toString("utf8").slice(1, -1) ?? "";
      const response = rawMember(event, "response");
      if (isFound || response === undefined || !FINAL_EVENTS.includes(type)) continue;
      isFound = true;
      onResponse(response);
    }
  }

  return changeOutput(machine, (output) => {
    look(output);
    return output;
  });
}
