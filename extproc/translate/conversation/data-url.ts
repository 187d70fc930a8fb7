export interface DataUrl {
  /** Lower case, without parameters. */
  mediaType: string;
  base64: string;
}

/** `data:<type>[;parameter…][;base64],<data>`; null when the text is no data URL. Data that is not base64 becomes it. */
export function parseDataUrl(url: string): DataUrl | null {
  if (!/^data:/i.test(url)) return null;
  const comma = url.indexOf(",");
  if (comma < 0) return null;
  const [mediaType = "", ...parameters] = url.slice("data:".length, comma).split(";");
  const data = url.slice(comma + 1);
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  return {
    mediaType: mediaType.trim().toLowerCase() || "text/plain",
    base64: isBase64 ? data.replaceAll(/\s+/g, "") : percentDecoded(data).toString("base64"),
  };
}

/** Byte by byte: the data may be no UTF-8, which decodeURIComponent refuses. */
function percentDecoded(data: string): Buffer {
  const latin1 = Buffer.from(data, "utf8").toString("latin1");
  return Buffer.from(
    latin1.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}
