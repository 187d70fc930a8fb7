// The program of `helm test`: the gateway answers, and a given key lists its models.
import http from "node:http";
import https from "node:https";
import process, { env } from "node:process";

const { GATEWAY_URL, GATEWAY_API_KEY } = env;

function get(path, headers) {
  const url = new URL(path, GATEWAY_URL);
  // Inside the cluster the certificate has another name.
  const options = { headers, timeout: 10_000, rejectUnauthorized: false };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? https : http).get(url, options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
    });
    request.once("timeout", () => request.destroy(new Error(`${url} did not answer within ten seconds`)));
    request.once("error", reject);
  });
}

function expect(name, isTrue, answer) {
  if (isTrue) {
    process.stdout.write(`ok: ${name}\n`);
    return;
  }
  process.stderr.write(`failed: ${name}\n${answer.status} ${answer.text}\n`);
  process.exitCode = 1;
}

const stranger = await get("/v1/models", {});
expect("a request without a key is a 401", stranger.status === 401 && stranger.text.includes('"error"'), stranger);
expect("every answer has a request id", stranger.headers["x-request-id"] !== undefined, stranger);
if (GATEWAY_API_KEY !== undefined) {
  const models = await get("/v1/models", { authorization: `Bearer ${GATEWAY_API_KEY}` });
  expect("the key lists models", models.status === 200 && JSON.parse(models.text).data.length > 0, models);
  const balance = await get("/v1/balance", { authorization: `Bearer ${GATEWAY_API_KEY}` });
  expect("the key's account has a balance", balance.status === 200, balance);
}
