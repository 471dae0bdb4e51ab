// The agent of a node beside a plane, in the process of `plat up`.

import {hostname} from 'node:os';
import {join, resolve} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import {systemFiles} from '#src/base/files/files.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {configurationKind} from '#src/platlet/config/load.js';
import {nodeNameOf} from '#src/platlet/node/addresses.js';
import type {Plane} from '#src/plane/plane.js';
import type {AgentPlace} from '#src/cli/node/clean-agent.js';
import {startBeside, unlessGiven, writeConnection, type BesideInvocation, type ProgramBeside} from '#src/cli/program/beside.js';
import {configured} from './configuration.js';
import {runPlatlet} from './run.js';

/** A running agent beside a plane. */
export interface AgentBeside extends ProgramBeside {
  readonly nodeName: string;
  /** Where its files and its runtime are. */
  readonly place: AgentPlace;
}

/**
 * Starts the agent of a node of the plane with flags, with its data in the plane's directory, and resolves once it
 * works. Pods ask `dnsAddress`, the cluster's DNS, if there is one. Rejects if it cannot.
 */
export const startAgentBeside = async (
  plane: Plane,
  dataDir: string,
  given: readonly string[],
  invocation: BesideInvocation,
  dnsAddress?: string,
): Promise<AgentBeside> => {
  const {log, clock} = invocation;
  const folder = resolve(dataDir, 'agent');
  const {options: own} = parseFlags(platletFlags, given);
  const name = nodeNameOf(own.hostnameOverride || hostname());
  const files = {settings: join(folder, 'platconfig'), configuration: join(folder, 'config.yaml')};
  const user = {commonName: `${wellKnown.nodeUserPrefix}${name}`, organizations: [wellKnown.nodes]};
  await writeConnection(plane, {dataDir, path: files.settings, user, now: clock.now()});
  await systemFiles.write(files.configuration, configurationText(plane.naming, {dataDir, folder, dnsAddress}), 0o600);
  const argv = [
    ...unlessGiven(given, {
      naming: plane.naming.name,
      platconfig: files.settings,
      config: files.configuration,
      'root-dir': join(folder, 'root'),
      'cert-dir': join(folder, 'pki'),
      'hostname-override': name,
    }),
    ...given,
  ];
  const parsed = await configured(parseFlags(platletFlags, argv));
  for (const warning of parsed.warnings) log.warn(warning);
  const program = await startBeside(invocation, {component: plane.naming.agent, what: 'the agent works'}, own =>
    runPlatlet({...own, parsed}),
  );
  const {options, settings} = parsed;
  return {
    nodeName: name,
    place: {
      rootDir: options.rootDir,
      podLogsDir: settings.podLogsDir,
      cgroupRoot: settings.cgroupRoot,
      endpoint: settings.containerRuntimeEndpoint,
    },
    ended: program.ended,
    [Symbol.asyncDispose]: () => program[Symbol.asyncDispose](),
  };
};

/** The cluster's domain, in which its DNS serves names. */
export const clusterDomain = 'cluster.local';

/** The configuration of the agent: requests are authenticated by the plane's CA and authorized by the plane. */
const configurationText = (
  naming: Naming,
  {dataDir, folder, dnsAddress}: {readonly dataDir: string; readonly folder: string; readonly dnsAddress: string | undefined},
): string =>
  `${JSON.stringify(
    {
      ...configurationKind(naming),
      authentication: {x509: {clientCAFile: resolve(dataDir, 'pki', 'ca.crt')}},
      failCgroupV1: false,
      podLogsDir: join(folder, 'logs'),
      ...(dnsAddress ? {clusterDNS: [dnsAddress], clusterDomain} : {}),
    },
    undefined,
    2,
  )}\n`;
