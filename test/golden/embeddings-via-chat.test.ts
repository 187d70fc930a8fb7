import { inputSuite } from "./harness-input.ts";

// Embeddings and their usage, byte by byte (S46).
inputSuite("embeddings");
