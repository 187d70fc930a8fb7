import { inputSuite } from "./harness-input.ts";

// Images, edits of them, and their usage, byte by byte (S46).
inputSuite("image_generation");
