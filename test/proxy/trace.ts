// Follows a packet through the rules of a table, as the kernel would: which endpoints it may reach, and whether it is
// masqueraded. Knows the expressions that the proxy writes, and no others.

import {parseIp, parseRange, rangeHolds} from '#src/base/ip-address.js';
import type {FakeNft} from './fake-nft.js';

export interface Packet {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly protocol?: string;
}

/** `drop`, `reject`, endpoints separated by blanks, or nothing where no rule ends the way of a packet. */
export interface Outcome {
  readonly reaches: string;
  readonly isMasqueraded: boolean;
}

type Table = FakeNft['tables'] extends Map<string, infer T> ? T : never;

const holds = (range: string, ip: string): boolean => (range.includes('/') ? rangeHolds(parseRange(range)!, parseIp(ip)!) : range === ip);

class Trace {
  readonly #table: Table;
  readonly #nodeIps: readonly string[];
  readonly #packet: Packet;
  readonly reached = new Set<string>();
  isMarked = false;

  constructor(table: Table, nodeIps: readonly string[], packet: Packet) {
    this.#table = table;
    this.#nodeIps = nodeIps;
    this.#packet = packet;
  }

  /** Returns whether the way of the packet ends in the chain, when it has the address `to` by now. */
  run(chain: string, to = this.#packet.to): boolean {
    for (const rule of this.#table.chains.get(chain) ?? []) {
      const ended = this.#rule(rule.replace(/ comment "[^"]*"$/, ''), to);
      if (ended !== 'next') return ended;
    }
    return false;
  }

  #rule(rule: string, to: string): boolean | 'next' {
    let left = rule;
    for (;;) {
      const rest = this.#matching(left, to);
      if (rest === undefined) return 'next';
      if (rest === left) return this.#verdict(left, to);
      left = rest;
    }
  }

  /** Returns a rule without its first condition; undefined if that does not hold. */
  #matching(rule: string, to: string): string | undefined {
    const {from} = this.#packet;
    const conditions: readonly (readonly [RegExp, (...groups: string[]) => boolean])[] = [
      [/^ct state new /, () => true],
      [/^fib (daddr|saddr) type local /, (which = '') => this.#nodeIps.includes(which === 'daddr' ? to : from)],
      [/^ip6? (daddr|saddr) @(\S+) /, (which, set = '') => this.#table.containers.get(set)!.elements.has(which === 'daddr' ? to : from)],
      [
        /^ip6? (daddr|saddr) (!= )?(?:\{ ([^}]*) \}|([0-9a-f:][0-9a-f:.]*(?:\/\d+)?)) /,
        (which, not, set, one) => {
          const found = (set ?? one ?? '').split(/[ ,]+/).some(range => holds(range, which === 'daddr' ? to : from));
          return found !== Boolean(not);
        },
      ],
    ];
    for (const [form, isTrue] of conditions) {
      const match = form.exec(rule);
      if (match) return isTrue(...match.slice(1)) ? rule.slice(match[0].length) : undefined;
    }
    return rule;
  }

  #verdict(rule: string, to: string): boolean | 'next' {
    const {port, protocol = 'tcp'} = this.#packet;
    const destination = `${protocol} . ${port}`;
    const [, mapByAddress] = /^ip6? daddr \. meta l4proto \. th dport vmap @(\S+)$/.exec(rule) ?? [];
    const [, mapByPort] = /^meta l4proto \. th dport vmap @(\S+)$/.exec(rule) ?? [];
    const map = mapByAddress ?? mapByPort;
    if (map !== undefined) {
      const value = this.#table.containers.get(map)!.elements.get(mapByAddress ? `${to} . ${destination}` : destination);
      return value === undefined ? 'next' : this.#verdict(value.replace(/ comment.*/, ''), to);
    }
    if (rule === 'jump mark-for-masquerade') this.isMarked = true;
    const [, how, chain] = /^(jump|goto) (\S+)$/.exec(rule) ?? [];
    if (chain !== undefined && chain !== 'mark-for-masquerade') return this.run(chain, to) || (how === 'goto' ? false : 'next');
    if (rule === 'drop' || rule === 'reject') {
      this.reached.add(rule);
      return true;
    }
    const [, endpoint] = /^meta l4proto \w+ dnat to (\S+)$/.exec(rule) ?? [];
    if (endpoint !== undefined) {
      this.reached.add(endpoint);
      return true;
    }
    if (!rule.startsWith('numgen ')) return 'next';
    for (const [, choice = ''] of rule.matchAll(/: goto (\S+)/g)) this.run(choice, to);
    return true;
  }
}

/** Follows a packet that comes to the node or from its pods. */
export const trace = (kernel: FakeNft, nodeIps: readonly string[], packet: Packet): Outcome => {
  const table = kernel.tables.get(packet.to.includes(':') ? 'ip6 kube-proxy' : 'ip kube-proxy')!;
  const path = new Trace(table, nodeIps, packet);
  const end = (): Outcome => ({reaches: [...path.reached].join(' '), isMasqueraded: path.isMarked});
  if (path.run('filter-prerouting-pre-dnat')) return end();
  path.run('nat-prerouting');
  const [first] = path.reached;
  const translated = first?.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (path.run('filter-forward', translated)) return end();
  if (translated === undefined) path.run('filter-input');
  return end();
};
