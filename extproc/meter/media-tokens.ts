/** An image costs by its pixels, which the gateway does not decode: the cost of a full-size one. */
export const IMAGE_TOKENS = 1_600;
/** The most that common servers count for one picture. */
export const MAX_IMAGE_TOKENS = 16_384;
/** A page of PDF, as text and as image. */
export const PAGE_TOKENS = 2_000;
