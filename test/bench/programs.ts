// Measures the start of programs in the tunnel only, and the throughput of those and of programs outside it, against any other program on
// the same way, in turn. Exits 1 when a bar is not met. Needs root. Run: ./culvert-tool bench programs [rounds]
import { FAR, type Machine, setMachine } from '../support/killswitch/programs.ts';
import { missing, which } from '../support/killswitch/stage.ts';

const rounds = Number(process.argv[2] ?? 9);
const STARTS = 15;
const START_BAR_MS = 150;
const PORT = 9100;
const SECONDS = 1;

/** Takes what comes, and answers with its length. */
const SINK = `
import socket, threading
def take(c):
    total = 0
    buffer = bytearray(1 << 18)
    while n := c.recv_into(buffer): total += n
    c.sendall(str(total).encode())
    c.close()
server = socket.create_server(("${FAR.address}", ${PORT}))
print("ready", flush=True)
while True: threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()`;
/** Sends for a while, and prints the bytes that arrived in each second. */
const SEND = [
  '/usr/bin/python3',
  '-c',
  `
import socket, time
s = socket.create_connection(("${FAR.address}", ${PORT}))
data = bytes(1 << 18)
started = time.monotonic()
while time.monotonic() - started < ${SECONDS}: s.sendall(data)
s.shutdown(socket.SHUT_WR)
total = int(s.recv(100))
print(total / (time.monotonic() - started))`,
];

const lacking = missing || (which('ip') ? false : 'needs ip');
if (lacking) {
  console.log(`skipped: ${lacking}`);
  process.exit();
}
const machine = await setMachine();
try {
  process.exitCode = (await measure()) ? 0 : 1;
} finally {
  await machine.end();
}

async function measure(): Promise<boolean> {
  machine.allow('tunnel-only', 'outside');
  await machine.serve();
  const starts = await compareStarts();
  const sink = machine.startFar(SINK);
  await new Promise(done => sink.stdout!.once('data', done));
  let outside = await compare('an outside program, over another one on the link', machine.outside, 0.95);
  // as fast as links that users have: a bare pair of devices costs less than the second one
  for (const rate of which('tc') ? ['10gbit', '1gbit'] : []) {
    await machine.script(`tc qdisc replace dev up0 root tbf rate ${rate} burst 4mb latency 50ms`);
    outside = (await compare(`an outside program, over another one at ${rate}`, machine.outside, 0.95)) && outside;
  }
  if (which('tc')) await machine.script('tc qdisc del dev up0 root');
  await machine.tunnelUp();
  const kept = await compare('a tunnel-only program, over another one in the tunnel', machine.kept, 0.98);
  return starts && outside && kept;
}

async function compareStarts(): Promise<boolean> {
  const more: number[] = [];
  for (let start = -1; start < STARTS; start++) {
    const alone = await milliseconds(['true']);
    const placed = await milliseconds(machine.kept('true'));
    if (start >= 0) more.push(placed - alone); // the first one finds cold files
  }
  const ms = median(more);
  const ok = ms <= START_BAR_MS;
  console.log(`${ok ? '✓' : '✗'} a tunnel-only start of true, over true + ${ms.toFixed(0)} ms    ≤ ${START_BAR_MS}`);
  return ok;
}

async function milliseconds(command: readonly string[]): Promise<number> {
  const started = performance.now();
  const { code, err } = await machine.run(command);
  if (code !== 0) throw new Error(err);
  return performance.now() - started;
}

async function compare(what: string, place: Machine['kept'], bar: number): Promise<boolean> {
  const ratios: number[] = [];
  const alone: number[] = [];
  for (let round = -1; round < rounds; round++) {
    // whichever comes first has a warmer or a colder machine
    const [first, second] = [round % 2 ? SEND : place(...SEND), round % 2 ? place(...SEND) : SEND];
    const speeds = [await speed(first), await speed(second)];
    const [own, placed] = round % 2 ? speeds : speeds.reverse();
    if (round < 0) continue;
    alone.push(own!);
    ratios.push(placed! / own!);
  }
  const ratio = median(ratios);
  const ok = ratio >= bar;
  console.log(`${what}: ${(median(alone) / 1e6).toFixed(0)} MB/s alone`);
  console.log(`${ok ? '✓' : '✗'} ${what} ${ratio.toFixed(3)} ×    ≥ ${bar}`);
  return ok;
}

async function speed(command: readonly string[]): Promise<number> {
  const { out, err } = await machine.run(command);
  if (!out) throw new Error(err);
  return Number(out);
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}
