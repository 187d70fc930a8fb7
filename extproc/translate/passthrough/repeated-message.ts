import type { Meter } from "../../meter/meter.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { isFinished } from "../chat/chunk-text.ts";
import { bytesOf, chatOutput, objectsIn, type Output } from "../readable-output.ts";

/** MiniMax ends each answer of a stream with an event that repeats the whole message of the deltas. */
export interface RepeatedMessages {
  /** @param output what the event contains. Called once per event, before its output is counted. */
  isRepeat(json: JsonObject, output: Output): boolean;
}

/**
 * Deltas pass unread, so their text is not available: a message is a repeat if it ends an answer and all such messages together
 * are no longer than the text counted so far.
 */
export function createRepeatedMessages(meter: Pick<Meter, "outputBytes">): RepeatedMessages {
  let repeatedBytes = 0;

  return {
    isRepeat(json, output) {
      const choices = objectsIn(json["choices"]);
      if (choices.length === 0 || !choices.every(endsWithMessage)) return false;
      const bytes = bytesOf(output);
      if (repeatedBytes + bytes > meter.outputBytes()) return false;
      repeatedBytes += bytes;
      return true;
    },
  };
}

function endsWithMessage(choice: JsonObject): boolean {
  const { message, delta } = choice;
  return isObject(message) && isFinished(choice) && bytesOf(chatOutput({ choices: [{ delta }] })) === 0;
}
