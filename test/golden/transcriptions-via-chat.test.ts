import { inputSuite } from "./harness-input.ts";

// Transcriptions and their usage, byte by byte (S54).
inputSuite("transcription");
