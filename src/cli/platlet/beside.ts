// The agent of a node beside a plane, in the process of `plat up`.

import {readFileSync} from 'node:fs';
import {hostname} from 'node:os';
import {join, resolve} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {loadAuthority} from '#src/pki/authority.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {settingsText} from '#src/platlet/certificates/settings-file.js';
import {configurationKind} from '#src/platlet/config/load.js';
import {nodeNameOf} from '#src/platlet/node/addresses.js';
import type {Plane} from '#src/plane/plane.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import type {AgentPlace} from '#src/cli/node/clean-agent.js';
import {configured} from './configuration.js';
import {runPlatlet} from './run.js';

/** A running agent beside a plane. */
export interface AgentBeside extends AsyncDisposable {
  /** Where its files and its runtime are. */
  readonly place: AgentPlace;
  /** Resolves to why it has ended. */
  readonly ended: Promise<string>;
}

const lifetimeMs = 365 * 24 * 3_600_000;

/**
 * Starts the agent of a node of the plane with flags, with its data in the plane's directory, and resolves once it
 * works. Rejects if it cannot.
 */
export const startAgentBeside = async (
  plane: Plane,
  dataDir: string,
  given: readonly string[],
  {log, clock, unhandled, verbosity, version, stopping, print}: Omit<Invocation<unknown>, 'parsed' | 'ready'>,
): Promise<AgentBeside> => {
  const folder = resolve(dataDir, 'agent');
  const {options: own} = parseFlags(platletFlags, given);
  const name = nodeNameOf(own.hostnameOverride || hostname());
  const files = {settings: join(folder, 'platconfig'), configuration: join(folder, 'config.yaml')};
  await writeConnection(plane, dataDir, files.settings, name, clock.now());
  await systemFiles.write(files.configuration, configurationText(plane.naming, {dataDir, folder}), 0o600);
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
  const ending = new AbortController();
  void untilStopped(stopping).then(() => ending.abort());
  let isReady = (): void => {};
  const ready = new Promise<void>(done => (isReady = done));
  const parsed = await configured(parseFlags(platletFlags, argv));
  for (const warning of parsed.warnings) log.warn(warning);
  const run = runPlatlet({
    parsed,
    log: log.child({component: plane.naming.agent}),
    clock,
    unhandled,
    verbosity,
    version,
    stopping: ending.signal,
    print,
    ready: what => {
      log.info({what}, 'the agent works');
      isReady();
    },
  });
  await Promise.race([ready, run]);
  const {options, settings} = parsed;
  return {
    place: {
      rootDir: options.rootDir,
      podLogsDir: settings.podLogsDir,
      cgroupRoot: settings.cgroupRoot,
      endpoint: settings.containerRuntimeEndpoint,
    },
    ended: run.then(code => `exit code ${code}`, messageOf),
    async [Symbol.asyncDispose]() {
      ending.abort();
      await run.catch(() => {});
    },
  };
};

const unlessGiven = (given: readonly string[], own: Readonly<Record<string, string>>): string[] =>
  Object.entries(own)
    .filter(([flag]) => !given.some(arg => arg === `--${flag}` || arg.startsWith(`--${flag}=`)))
    .map(([flag, value]) => `--${flag}=${value}`);

/** Writes the connection settings of the node, with a new certificate by the plane's CA. */
const writeConnection = async (plane: Plane, dataDir: string, path: string, node: string, now: number): Promise<void> => {
  const [certificateFile, keyFile] = ['ca.crt', 'ca.key'].map(file => join(dataDir, 'pki', file)) as [string, string];
  const ca = readFileSync(certificateFile, 'utf8');
  const authority = loadAuthority(certificateFile, ca, readFileSync(keyFile));
  const pair = keyPairPem(
    await issueClientCertificate(authority, {
      now,
      lifetimeMs,
      commonName: `${wellKnown.nodeUserPrefix}${node}`,
      organizations: [wellKnown.nodes],
    }),
  );
  const text = settingsText({server: plane.url, trust: {ca: {data: ca}}}, {cert: {data: pair.certificate}, key: {data: pair.key}});
  await systemFiles.write(path, text, 0o600);
};

/** The configuration of the agent: requests are authenticated by the plane's CA and authorized by the plane. */
const configurationText = (naming: Naming, {dataDir, folder}: {readonly dataDir: string; readonly folder: string}): string =>
  `${JSON.stringify(
    {
      ...configurationKind(naming),
      authentication: {x509: {clientCAFile: resolve(dataDir, 'pki', 'ca.crt')}},
      failCgroupV1: false,
      podLogsDir: join(folder, 'logs'),
    },
    undefined,
    2,
  )}\n`;
