// Two hosts on one cable, each in a network namespace: 10.99.0.1 asks, and 10.99.0.2 answers like a server of the tunnel.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { createNetwork, type Network, type Reached } from '../../../daemon/doctor/world/network.ts';
import { bundleScript } from '../script.ts';
import { type Ends, temporary } from '../temporary.ts';
import { type Namespace, namespace } from './world.ts';

export const SERVER = '10.99.0.2';

/** Answers any datagram on UDP 443 with a short one, and accepts on TCP 443. */
const ANSWER = `
const dgram = require("dgram").createSocket("udp4");
dgram.on("message", (_, from) => dgram.send("negotiate", from.port, from.address));
dgram.bind(443, () => require("net").createServer(s => s.end()).listen(443, () => require("fs").writeFileSync(process.argv[1], "")));
`;

/**
 * @param setUp shell commands in the asking host; `$far` runs a command in the other one
 */
export async function twoHosts(t: Ends, setUp = ''): Promise<Namespace & { network: Network }> {
  const host = await namespace(
    t,
    `
    flag=$(mktemp -u)
    unshare -n sh -c 'sleep 600' & far="nsenter -t $! -n"
    while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/1/ns/net)" ]; do sleep 0.01; done
    ip link add uplink type veth peer name cable netns $!
    ip addr add 10.99.0.1/24 dev uplink; ip link set uplink up; ip route add default via ${SERVER}
    $far ip addr add ${SERVER}/24 dev cable; $far ip link set cable up; $far ip link set lo up
    $far '${process.execPath}' -e '${ANSWER}' "$flag" &
    while [ ! -e "$flag" ]; do sleep 0.02; done; rm "$flag"
    ${setUp}`,
  );
  return { ...host, network: remoteNetwork(t, host) };
}

/** A network whose datagrams and connections start inside a namespace. */
function remoteNetwork(t: Ends, { prefix }: Namespace): Network {
  const [program = '', ...words] = prefix;
  const script = bundleScript(`${import.meta.dirname}/agent.ts`, temporary(t));
  const agent = spawn(program, [...words, process.execPath, script], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => agent.kill('SIGKILL'));
  const waiting = new Map<number, (reached: Reached) => void>();
  createInterface(agent.stdout).on('line', line => {
    const { id, reached } = JSON.parse(line) as { id: number; reached: Reached };
    waiting.get(id)?.(reached);
  });
  let last = 0;
  const ask = (request: object) =>
    new Promise<Reached>(resolve => {
      last += 1;
      waiting.set(last, resolve);
      agent.stdin.write(`${JSON.stringify({ id: last, ...request })}\n`);
    });
  return {
    ...createNetwork(process.env),
    datagram: (to, payload, limitMs) =>
      ask({ method: 'datagram', to, limitMs, payload: Buffer.from(payload).toString('base64') }),
    connection: (to, limitMs) => ask({ method: 'connection', to, limitMs }),
  };
}
