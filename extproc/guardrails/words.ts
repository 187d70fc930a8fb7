import { isTextual } from "../translate/conversation/media-text.ts";

/** Members whose values are the protocols' own words. */
const DESCRIBING: ReadonlySet<string> = new Set("detail effort format media_type object phase role status ttl type".split(" "));

/**
 * Those words. Others are checked: templates write a role into the prompt as it is, and a schema is the client's own. Ids are not
 * words either, because some templates write those, too.
 */
const WORDS: ReadonlySet<string> = new Set(
  `1h 5m aac adaptive application/json application/pdf array assistant audio auto base64 boolean commentary completed computer_call_output
content custom custom_tool_call custom_tool_call_output date date-time developer disabled document enabled ephemeral failed file final_answer flac function function_call
function_call_output high image image/gif image/jpeg image/png image/webp image_url in_progress incomplete input_audio
input_file input_image input_text integer item_reference json_object json_schema low m4a max medium message minimal mp3 mp4
none null number object opus output_text pcm pcm16 reasoning reasoning_text redacted_thinking refusal required
search_result server_tool_use string summary_text system text text/plain thinking tool tool_result tool_use url user uuid
video_url wav web_search_tool_result webm xhigh`.split(/\s+/),
);

/** Names of the protocols; others, such as those of arguments, are a client's own words. */
const STRUCTURE: ReadonlySet<string> = new Set(
  `additionalProperties annotations anyOf arguments audio b64_json budget_tokens cache_control call_id citations content context data
description detail documents effort encrypted_content enum file file_data file_id filename format function id image_url images input
input_audio input_schema items json_schema media_type messages name oneOf output parameters parts properties reasoning
required role schema signature source status strict summary system text thinking title tool_call_id tool_calls tool_use_id
tools type url`.split(/\s+/),
);

export function isProtocolWord(name: string, value: string): boolean {
  return DESCRIBING.has(name) && WORDS.has(value);
}

export function isProtocolName(name: string): boolean {
  return STRUCTURE.has(name);
}

/** The value says of its object that it contains text. */
export function marksText(name: string, value: string): boolean {
  return DESCRIBING.has(name) && (value.toLowerCase() === "text" || isTextual(value));
}
