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
// A terminal signals the program itself; what another process sends to this one is passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`genway: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => (signal ? process.kill(process.pid, signal) : process.exit(code)));
