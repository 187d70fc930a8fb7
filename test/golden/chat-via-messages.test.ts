import { testPair } from "./harness-suite.ts";

testPair("chat-via-messages");
