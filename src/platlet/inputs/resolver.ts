// The DNS configuration of a pod.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {DnsConfig} from '#src/platlet/runtime/configs.js';
import {podText} from '#src/platlet/pod/backoff.js';

export interface ResolverSettings {
  /** The name of the agent in messages. */
  readonly agent: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The content of the host's resolver file; undefined if pods do not inherit it. */
  readonly hostFile: string | undefined;
}

/** A DNS configuration, and warnings about it as reasons and messages of events. */
export interface Resolver {
  readonly dns: DnsConfig;
  readonly warnings: readonly (readonly [reason: string, message: string])[];
}

const limits = {servers: 3, searches: 32, searchCharacters: 2048, domainCharacters: 253} as const;
/** The search domains of a pod in a cluster with a domain, added before those of the host. */
const clusterSearches = 3;
const clusterOptions = ['ndots:5'];

/** Parses a resolver file: all nameservers, and the last searches and options. */
export const parseResolverFile = (text: string): DnsConfig => {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword = '', ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && values[0]) servers.push(values[0]);
    else if (keyword === 'search') searches = values.map(value => (value === '.' ? value : value.replace(/\.$/, '')));
    else if (keyword === 'options') options = values;
  }
  return {servers, searches, options: distinct(options)};
};

const distinct = (values: readonly string[]): string[] => [...new Set(values)];

const noResolver: DnsConfig = {servers: ['127.0.0.1'], searches: ['.'], options: []};

const hostResolver = ({hostFile}: ResolverSettings): DnsConfig => (hostFile === undefined ? noResolver : parseResolverFile(hostFile));

const clusterResolver = (namespace: string, settings: ResolverSettings): DnsConfig => {
  const {clusterDns, clusterDomain: domain, hostFile} = settings;
  const own = hostFile === undefined ? [] : parseResolverFile(hostFile).searches;
  const cluster = domain ? [`${namespace}.svc.${domain}`, `svc.${domain}`, domain] : [];
  return {servers: clusterDns, searches: distinct([...cluster, ...own]), options: clusterOptions};
};

/** Later options override earlier ones of the same name. */
const mergedOptions = (before: readonly string[], added: readonly string[]): string[] => {
  const merged = new Map(before.map(option => [option.split(':')[0]!, option]));
  for (const option of added) merged.set(option.split(':')[0]!, option);
  return [...merged.values()];
};

const withPodConfig = (dns: DnsConfig, {spec}: Frozen<Pod>): DnsConfig => {
  const {nameservers = [], searches = [], options = []} = spec?.dnsConfig ?? {};
  return {
    servers: distinct([...dns.servers, ...nameservers]),
    searches: distinct([...dns.searches, ...searches]),
    options: mergedOptions(
      dns.options,
      options.flatMap(({name, value}) => (name ? [value === undefined ? name : `${name}:${value}`] : [])),
    ),
  };
};

/** Returns as many leading search domains as the limits allow. */
const fittingSearches = (searches: readonly string[]): readonly string[] => {
  let characters = -1;
  const end = searches.findIndex((search, index) => {
    characters += search.length + 1;
    return index >= limits.searches || characters > limits.searchCharacters;
  });
  return end < 0 ? searches : searches.slice(0, end);
};

/** Returns a configuration within the limits of resolvers, and what was omitted. */
const limited = (dns: DnsConfig): Resolver => {
  const warnings: [string, string][] = [];
  const servers = dns.servers.slice(0, limits.servers);
  const searches = fittingSearches(dns.searches);
  if (servers.length < dns.servers.length)
    warnings.push([
      'DNSConfigForming',
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
    ]);
  if (searches.length < dns.searches.length)
    warnings.push([
      'DNSConfigForming',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
    ]);
  return {dns: {servers, searches, options: dns.options}, warnings};
};

/**
 * Returns the event message about the host's resolver file at a path if it exceeds the limits; undefined otherwise. The
 * search domains of the cluster count, too.
 */
export const checkHostResolver = (path: string, hostFile: string | undefined, clusterDomain: string): string | undefined => {
  if (hostFile === undefined) return `open ${path}: no such file or directory`;
  const {searches} = parseResolverFile(hostFile);
  const fitting = limits.searches - (clusterDomain ? clusterSearches : 0);
  if (searches.length > fitting) return `Resolv.conf file '${path}' contains search line consisting of more than ${fitting} domains!`;
  if (searches.some(search => search.length > limits.domainCharacters))
    return `Resolv.conf file ${JSON.stringify(path)} contains a search path which length is more than allowed ${limits.domainCharacters} chars!`;
  if (searches.join(' ').length > limits.searchCharacters)
    return `Resolv.conf file '${path}' contains search line which length is more than allowed ${limits.searchCharacters} chars!`;
  return undefined;
};

/** Returns the DNS configuration of a pod. */
export const podResolver = (pod: Frozen<Pod>, settings: ResolverSettings): Resolver => {
  const {dnsPolicy = 'ClusterFirst', hostNetwork} = pod.spec ?? {};
  const wantsCluster = dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
  const warnings: [string, string][] = [];
  let base: DnsConfig;
  if (dnsPolicy === 'None') base = {servers: [], searches: [], options: []};
  else if (wantsCluster && settings.clusterDns.length > 0) base = clusterResolver(pod.metadata?.namespace ?? '', settings);
  else {
    base = hostResolver(settings);
    if (wantsCluster)
      warnings.push([
        'MissingClusterDNS',
        `pod: ${JSON.stringify(podText(pod))}. ${settings.agent} does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
      ]);
  }
  const {dns, warnings: cut} = limited(withPodConfig(base, pod));
  return {dns, warnings: [...warnings, ...cut]};
};
