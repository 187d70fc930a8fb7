import { testPair } from "./harness-suite.ts";

/** Model servers that speak Responses (S44). */
testPair("responses-via-responses");
