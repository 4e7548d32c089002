// What is loaded when more is wanted than one run of an upstream. The build splits it off, because parsing it would cost
// every wrapped command 5 ms.
export { runAuth, runCommands } from './commands/main.ts';
export { compile } from './compile.ts';
export { chooseByDirectory } from './directory.ts';
export { postpone } from './queue.ts';
export { refreshUsage, runWarning } from './refresh.ts';
export { lineRepl } from './repl.ts';
