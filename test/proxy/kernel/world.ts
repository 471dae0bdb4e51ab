// A node, its pods, a pod of another node and a client, each in a network namespace of its own, connected by routes.
// The proxy runs outside and reaches the node's kernel from there.

import {spawn, type ChildProcess} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import type {Command, ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {Namespaces} from '#test/node/namespaces.js';
import {run} from '#test/node/run.js';
import type {Answer, Order} from './endpoint-program.js';

const program = fileURLToPath(new URL('endpoint-program.js', import.meta.url));

/** Who is connected: a name, and the addresses at both ends of the connection to the node. */
const parties = {
  pod1: {ips: ['10.180.0.2', 'fd00:10::2'], gateways: ['10.180.0.1', 'fd00:10::1']},
  pod2: {ips: ['10.180.0.3', 'fd00:10::3'], gateways: ['10.180.0.1', 'fd00:10::1']},
  remote: {ips: ['10.181.0.2', 'fd00:11::2'], gateways: ['10.181.0.1', 'fd00:11::1']},
  client: {ips: ['192.168.0.10', '2001:db8::10'], gateways: ['192.168.0.2', '2001:db8::2']},
} as const;

export type Party = keyof typeof parties | 'node';

/** Addresses of the client that source ranges leave out. */
export const deniedIp = '192.168.0.77';
export const nodeIps = {IPv4: '192.168.0.2', IPv6: '2001:db8::2'} as const;
export const ipOf = (party: keyof typeof parties, family: 'IPv4' | 'IPv6' = 'IPv4'): string =>
  parties[party].ips[family === 'IPv4' ? 0 : 1];

const places = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin'];
const programs = {nft: 'nftables', ip: 'iproute2', nsenter: 'util-linux', unshare: 'util-linux', conntrack: 'conntrack'};

/** Why rules cannot be tried here; undefined where they can. */
export const kernelMissing = ((): string | undefined => {
  if (process.platform !== 'linux') return 'rules of the kernel need Linux';
  if (process.getuid?.() !== 0) return 'rules of the kernel need root';
  const missing = Object.entries(programs).flatMap(([name, from]) => (places.some(place => existsSync(`${place}/${name}`)) ? [] : [from]));
  return missing.length > 0 ? `rules of the kernel need what is not installed (Debian: apt-get install ${missing.join(' ')})` : undefined;
})();

/** Addresses of IPv6 work at once, without a search for others that have them. */
const noDetection = 'for name in all default; do sysctl -q -w net.ipv6.conf.$name.accept_dad=0; done';

/** The commands that connect a party with the node. */
const connecting = (name: string, {ips, gateways}: (typeof parties)[keyof typeof parties]): string[] => {
  const device = `to-${name}`;
  return [
    `ip netns add ${name}`,
    `ip netns exec ${name} sh -c '${noDetection}'`,
    `ip link add ${device} type veth peer name eth0 netns ${name}`,
    `ip link set ${device} up`,
    `ip -n ${name} link set lo up`,
    `ip -n ${name} link set eth0 up`,
    ...gateways.map(gateway => `ip address add ${gateway}/${gateway.includes(':') ? '128 nodad' : 32} dev ${device}`),
    ...ips.flatMap((ip, at) => [
      `ip -n ${name} address add ${ip}/${ip.includes(':') ? '128 nodad' : 32} dev eth0`,
      `ip route add ${ip} dev ${device}`,
      `ip -n ${name} route add ${gateways[at]} dev eth0`,
      `ip -n ${name} route add default via ${gateways[at]} dev eth0`,
    ]),
  ];
};

const setUp = [
  noDetection,
  'ip link set lo up',
  'for name in net.ipv4.ip_forward net.ipv6.conf.all.forwarding; do sysctl -q -w $name=1; done',
  // The kernel tells each client of few refusals a second.
  'for name in net.ipv4.icmp_ratelimit net.ipv6.icmp.ratelimit; do sysctl -q -w $name=0; done',
  'for name in net.ipv4.conf.all.rp_filter net.ipv4.conf.default.rp_filter; do sysctl -q -w $name=0; done',
  ...Object.entries(parties).flatMap(([name, party]) => connecting(name, party)),
  `ip -n client address add ${deniedIp}/32 dev eth0`,
  `ip route add ${deniedIp} dev to-client`,
  // Packets to addresses of services have somewhere to go, as those without rules would.
  `ip route add default via ${parties.client.ips[0]} dev to-client`,
  `ip route add default via ${parties.client.ips[1]} dev to-client`,
];

/** An order without its number. */
type Told = Order extends infer Each ? (Each extends Order ? Omit<Each, 'id'> : never) : never;

/** A program in a namespace. */
class Agent {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  constructor(enter: readonly string[]) {
    const [command = '', ...args] = enter;
    this.#child = spawn(command, [...args, process.execPath, program], {stdio: ['pipe', 'pipe', 'inherit']});
    createInterface({input: this.#child.stdout!}).on('line', line => {
      const answer = JSON.parse(line) as Answer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  tell(order: Told): Promise<Answer> {
    const id = ++this.#last;
    return new Promise(resolve => {
      this.#waiting.set(id, resolve);
      this.#child.stdin!.write(`${JSON.stringify({id, ...order})}\n`);
    });
  }
}

/** A question to an address. */
export interface Question {
  readonly ip: string;
  readonly port: number;
  readonly protocol?: 'tcp' | 'udp';
  /** The address that it comes from. */
  readonly from?: string;
  readonly timeoutMs?: number;
}

export class World {
  readonly #namespaces: Namespaces;
  readonly #agents: ReadonlyMap<Party, Agent>;
  /** The kernel of the node. */
  readonly kernel: ProxyKernel;

  private constructor(namespaces: Namespaces) {
    const inNode = namespaces.enter;
    this.#namespaces = namespaces;
    this.kernel = {
      ...systemKernel,
      run: ({program: name, args, ...command}: Command) =>
        systemKernel.run({...command, program: 'nsenter', args: [...inNode.slice(1), name, ...args]}),
      addresses: () => ['127.0.0.1', '::1', ...Object.values(parties).flatMap(({gateways}) => gateways)],
    };
    const names = Object.keys(parties) as (keyof typeof parties)[];
    this.#agents = new Map<Party, Agent>([
      ['node', new Agent(inNode)],
      ...names.map(name => [name, new Agent([...inNode, 'ip', 'netns', 'exec', name])] as const),
    ]);
  }

  static async create(): Promise<World> {
    const namespaces = await Namespaces.create();
    const [enter = '', ...flags] = namespaces.enter;
    await run(enter, ...flags, 'sh', '-ec', setUp.join('\n'));
    return new World(namespaces);
  }

  /** Serves a port at all addresses of a party, under its name. */
  async serve(party: keyof typeof parties, port: number): Promise<void> {
    for (const ip of parties[party].ips) await this.#agents.get(party)!.tell({do: 'serve', ip, port, name: party});
  }

  /** Asks from a party. Returns `NAME SOURCE` or the code of the failure. */
  async ask(party: Party, {ip, port, protocol = 'tcp', from, timeoutMs = 700}: Question): Promise<Answer> {
    return this.#agents.get(party)!.tell({do: 'ask', protocol, ip, port, timeoutMs, ...(from === undefined ? {} : {from})});
  }

  /** Says something on a connection that stays open. Returns `NAME TEXT`. */
  async talk(party: Party, ip: string, port: number, text: string): Promise<string> {
    return (await this.#agents.get(party)!.tell({do: 'talk', ip, port, text})).answer;
  }

  /** Starts a program on the node, which ends with it. */
  start(file: string, args: readonly string[]): void {
    const [enter = '', ...flags] = this.#namespaces.enter;
    spawn(enter, [...flags, file, ...args], {stdio: 'ignore'});
  }

  async end(): Promise<void> {
    await this.#namespaces.end();
  }
}
