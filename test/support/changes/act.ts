// A program to be killed: boots a daemon's parts on a directory, does one thing, and ends.
import { ACTS, type Act, boot } from './machine.ts';

const [home = '', act = ''] = process.argv.slice(2);
await ACTS[act as Act](boot(home));
process.exit(0);
