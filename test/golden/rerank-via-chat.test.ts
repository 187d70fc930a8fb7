import { inputSuite } from "./harness-input.ts";

// Rankings and their usage, byte by byte (S46).
inputSuite("rerank");
