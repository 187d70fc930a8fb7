/** What a response consists of. Members are in the order in which the protocol's own service writes them. */
export type OutputItem = MessageItem | ReasoningItem | FunctionCallItem | CustomToolCallItem;

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export type OutputPart = { type: "output_text"; annotations: UrlCitation[]; logprobs: []; text: string } | RefusalPart;

interface RefusalPart {
  type: "refusal";
  refusal: string;
}

export interface UrlCitation {
  type: "url_citation";
  start_index: number;
  end_index: number;
  url: string;
  title: string;
}

interface MessageItem {
  id: string;
  type: "message";
  status: ItemStatus;
  role: "assistant";
  content: OutputPart[];
}

interface ReasoningItem {
  id: string;
  type: "reasoning";
  summary: SummaryPart[];
  /** Only if the client requested it. */
  encrypted_content?: string;
}

export interface SummaryPart {
  type: "summary_text";
  text: string;
}

interface FunctionCallItem {
  id: string;
  type: "function_call";
  status: ItemStatus;
  arguments: string;
  call_id: string;
  name: string;
  namespace?: string;
}

interface CustomToolCallItem {
  id: string;
  type: "custom_tool_call";
  status: ItemStatus;
  call_id: string;
  input: string;
  name: string;
  namespace?: string;
}
