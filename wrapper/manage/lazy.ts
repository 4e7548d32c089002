// Collects code that a wrapped command seldom needs. The build splits it off, because parsing it would cost every run 5 ms.

export { noteText } from '../run/rules/refusal-causes.ts';
export { compile, writePlan } from './compile.ts';
export { confirmRefusal } from './confirm.ts';
export { chooseByDirectory } from './directory.ts';
export { postpone } from './queue.ts';
export { refreshUsage, reportCapacity, runWarning, sleepUntil } from './refresh.ts';
export { lineRepl } from './repl.ts';
