#!/usr/bin/env node
// Runs the program of this system, which npm has installed from the package @genway/OS-ARCHITECTURE.
"use strict";
const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "genway.exe" : "genway";
let path;
try {
  path = require.resolve(`@genway/${platform}/${program}`);
} catch {
  console.error(`genway: there is no package @genway/${platform}: the system is not supported, or npm was told to omit optional dependencies`);
  process.exit(1);
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to the program as well, which a second one would end at once. All other signals are passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`genway: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
