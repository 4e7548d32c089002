// Gives an upstream our own terminal for its output, which makes it print as without a wrapper, and passes keys to it.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';

/** A pseudo-terminal with one end for the upstream and one end for this process. */
export interface OutputTerminal {
  /** Descriptor for the upstream; this process closes it once the upstream has started. */
  slave: number;
  /** Output of the upstream. Ends when the last process has closed the upstream's end. */
  stream: Readable;
  /** The descriptor behind `stream`. */
  master: number;
}

/**
 * Unlocks each inherited pseudo-terminal from descriptor 3 on, turns off output processing (the real terminal does it), copies
 * the window size from stdin, and prints the terminals' numbers. Node has no ioctl(2); perl is part of every Debian system. The
 * request numbers are from asm-generic/ioctls.h (x86, ARM, RISC-V); on other platforms the calls fail.
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
 * @returns `undefined` if the platform provides none
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

/** Forwards changes of the window size. Returns a function that stops. */
export function followWindowSize(terminals: readonly OutputTerminal[], like: number): () => void {
  const resize = () => {
    spawnSync('perl', ['-e', RESIZE, String(terminals.length)], {
      stdio: [like, 'ignore', 'ignore', ...terminals.map(({ master }) => master)],
    });
  };
  process.on('SIGWINCH', resize);
  return () => void process.off('SIGWINCH', resize);
}

/** Makes a stream for a terminal. After the other end closes, a read fails with EIO, which counts as end of file. */
function readerOf(master: number): Readable {
  const stream = new ReadStream(master);
  stream.on('error', () => stream.destroy());
  return stream;
}

/**
 * Passes keys to a program. Descriptor 0 is the real terminal, and 3 ends with the wrapper; `$count` pseudo-terminals follow.
 * `$read` is stderr's pseudo-terminal, which less and more read. Screen programs set the mode of stdout and read stdin, the
 * real terminal. While a pseudo-terminal is not in canonical mode, the real terminal has its mode, and `$read` gets the keys.
 * Each key is left for 0.03 s first: `more FILE` waits for a key on stdin and then reads stderr, other programs read stdin
 * itself, and keys after the key that ends a pager are for the next program. Another process may take a key first, so the
 * terminal is read through a non-blocking descriptor. The real terminal is left alone if another program has set its mode, or
 * another job is in the foreground. For the numbers see `UNLOCK`; 2048 is O_NONBLOCK.
 */
const FORWARD = `my ($count, $read) = @ARGV;
my %file = map { open(my $f, $_ == 3 ? "<&=" : "+<&=", $_) or exit 1; ($_ => $f) } 0, 3 .. 3 + $count;
sysopen(my $keys, "/dev/tty", 2048) or exit 1;
my ($saved, $changed);
sub mode { my $t = "\\0" x 60; ioctl($file{$_[0]}, 0x5401, $t) or exit 1; [unpack("L4 a20", $t)] }
sub set { ioctl($file{0}, 0x5402, pack("L4 a20", @_) . "\\0" x 24) }
sub mine { my $group = pack("i", 0); ioctl($file{0}, 0x540F, $group) && unpack("i", $group) == getpgrp }
sub asking { for my $n (4 .. 3 + $count) { return $n unless mode($n)->[3] & 2 } 0 }
sub restore { set(@$saved) if $changed && mine(); $changed = 0 }
sub ready { my $set = ""; vec($set, $_, 1) = 1 for @_[1 .. $#_]; select($set, undef, undef, $_[0]); $set }
$SIG{INT} = $SIG{QUIT} = $SIG{TTOU} = "IGNORE";
$SIG{HUP} = $SIG{TERM} = sub { restore(); exit };
$SIG{TSTP} = sub { restore(); kill("STOP", $$) };
while (my $n = asking()) {
  if (!$changed && mine()) {
    $saved = mode(0);
    last unless $saved->[3] & 2;
    my ($input, $control, $chars) = @{mode($n)}[0, 3, 4];
    $changed = set($input, @{$saved}[1, 2], $n == $read ? $control & ~8 : $control, $chars);
  }
  my $set = ready(0.05, 3, $changed && $n == $read && mine() ? 0 : ());
  last if vec($set, 3, 1);
  next unless vec($set, 0, 1);
  last if vec(ready(0.03, 3), 3, 1);
  next unless asking() == $n && sysread($keys, my $key, 1);
  sysread($keys, $key, 15, 1) if $key eq "\\e";
  syswrite($file{$n}, $key);
}
restore();`;

/** Length of the silence after half a line that means that a program may be waiting for a key. */
const SILENCE_MS = 200;

/**
 * Watches an upstream's terminals for a program that waits for keys. Reads nothing from the keyboard before that.
 * @param like a descriptor of the real terminal
 * @returns a function that stops; once its promise has resolved, the real terminal has its old mode again
 */
export function passKeys(terminals: { stdout?: OutputTerminal; stderr?: OutputTerminal }, like: number) {
  const masters = Object.values(terminals).map(({ master }) => master);
  const read = terminals.stderr ? 4 + masters.indexOf(terminals.stderr.master) : 0;
  let timer: NodeJS.Timeout | undefined;
  let helper: ReturnType<typeof start> | undefined;
  let stopped = false;

  function start() {
    const child = spawn('perl', ['-e', FORWARD, String(masters.length), String(read)], {
      stdio: [like, 'ignore', 'ignore', 'pipe', ...masters],
    });
    const ended = once(child, 'exit').catch(() => {});
    void ended.then(() => {
      helper = undefined;
    });
    return { ended, life: child.stdio[3]! };
  }
  for (const { stream } of Object.values(terminals)) {
    stream.on('data', (chunk: Buffer) => {
      clearTimeout(timer);
      if (stopped || chunk.at(-1) === 10) return;
      timer = setTimeout(() => {
        helper ??= start();
      }, SILENCE_MS);
    });
  }
  return async () => {
    stopped = true;
    clearTimeout(timer);
    helper?.life.destroy();
    await helper?.ended;
  };
}
