// The proxies of the environment (HTTPS_PROXY, NO_PROXY), as Go's HTTP client applies them to requests over TLS: never
// to this machine, and not to hosts, domains, addresses and networks that NO_PROXY lists.

import {BlockList, isIP} from 'node:net';
import type {Clock} from '#src/base/clock.js';
import {dialer, type Dial} from './dial.js';
import type {Network} from './network.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the URL of the proxy for a server; undefined for a direct connection. */
export type ProxyFor = (host: string, port: string) => string | undefined;

const variable = (env: Environment, name: string): string => env[name] || env[name.toLowerCase()] || '';

/** Returns the proxies of an environment; undefined if it names none. */
export const environmentProxy = (env: Environment): ProxyFor | undefined => {
  const proxy = variable(env, 'HTTPS_PROXY');
  if (proxy === '') return undefined;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  const exceptions = variable(env, 'NO_PROXY').split(',').map(parsedException);
  return (host, port) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    if (name === '' || name === 'localhost' || loopback.check(name, familyOf(name))) return undefined;
    return exceptions.some(matches => matches(name, port)) ? undefined : url;
  };
};

type Exception = (host: string, port: string) => boolean;

const familyOf = (host: string): 'ipv4' | 'ipv6' => (isIP(host) === 6 ? 'ipv6' : 'ipv4');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Parses an entry of NO_PROXY: `*`, a network, an address, or a domain with its subdomains; all but the first two may
 * have a port.
 */
const parsedException = (entry: string): Exception => {
  const text = entry.trim().toLowerCase();
  if (text === '') return () => false;
  if (text === '*') return () => true;
  const network = /^([0-9a-f.:]+)\/(\d+)$/.exec(text);
  if (network && isIP(network[1]!)) return inNetwork(network[1]!, Number(network[2]));
  const [, bracketed, plain = '', port] = /^(?:\[(.*)\]|(.*?))(?::(\d+))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
  const at: Exception = (_, wanted) => port === undefined || port === wanted;
  const name = bracketed ?? plain;
  if (isIP(name)) return (host, wanted) => host === name && at(host, wanted);
  const suffix = name.startsWith('*.') ? name.slice(1) : name;
  const domain = suffix.startsWith('.') ? suffix : `.${suffix}`;
  return (host, wanted) => (host.endsWith(domain) || host === suffix) && at(host, wanted);
};

const inNetwork = (address: string, prefix: number): Exception => {
  const list = new BlockList();
  if (prefix > (isIP(address) === 6 ? 128 : 32)) return () => false;
  list.addSubnet(address, prefix, familyOf(address));
  return host => isIP(host) !== 0 && list.check(host, familyOf(host));
};

/**
 * Returns the dialer over a network that uses the proxies of the environment for servers with TLS, unless their
 * addresses are known already.
 */
export const environmentDialer = (network: Network, clock: Clock, env: Environment = process.env): Dial => {
  const direct = dialer(network, clock);
  const proxyFor = environmentProxy(env);
  if (!proxyFor) return direct;
  return async (target, protocols) => {
    const {scheme, host, port, addresses} = target;
    const proxy = scheme === 'https' && !addresses ? proxyFor(host, port) : undefined;
    if (proxy === undefined) return direct(target, protocols);
    const {throughProxy} = await import('./proxy.js');
    return dialer(throughProxy(network, proxy, clock), clock)(target, protocols);
  };
};
