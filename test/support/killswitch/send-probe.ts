// Sends the packet of `culvert diagnose record --try`, and prints the system's code of a refused one.
import { sendProbe } from '../../../daemon/cli/commands/doctor/trial.ts';

console.log(await sendProbe());
