// Run before Executor's server. Its token can be given to it only by a flag; here the flag is added inside the
// process, so that no list of processes shows the token.
const fs = require("fs");
const { EXECUTOR_AUTH_TOKEN_FILE: file, EXECUTOR_AUTH_TOKEN: text } = process.env;
delete process.env.EXECUTOR_AUTH_TOKEN_FILE;
delete process.env.EXECUTOR_AUTH_TOKEN;
const token = (file ? fs.readFileSync(file, "utf8") : (text ?? "")).trim();
if (token && process.argv[2] === "web") process.argv.push("--auth-token", token);
