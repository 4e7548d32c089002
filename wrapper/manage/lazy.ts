// Collects what a wrapped command seldom needs. The build splits it off, because parsing it would cost every run 5 ms.

export { noteText } from '../run/rules/notes.ts';
export { compile, writePlan } from './compile.ts';
export { confirmRefusal } from './confirm.ts';
export { chooseByDirectory } from './directory.ts';
export { reportCapacity } from './notify.ts';
export { postpone } from './queue.ts';
export { refreshUsage, runWarning } from './refresh.ts';
export { lineRepl } from './repl.ts';
export { sleepUntil } from './wait.ts';
