import type { GatewayError } from "../../contract/errors.ts";

/** A stream that its Model's hook sees before its client does. */
export interface CheckedStream {
  /**
   * @param events for the client, whole.
   * @throws GatewayError `upstream_error` for text that cannot be checked.
   */
  take(events: Buffer): void;
  /** Nothing follows. @param onPassed called when everything has gone to the client. */
  end(onPassed: () => void): void;
  /** What is held is withheld. @returns the end of the client's stream. */
  failed(error: GatewayError): Buffer;
  /** In memory. */
  heldBytes(): number;
  close(): void;
}

export interface CheckedOutlet {
  /** Sends it to the client. */
  send(events: Buffer): void;
  /** Sends the end, instead of what is held. The run is settled. */
  stop(ending: Buffer): void;
  fail(thrown: unknown): void;
}

export interface StreamCheck {
  open(outlet: CheckedOutlet): CheckedStream;
  /** Receives the response that is to be stored, if the client gets it. */
  keep: ((response: Buffer) => void) | null;
}
