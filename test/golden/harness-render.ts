import { encodeError, toGatewayError } from "../../contract/errors.ts";
import type { MeteredUsage } from "../../extproc/meter/meter.ts";
import type { Answer, Fixture } from "./harness-fixture.ts";
import { GOLDEN_REQUEST_ID, playStream, playWhole, translate } from "./harness-run.ts";

/** The golden file of a fixture: what goes upstream, what the client gets, what is counted. */
export function render(fixture: Fixture): string {
  const request = attempt(fixture, () => renderUpstream(fixture));
  const sections = [request.text];
  if (request.isRefused && fixture.answers.length > 0) throw new Error(`${fixture.name} is refused; it cannot have answers.`);
  for (const answer of fixture.answers) {
    sections.push(`===== client gets, for ${answer.name}\n${attempt(fixture, () => renderAnswer(fixture, answer)).text}`);
  }
  return sections.join("\n");
}

function renderUpstream(fixture: Fixture): string {
  const { upstream, dropped, wantsStream, ask } = translate(fixture);
  const headers = Object.entries(upstream.headers).map(([name, value]) => `${name}: ${value}`);
  return [
    `===== upstream gets: POST ${upstream.path}`,
    ...headers,
    showJson(upstream.body.toString("utf8")),
    `===== facts`,
    `dropped: ${dropped.join(", ") || "nothing"}`,
    `wants a stream: ${wantsStream}`,
    `asked output limit: ${ask.limit ?? "none"}`,
    "",
  ].join("\n");
}

function renderAnswer(fixture: Fixture, answer: Answer): string {
  if (answer.kind === "whole") {
    const { text, metered } = playWhole(fixture, answer.bytes);
    return `${showJson(text)}\n${showUsage(metered)}\n`;
  }
  const { text, metered, outcome } = playStream(fixture, [answer.bytes]);
  return `${text}===== outcome: ${outcome}\n${showUsage(metered)}\n`;
}

function showUsage({ usage, isEstimated }: MeteredUsage): string {
  return `===== usage${isEstimated ? " (estimated)" : ""}: ${JSON.stringify(usage)}`;
}

/** Compact JSON is shown indented, which loses nothing; any other bytes are shown as they are. */
function showJson(text: string): string {
  const parsed: unknown = JSON.parse(text);
  return JSON.stringify(parsed) === text ? JSON.stringify(parsed, null, 2) : `(exact bytes)\n${text}`;
}

function attempt(fixture: Fixture, step: () => string): { text: string; isRefused: boolean } {
  try {
    return { text: step(), isRefused: false };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    // A bug in the translator must fail the test, never become a golden file.
    if (error.code === "internal_error") throw thrown;
    const body = JSON.stringify(encodeError(fixture.client, error, GOLDEN_REQUEST_ID), null, 2);
    return { text: `===== refused: ${error.status}\n${body}\n`, isRefused: true };
  }
}
