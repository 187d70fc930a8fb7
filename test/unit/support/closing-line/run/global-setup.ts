import process from "node:process";

export default function setup(): void {
  if (process.env["SET_UP"] === "broken") throw new Error("The set-up is broken.");
}
