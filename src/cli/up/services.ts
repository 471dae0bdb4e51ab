// Services and their names beside a plane with an agent, in the process of `plat up`: the DNS server of the cluster,
// the proxy that routes the addresses of services on this machine, and the routes to pods of other nodes.

import {execFile} from 'node:child_process';
import {isIP} from 'node:net';
import {join} from 'node:path';
import {promisify} from 'node:util';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import {systemRandom as random} from '#src/base/random.js';
import {clusterDomain} from '#src/cli/platlet/beside.js';
import {
  proxyFolder,
  startBeside,
  unlessGiven,
  writeConnection,
  type BesideInvocation,
  type ProgramBeside,
} from '#src/cli/program/beside.js';
import {configured} from '#src/cli/proxy/configuration.js';
import {runProxy} from '#src/cli/proxy/run.js';
import {dnsServiceAddress, dnsUser, ensureDnsPermissions, ensureDnsService} from '#src/controlplane/cluster-dns.js';
import {startDns} from '#src/dns/dns.js';
import {defaultSettings} from '#src/dns/settings/settings.js';
import {parseFlags} from '#src/options/parse.js';
import {proxyFlags} from '#src/options/programs/proxy.js';
import {hostAddress} from '#src/plane/api-server/host-address.js';
import type {Plane} from '#src/plane/plane.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {startPodRoutes} from '#src/proxy/pod-routes/start-pod-routes.js';

/** A DNS server beside a plane. */
export interface DnsBeside extends AsyncDisposable {
  /** The address of its service, which pods ask. */
  readonly serviceAddress: string;
}

interface DnsParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
  /** The address of the API server. */
  readonly bindAddress: string;
}

/** The address of this machine that pods reach. */
const reachableAddress = (bindAddress: string, family: 'IPv4' | 'IPv6'): string | undefined => {
  const isOwn = isIP(bindAddress) > 0 && !isLoopback(bindAddress) && !['0.0.0.0', '::'].includes(bindAddress);
  return isOwn ? bindAddress : hostAddress(family);
};

/**
 * Starts the DNS server of the cluster on a free port of this machine, behind a Service at the tenth address of the
 * range. Returns undefined, after a line in the log, where it cannot be.
 */
export const startDnsBeside = async (plane: Plane, {log, clock, stopping, bindAddress}: DnsParts): Promise<DnsBeside | undefined> => {
  const [range = ''] = plane.ranges.services;
  const serviceAddress = dnsServiceAddress(range);
  const address = serviceAddress && reachableAddress(bindAddress, isIP(serviceAddress) === 6 ? 'IPv6' : 'IPv4');
  if (!address) {
    log.warn({range}, 'names of services are not served: this machine has no address that pods reach, or the range is too small');
    return undefined;
  }
  const client = plane.client();
  const own = log.child({component: 'plat-dns'});
  try {
    await ensureDnsPermissions(client);
    const dns = await startDns({
      client: plane.client(dnsUser(plane.naming), 'plat-dns'),
      clock,
      random,
      log: own,
      meter: plane.api.metrics,
      files: systemFiles,
      settings: {...defaultSettings, domain: clusterDomain},
      addresses: [address],
      port: 0,
      signal: stopping,
      onLoop: message => own.error(message),
    });
    await ensureDnsService(client, serviceAddress, dns.addresses);
    return {serviceAddress, [Symbol.asyncDispose]: () => dns.stop()};
  } catch (error) {
    stopping.throwIfAborted();
    log.error({err: error}, 'names of services are not served');
    return undefined;
  }
};

/** Whether a program can be started. */
const exists = (program: string): Promise<boolean> =>
  promisify(execFile)(program, ['--version']).then(
    () => true,
    () => false,
  );

/** What `plat up` leaves as the machine has it, and where the ports of the proxy are. */
const quietFlags: Readonly<Record<string, string>> = {
  'proxy-mode': 'nftables',
  'healthz-bind-address': '127.0.0.1:10256',
  'metrics-bind-address': '127.0.0.1:10249',
  'conntrack-max-per-core': '0',
  'conntrack-tcp-timeout-established': '0s',
  'conntrack-tcp-timeout-close-wait': '0s',
};

/**
 * Starts the proxy of a node of the plane with flags, and resolves once it routes. Returns undefined, after a line in
 * the log, where `nft` is not installed.
 */
export const startProxyBeside = async (
  plane: Plane,
  {dataDir, nodeName}: {readonly dataDir: string; readonly nodeName: string},
  given: readonly string[],
  invocation: BesideInvocation,
): Promise<ProgramBeside | undefined> => {
  const {log, clock} = invocation;
  const isNftables = !given.some(flag => /^--proxy-mode=(?!nftables)/.test(flag));
  if (isNftables && !(await exists('nft'))) {
    log.warn('addresses of services are not routed: nft is not installed (Debian: apt-get install nftables)');
    return undefined;
  }
  const settings = join(proxyFolder(dataDir), 'platconfig');
  const user = {commonName: plane.naming.componentUser('proxy'), organizations: []};
  await writeConnection(plane, {dataDir, path: settings, user, now: clock.now()});
  const ranges = plane.ranges.pods.length > 0 ? {'cluster-cidr': plane.ranges.pods.join(',')} : {};
  const own = {...quietFlags, ...ranges, naming: plane.naming.name, platconfig: settings, 'hostname-override': nodeName};
  const argv = [...unlessGiven(given, own), ...given];
  const parsed = await configured(parseFlags(proxyFlags, argv));
  for (const warning of parsed.warnings) log.warn(warning);
  const component = plane.naming.component('proxy');
  const program = await startBeside(invocation, {component, what: 'the service proxy works'}, own => runProxy({...own, parsed}));
  void program.ended.then(outcome => invocation.stopping.aborted || log.error({outcome}, 'the service proxy has ended'));
  return program;
};

/**
 * Keeps the routes of a node of the plane to the pods of the others. Returns undefined, after a line in the log, where
 * it cannot.
 */
export const startRoutesBeside = async (
  plane: Plane,
  nodeName: string,
  {log, clock}: BesideInvocation,
): Promise<AsyncDisposable | undefined> => {
  const user = {name: plane.naming.componentUser('proxy'), groups: [wellKnown.authenticated]};
  const client = plane.client(user, 'pod-routes');
  try {
    return await startPodRoutes({client, nodeName, kernel: systemKernel, clock, log: log.child({component: 'pod-routes'})});
  } catch (error) {
    log.error({err: error}, 'pods of other nodes are not routed');
    return undefined;
  }
};
