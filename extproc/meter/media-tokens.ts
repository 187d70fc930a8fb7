/** An image costs by its pixels, which the gateway does not decode: the cost of a full-size one. */
export const IMAGE_TOKENS = 1_600;
/** A page of PDF, as text and as image. */
export const PAGE_TOKENS = 2_000;
