// Flows of UDP as the kernel tracks them, and which of them go to endpoints that are gone. The kernel translates a
// flow's packets as it did the first, whatever the rules are now.

import {formatIp, parseLooseIp} from '#src/base/ip-address.js';
import type {ProxyState} from '#src/proxy/mode/mode.js';
import {hostAndPort} from '#src/proxy/state/ip-family.js';

/** A tracked flow: where its packets were sent, and from where the answers come. */
export interface Flow {
  readonly destination: string;
  readonly destinationPort: number;
  readonly replySource: string;
  readonly replySourcePort: number;
}

/** Both directions, one after the other, with addresses before ports. */
const flowLine =
  /^udp .*? src=\S+ dst=(?<dst>\S+) sport=\d+ dport=(?<dport>\d+) .*?src=(?<replySrc>\S+) dst=\S+ sport=(?<replySport>\d+) dport=\d+/;

const canonical = (text: string): string => {
  const address = parseLooseIp(text);
  return address ? formatIp(address) : text;
};

/** Reads the flows that `conntrack -L` lists, a line each. Lines of other forms are left out. */
export const parseFlows = (listed: string): readonly Flow[] =>
  listed.split('\n').flatMap(line => {
    const {dst = '', dport, replySrc = '', replySport} = flowLine.exec(line)?.groups ?? {};
    if (dport === undefined) return [];
    return [
      {
        destination: canonical(dst),
        destinationPort: Number(dport),
        replySource: canonical(replySrc),
        replySourcePort: Number(replySport),
      },
    ];
  });

/** Matches flows by where they came to and who answers. */
export type FlowFilter = Omit<Flow, 'destination'> & {
  /** Undefined for all addresses, as of node ports. */
  readonly destination: string | undefined;
};

type Endpoints = Pick<ProxyState, 'services' | 'endpoints'>;

/** The endpoints that serve the ports of services, by address and port of the service, and by node port. */
interface Serving {
  readonly byAddress: ReadonlyMap<string, ReadonlySet<string>>;
  readonly byNodePort: ReadonlyMap<number, ReadonlySet<string>>;
}

/**
 * Traffic policies and the like do not count: they are for new flows. A service without endpoints keeps its flows; they
 * end when it gets some.
 */
const servingOf = ({services, endpoints}: Endpoints): Serving => {
  const byAddress = new Map<string, ReadonlySet<string>>();
  const byNodePort = new Map<number, ReadonlySet<string>>();
  for (const [key, port] of services) {
    if (port.protocol !== 'UDP') continue;
    const serving = new Set((endpoints.get(key) ?? []).flatMap(({address, isServing}) => (isServing ? [address] : [])));
    if (serving.size === 0) continue;
    for (const ip of [port.clusterIp, ...port.loadBalancerIps, ...port.externalIps]) byAddress.set(hostAndPort(ip, port.port), serving);
    if (port.nodePort !== 0) byNodePort.set(port.nodePort, serving);
  }
  return {byAddress, byNodePort};
};

/** Returns what matches the flows to services whose answers do not come from an endpoint that serves them. */
export const staleFlows = (flows: readonly Flow[], state: Endpoints): readonly FlowFilter[] => {
  const {byAddress, byNodePort} = servingOf(state);
  const filters = new Map<string, FlowFilter>();
  for (const flow of flows) {
    const {destination, destinationPort, replySource, replySourcePort} = flow;
    const replier = hostAndPort(replySource, replySourcePort);
    const isStale = (serving: ReadonlySet<string> | undefined): boolean => serving !== undefined && !serving.has(replier);
    const found: readonly FlowFilter[] = [
      ...(isStale(byAddress.get(hostAndPort(destination, destinationPort))) ? [flow] : []),
      ...(isStale(byNodePort.get(destinationPort)) ? [{...flow, destination: undefined}] : []),
    ];
    for (const filter of found) filters.set(`${filter.destination} ${destinationPort} ${replier}`, filter);
  }
  return [...filters.values()];
};
