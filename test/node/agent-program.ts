// The program of a node's agent, in this process, against a plane with a port.

import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {writeFile} from 'node:fs/promises';
import {systemClock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {configured} from '#src/cli/platlet/configuration.js';
import {runPlatlet} from '#src/cli/platlet/run.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {parseFlags} from '#src/options/parse.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {loadAuthority} from '#src/pki/authority.js';
import {issueClientCertificate, keyPairPem} from '#src/pki/issuing.js';
import {settingsText} from '#src/platlet/certificates/settings-file.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import type {Containerd} from './containerd.js';

export interface AgentProgram extends AsyncDisposable {
  /** Resolves to the line that it prints when it works. Rejects if it ends before. */
  readonly ready: Promise<string>;
  readonly ended: Promise<number>;
}

/** Runs the agent with flags. */
export const runAgent = (argv: readonly string[], log: Log = noLog): AgentProgram => {
  const stopping = new AbortController();
  let ready: (line: string) => void = () => {};
  const isReady = new Promise<string>(resolve => (ready = resolve));
  const run = async (): Promise<number> =>
    runPlatlet({
      parsed: await configured(parseFlags(platletFlags, argv)),
      log,
      clock: systemClock,
      unhandled: new UnhandledErrors(log),
      verbosity: new Verbosity(0, ''),
      version: versionInfoOf(parseFlags(platletFlags, argv)),
      stopping: stopping.signal,
      print: () => {},
      ready,
    });
  const ended = run();
  ended.catch(() => {});
  return {
    ready: Promise.race([isReady, ended.then(code => Promise.reject(new Error(`the agent ended with ${code}`)))]),
    ended,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
};

/** Returns the flags of an agent that runs the pods of a containerd, with folders in that of the containerd. */
export const agentFlags = (
  node: Containerd,
  {
    name,
    settings,
    port,
    healthPort,
  }: {readonly name: string; readonly settings: string; readonly port: number; readonly healthPort: number},
): readonly string[] => [
  `--platconfig=${settings}`,
  `--hostname-override=${name}`,
  `--container-runtime-endpoint=${node.endpoint}`,
  `--root-dir=${join(node.agentFolder, 'root')}`,
  `--cert-dir=${join(node.agentFolder, 'pki')}`,
  `--cgroup-root=${node.cgroup}`,
  `--port=${port}`,
  `--healthz-port=${healthPort}`,
  '--read-only-port=0',
  '--make-iptables-util-chains=false',
  '--fail-cgroupv1=false',
];

/**
 * Writes the connection settings of a node of a plane, with a certificate by the plane's CA. Returns the path of the
 * file.
 */
export const nodeSettings = async (plane: Pick<Plane, 'url'>, directory: string, folder: string, node: string): Promise<string> => {
  const pki = (name: string) => readFileSync(join(directory, 'pki', name), 'utf8');
  const authority = loadAuthority('ca', pki('ca.crt'), pki('ca.key'));
  const {certificate, key} = keyPairPem(
    await issueClientCertificate(authority, {
      now: Date.now(),
      lifetimeMs: 3_600_000,
      commonName: `system:node:${node}`,
      organizations: ['system:nodes'],
    }),
  );
  const path = join(folder, 'platconfig');
  const cluster = {server: plane.url, trust: {ca: {data: pki('ca.crt')}}};
  await writeFile(path, settingsText(cluster, {cert: {data: certificate}, key: {data: key}}));
  return path;
};

/** Returns the flags of an agent that runs the pods of files, without an API server. */
export const standaloneFlags = (node: Containerd, manifests: string): readonly string[] => [
  '--hostname-override=alone',
  '--naming=kubernetes',
  `--container-runtime-endpoint=${node.endpoint}`,
  `--root-dir=${join(node.agentFolder, 'root')}`,
  `--cert-dir=${join(node.agentFolder, 'pki')}`,
  `--cgroup-root=${node.cgroup}`,
  `--pod-manifest-path=${manifests}`,
  '--file-check-frequency=100ms',
  '--fail-cgroupv1=false',
];

/** A plane with one node of real containers. Disposing of it stops the agent, then the plane. */
export interface PlaneWithAgent extends AsyncDisposable {
  readonly plane: Plane;
  readonly agent: AgentProgram;
  /** A folder of its own. */
  readonly directory: string;
}

/** Starts a plane and the agent of a node, with further flags. The agent may not be ready yet. */
export const startPlaneWithAgent = async (
  node: Containerd,
  {name, port}: {readonly name: string; readonly port: number},
  more: readonly string[] = [],
): Promise<PlaneWithAgent> => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-node-'));
  const plane = await startPlane({
    naming: 'kubernetes',
    dataDir: directory,
    bootstrapTokens: true,
    controllers: ['serviceaccount-controller'],
  });
  const settings = await nodeSettings(plane, directory, node.agentFolder, name);
  const agent = runAgent([...agentFlags(node, {name, settings, port, healthPort: 0}), ...more]);
  return {
    plane,
    agent,
    directory,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await plane.stop();
      rmSync(directory, {recursive: true, force: true});
    },
  };
};
