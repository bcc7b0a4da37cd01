#!/usr/bin/env node
// Starts the program that npm installed for this platform. Signals go on to it, and its
// ending becomes ours; should this process be killed, settle ends by itself.
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const name = `@settle-agent/settle-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/settle${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`settle: the package ${name} is not installed; install settle again, without --omit=optional, on a platform that it is made for`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A key at the terminal reaches both; what is sent to this process alone is sent on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  try {
    process.on(signal, () => {
      if (!(process.stdin.isTTY && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal);
    });
  } catch {} // Windows does not have them all
}
child.on("error", (error) => {
  console.error(`settle: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + os.constants.signals[signal] : code));
