// Reads pieces of code, one {name, code} a line, and prints the colors of each. A
// test in Go holds this against package markdown.

import { createInterface } from "node:readline";
import { highlight } from "../assets/highlight.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { name, code } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(highlight(name, code))}\n`);
}
