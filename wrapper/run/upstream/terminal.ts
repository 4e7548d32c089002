// Gives an upstream a terminal for its output that this process reads, so that it prints as it would without a wrapper.
import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';

/** One end for the upstream, the other for this process. */
export interface OutputTerminal {
  /** Descriptor for the upstream; to be closed after it was started. */
  slave: number;
  /** Output of the upstream. Ends when the last process has closed its end. */
  stream: Readable;
  /** The descriptor behind `stream`. */
  master: number;
}

/**
 * Unlocks each pseudo-terminal that it inherits from descriptor 3 on, turns output processing off (the real terminal
 * does that), copies the window size from stdin, and prints the numbers. Node has no ioctl(2); perl is part of every
 * Debian system. The numbers are those of asm-generic/ioctls.h (x86, ARM, RISC-V); elsewhere the calls fail.
 */
const UNLOCK = `for my $n (3 .. 2 + shift) {
  open(my $m, "+<&=", $n) or exit 1;
  my ($z, $p, $t, $w) = (pack("i", 0), pack("i", 0), "\\0" x 60, "\\0" x 8);
  ioctl($m, 0x40045431, $z) && ioctl($m, 0x80045430, $p) && ioctl($m, 0x5401, $t) or exit 2;
  substr($t, 4, 4) = pack("L", 0);
  ioctl($m, 0x5402, $t) or exit 3;
  ioctl(STDIN, 0x5413, $w) && ioctl($m, 0x5414, $w);
  print unpack("i", $p), "\\n";
}`;

const RESIZE = `for my $n (3 .. 2 + shift) {
  open(my $m, "+<&=", $n) or next;
  my $w = "\\0" x 8;
  ioctl(STDIN, 0x5413, $w) && ioctl($m, 0x5414, $w);
}`;

/**
 * Opens pseudo-terminals with the size of the terminal behind `like`.
 * @param count one for each output stream that is a terminal
 * @param like a descriptor of the real terminal
 * @returns `undefined` where the platform gives none
 */
export function openTerminals(count: number, like: number): OutputTerminal[] | undefined {
  const { O_RDWR, O_NOCTTY } = constants;
  const masters: number[] = [];
  const slaves: number[] = [];
  try {
    for (let i = 0; i < count; i++) masters.push(openSync('/dev/ptmx', O_RDWR | O_NOCTTY));
    const { status, stdout } = spawnSync('perl', ['-e', UNLOCK, String(count)], {
      stdio: [like, 'pipe', 'ignore', ...masters],
      encoding: 'utf8',
    });
    const numbers = stdout?.trim().split('\n') ?? [];
    if (status !== 0 || numbers.length !== count) throw new Error('no pseudo-terminal');
    for (const number of numbers) slaves.push(openSync(`/dev/pts/${number}`, O_RDWR | O_NOCTTY));
    return masters.map((master, i) => ({ master, slave: slaves[i]!, stream: readerOf(master) }));
  } catch {
    for (const fd of [...masters, ...slaves]) closeSync(fd);
    return undefined;
  }
}

/** Passes a change of the window size on. Returns how to stop. */
export function followWindowSize(terminals: readonly OutputTerminal[], like: number): () => void {
  const resize = () => {
    spawnSync('perl', ['-e', RESIZE, String(terminals.length)], {
      stdio: [like, 'ignore', 'ignore', ...terminals.map(({ master }) => master)],
    });
  };
  process.on('SIGWINCH', resize);
  return () => void process.off('SIGWINCH', resize);
}

/** Reading from a terminal whose other end is closed fails with EIO: that is its end of file. */
function readerOf(master: number): Readable {
  const stream = new ReadStream(master);
  stream.on('error', () => stream.destroy());
  return stream;
}
