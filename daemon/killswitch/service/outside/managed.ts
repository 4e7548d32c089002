// Finds out whether an organization manages WARP on this machine.
import GLib from 'gi://GLib?version=2.0';
import { runCommand } from './commands.ts';

/** Deployment parameters of an organization. */
const MDM = '/var/lib/cloudflare-warp/mdm.xml';
const MS = 8_000;

/** @param warpCli path of WARP's program. @returns null if WARP does not say */
export async function isManaged(warpCli: string): Promise<boolean | null> {
  if (GLib.file_test(MDM, GLib.FileTest.EXISTS)) return true;
  if (!GLib.file_test(warpCli, GLib.FileTest.IS_EXECUTABLE)) return false; // there is no WARP to manage
  try {
    const { out, err } = await runCommand([warpCli, '--accept-tos', '-j', 'registration', 'show'], MS);
    return parseManaged(`${out}\n${err}`);
  } catch {
    return null;
  }
}

/** The answer as JSON, or as the text of older versions. */
function parseManaged(text: string): boolean | null {
  if (/\b(?:Missing registration|Registration Missing)\b/i.test(text)) return false;
  if (/"managed"\s*:\s*true|"organization"\s*:\s*"|"(?:account_)?type"\s*:\s*"teams?"/i.test(text)) return true;
  if (/^\s*(?:Organization:\s*\S|Account type:\s*Teams?\s*$)/im.test(text)) return true;
  return /"(?:account|device_id)"|^\s*Account type:\s*\S/im.test(text) ? false : null;
}
