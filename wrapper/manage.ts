// Entry of the second bundle: what is loaded when more is wanted than one run of an upstream. See rest.ts.
export { runAuth, runCommands } from './commands/main.ts';
export { compile } from './compile.ts';
export { chooseByDirectory } from './directory.ts';
export { postpone } from './queue.ts';
export { refreshUsage, runWarning } from './refresh.ts';
export { lineRepl } from './repl.ts';
