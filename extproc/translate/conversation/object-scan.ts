/** Finds where a JSON object, or a list, ends that arrives in pieces. */
export interface ObjectScan {
  /** The part of the text that belongs to the object: anything after its last brace is cut off. */
  take(text: string): string;
  isClosed(): boolean;
}

export function createObjectScan(): ObjectScan {
  let depth = 0;
  let isInString = false;
  let isEscaped = false;
  let isClosed = false;

  function take(text: string): string {
    if (isClosed) return "";
    for (let at = 0; at < text.length; at += 1) {
      const character = text[at];
      if (isEscaped) isEscaped = false;
      else if (isInString && character === "\\") isEscaped = true;
      else if (character === '"') isInString = !isInString;
      else if (!isInString && (character === "{" || character === "[")) depth += 1;
      else if (!isInString && (character === "}" || character === "]")) {
        depth -= 1;
        if (depth === 0) {
          isClosed = true;
          return text.slice(0, at + 1);
        }
      }
    }
    return text;
  }

  return {
    take,
    isClosed: () => isClosed,
  };
}
