// The original's programs, measured beside plat in the same run by the same client.

import {type ChildProcess, spawn} from 'node:child_process';
import {accessSync, constants, writeFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {ApiClient} from './api-client.js';
import {clusterCredentials, servingFlags, type Credentials} from './credentials.js';
import {freePort, startEtcd} from './etcd-server.js';
import {owned, scratch, statisticsOf, type Running, type Server} from './programs.js';

const programs = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;

/** Returns whether the folders of a PATH hold programs. */
const isOnPath = (names: readonly string[], path: string): boolean =>
  names.every(program =>
    path.split(delimiter).some(folder => {
      try {
        accessSync(join(folder, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    }),
  );

/** Returns whether the folders of a PATH hold all programs of the original that are measured. */
export const hasOriginal = (path = process.env['PATH'] ?? ''): boolean => isOnPath(programs, path);

/** The folder of kwok's stages, which its program does not contain: `kustomize/stage` of its repository. */
const stageFolder = (): string | undefined => process.env['BENCH_KWOK_STAGES'] || undefined;

/** Stages without delays, and nodes that renew a lease. */
const stages = [
  'node/fast/node-initialize',
  'node/heartbeat-with-lease/node-heartbeat-with-lease',
  'pod/fast/pod-ready',
  'pod/fast/pod-delete',
];

/**
 * Returns whether kwok is there too, which simulates nodes for the original. BENCH_KWOK_STAGES is the folder of its
 * stages.
 */
export const hasOriginalNodes = (path = process.env['PATH'] ?? '', folder = stageFolder()): boolean =>
  folder !== undefined && isOnPath([...programs, 'kwok'], path);

/** What the original's flags are of. */
export interface OriginalPlaces {
  readonly credentials: Credentials;
  readonly kubeconfig: string;
  readonly etcdUrl: string;
  readonly port: number;
  readonly managerPort: number;
  readonly schedulerPort: number;
}

export const originalApiServerFlags = ({credentials, etcdUrl, port}: OriginalPlaces): string[] => [
  ...servingFlags(credentials, port),
  `--etcd-servers=${etcdUrl}`,
  // A loopback address cannot be the endpoint of a service.
  '--endpoint-reconciler-type=none',
];

/** The client limits are raised, as those of controllers in plat's process do not exist. */
export const originalManagerFlags = ({credentials: {files}, kubeconfig, managerPort}: OriginalPlaces): string[] => [
  `--kubeconfig=${kubeconfig}`,
  '--bind-address=127.0.0.1',
  `--secure-port=${managerPort}`,
  '--leader-elect=false',
  `--root-ca-file=${files.ca}`,
  `--cluster-signing-cert-file=${files.ca}`,
  `--cluster-signing-key-file=${files.caKey}`,
  `--service-account-private-key-file=${files.serviceAccountKey}`,
  '--kube-api-qps=5000',
  '--kube-api-burst=10000',
];

export const originalSchedulerFlags = ({kubeconfig, schedulerPort}: OriginalPlaces): string[] => [
  `--kubeconfig=${kubeconfig}`,
  '--bind-address=127.0.0.1',
  `--secure-port=${schedulerPort}`,
  '--leader-elect=false',
  '--kube-api-qps=5000',
  '--kube-api-burst=10000',
];

const kubeconfigOf = (url: string, {files}: Credentials): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'bench', cluster: {server: url, 'certificate-authority': files.ca}}],
    users: [{name: 'bench', user: {'client-certificate': files.admin, 'client-key': files.adminKey}}],
    contexts: [{name: 'bench', context: {cluster: 'bench', user: 'bench'}}],
    'current-context': 'bench',
  });

const readyLimitMs = 120_000;

/** A program of the original, and the end of what it has logged. */
class Program {
  readonly child: ChildProcess;
  #log = '';

  constructor(program: string, flags: readonly string[]) {
    this.child = owned(spawn(program, flags, {stdio: ['ignore', 'ignore', 'pipe']}));
    this.child.stderr!.on('data', (chunk: Buffer) => (this.#log = (this.#log + chunk.toString()).slice(-2000)));
  }

  /** Resolves once that path is answered. Rejects if the program ends before. */
  async untilAnswered(server: Server, path: string): Promise<void> {
    const {child} = this;
    for (const startedAt = performance.now(); performance.now() - startedAt < readyLimitMs; await wait(50)) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`${child.spawnfile} ended with ${child.exitCode ?? child.signalCode}: ${this.#log}`);
      using client = new ApiClient(server, 1);
      const isAnswered = await client.call('GET', path).then(
        () => true,
        () => false,
      );
      if (isAnswered) return;
    }
    throw new Error(`${child.spawnfile} was not ready after ${readyLimitMs / 1000} s: ${this.#log}`);
  }
}

/** Where another program finds the server, as an administrator. */
export interface Original extends Running {
  readonly kubeconfig: string;
}

/** Ends programs, the last first, and etcd after them. */
const ending = (programs: readonly ChildProcess[], etcd: Pick<Running, 'residentMb' | 'cpuMs' | 'stop'>) => {
  const statistics = statisticsOf(programs);
  return {
    residentMb: () => statistics.residentMb() + etcd.residentMb(),
    cpuMs: () => statistics.cpuMs() + etcd.cpuMs(),
    stop: async () => {
      await statistics.stop();
      await etcd.stop();
    },
  };
};

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler with certificates in a directory, a new one
 * by default. Its time is until its API server is ready and its controllers have begun. Rejects unless all are on the
 * PATH.
 */
export const startOriginal = async (directory?: string): Promise<Original> => {
  const place = directory ?? (await scratch());
  const credentials = await clusterCredentials(place);
  const startedAt = performance.now();
  const etcd = await startEtcd(join(place, 'etcd'));
  if (!etcd) throw new Error('etcd could not be started');
  const [port, managerPort, schedulerPort] = [await freePort(), await freePort(), await freePort()];
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = join(place, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf(url, credentials), {mode: 0o600});
  const places: OriginalPlaces = {credentials, kubeconfig, etcdUrl: etcd.url, port, managerPort, schedulerPort};
  const server = {url, pki: credentials.pki};
  const apiServer = new Program('kube-apiserver', originalApiServerFlags(places));
  await apiServer.untilAnswered(server, '/readyz');
  const manager = new Program('kube-controller-manager', originalManagerFlags(places));
  const scheduler = new Program('kube-scheduler', originalSchedulerFlags(places));
  await manager.untilAnswered(server, '/api/v1/namespaces/default/serviceaccounts/default');
  const readyMs = performance.now() - startedAt;
  return {...server, readyMs, directory: place, kubeconfig, ...ending([apiServer.child, manager.child, scheduler.child], etcd)};
};

/** Starts the original with kwok, which makes the nodes that are created ready and runs their pods. */
export const startOriginalNodes = async (): Promise<Running> => {
  const original = await startOriginal();
  const kwok = new Program('kwok', [
    `--kubeconfig=${original.kubeconfig}`,
    ...stages.map(stage => `--config=${join(stageFolder()!, `${stage}.yaml`)}`),
    '--manage-all-nodes=true',
    '--node-lease-duration-seconds=40',
  ]);
  return {...original, ...ending([kwok.child], original)};
};
