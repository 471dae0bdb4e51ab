import {writeFileSync} from 'node:fs';
import https from 'node:https';
import {join} from 'node:path';
import {filter, firstValueFrom} from 'rxjs';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {runNodes} from '#src/cli/nodes/run.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {nodesFlags} from '#src/options/programs/nodes.js';
import {parseFlags} from '#src/options/parse.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {aDirectory} from './programs.js';

/** The credentials of a plane's administrator over HTTPS. */
export interface AdminTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface Cluster {
  readonly plane: Plane;
  /** A file with the administrator's connection settings. */
  readonly settings: string;
  readonly tls: AdminTls;
}

const embedded = (settings: string, field: string): string =>
  Buffer.from(new RegExp(`${field}: (\\S+)`).exec(settings)?.[1] ?? '', 'base64').toString();

/** A plane without nodes that listens on a port. */
export const aCluster = async (options: Omit<PlaneOptions, 'clock'> = {}): Promise<Cluster> => {
  const plane = await startPlane({
    nodes: 0,
    controllerManagerArgs: ['--controllers=serviceaccount-controller,deployment,replicaset,node-lifecycle-controller'],
    ...options,
  });
  const settings = join(aDirectory(), 'kubeconfig');
  writeFileSync(settings, plane.kubeconfig);
  const [ca, cert, key] = ['certificate-authority-data', 'client-certificate-data', 'client-key-data'].map(field =>
    embedded(plane.kubeconfig, field),
  );
  return {plane, settings, tls: {ca: ca!, cert: cert!, key: key!}};
};

export interface RunningNodes {
  readonly ready: string;
  /** Resolves with its exit code. */
  stop(): Promise<number>;
}

/** `plat nodes` within this process; resolves once it is ready, rejects with why it ended before. */
export const startNodes = async (settings: string, args: readonly string[] = [], log: Log = noLog): Promise<RunningNodes> => {
  const parsed = parseFlags(nodesFlags, [`--kubeconfig=${settings}`, ...args]);
  const stopping = new AbortController();
  let code: Promise<number> = Promise.resolve(0);
  const line = await new Promise<string>((resolve, reject) => {
    code = runNodes({
      parsed,
      log,
      clock: systemClock,
      unhandled: new UnhandledErrors(log),
      verbosity: new Verbosity(),
      version: versionInfoOf(parsed),
      stopping: stopping.signal,
      print: () => {},
      ready: resolve,
    });
    code.catch(reject);
  });
  return {
    ready: line,
    stop() {
      stopping.abort();
      return code;
    },
  };
};

/** The object once it is as wanted. */
export const until = async <T extends KubeObject>(
  {plane}: Pick<Cluster, 'plane'>,
  kind: Kind<T>,
  name: string,
  fits: (object: T) => boolean,
  namespace?: string,
): Promise<T> => {
  const {object} = await firstValueFrom(
    plane
      .client()
      .resource(kind)
      .watch({...(namespace ? {namespace} : {}), fieldSelector: `metadata.name=${name}`})
      .pipe(filter(({type, object}) => type !== 'BOOKMARK' && fits(object))),
  );
  return object;
};

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends a request to a server on this machine, with the credentials in the options. */
export const ask = (url: string, options: https.RequestOptions): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const outgoing = https.request(url, {agent: false, ...options}, answer => {
      let text = '';
      answer.on('data', chunk => (text += String(chunk))).on('end', () => resolve({status: answer.statusCode ?? 0, text}));
    });
    outgoing.on('error', reject).end();
  });
