import { testPair } from "./harness-suite.ts";

testPair("messages-via-messages");
