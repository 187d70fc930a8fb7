import { testPair } from "./harness-suite.ts";

testPair("responses-via-messages");
