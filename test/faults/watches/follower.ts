// A process that follows the config maps of a namespace with one library, and answers what its cache holds.

import {pathToFileURL} from 'node:url';
import {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {systemRandom} from '#src/base/random.js';
import {clientBy} from '#test/cli/programs.js';
import {measure, type Measurement} from '#test/faults/soak/measure.js';

/** The arguments of the process, as JSON. */
export interface Followed {
  readonly library: 'plat' | 'client-node' | 'kubernetes-fluent-client';
  readonly kubeconfig: string;
  /** The main script of a library that is not a dependency. */
  readonly module?: string;
}

export interface FollowerAnswer extends Measurement {
  /** The resource version of each object in the cache, by name. */
  readonly cache: Readonly<Record<string, string>>;
  /** The states of objects that handlers were called with, as `name@resourceVersion`, since the last question. */
  readonly seen: readonly string[];
}

export const namespace = 'default';

let seen: string[] = [];
/** An object of any of the libraries. */
interface Named {
  readonly metadata?: {readonly name?: string; readonly resourceVersion?: string} | undefined;
}
const stateOf = ({metadata}: Named): string => `${metadata?.name}@${metadata?.resourceVersion}`;
const versions = (objects: Iterable<Named>): Record<string, string> =>
  Object.fromEntries([...objects].map(({metadata}) => [metadata!.name!, metadata!.resourceVersion!]));

const withPlat = async (file: string): Promise<() => Record<string, string>> => {
  const client = await clientBy(file, 'kubernetes');
  const parts = {clock: systemClock, random: systemRandom, log: noLog, meter: noMeter};
  const factory = new InformerFactory({...parts, client, minResyncMs: 0, signal: new AbortController().signal});
  const informer = factory.informer({kind: kinds.configMaps, namespace});
  informer.listen(({type, object}) => type !== 'deleted' && seen.push(stateOf(object)));
  factory.start();
  return () => versions(informer.lister.list());
};

/** With a restart a second after an error, as its documentation shows. */
const withClientNode = async (file: string): Promise<() => Record<string, string>> => {
  const {CoreV1Api, KubeConfig, makeInformer} = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(file);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => api.listNamespacedConfigMap({namespace}));
  for (const verb of ['add', 'update'] as const) informer.on(verb, object => seen.push(stateOf(object)));
  informer.on('error', () => setTimeout(() => void informer.start().catch(() => {}), 1000));
  await informer.start();
  return () => versions(informer.list());
};

interface Fluent {
  readonly K8s: (kind: unknown) => {
    InNamespace(namespace: string): {Watch(handler: (object: Named, phase: string) => void): {start(): Promise<unknown>}};
  };
  readonly kind: {readonly ConfigMap: unknown};
}

/** It keeps no cache of its own for its users: one is kept by its events. */
const withFluent = async (file: string, module: string): Promise<() => Record<string, string>> => {
  process.env['KUBECONFIG'] = file;
  const {K8s, kind} = (await import(pathToFileURL(module).href)) as Fluent;
  const cache = new Map<string, Named>();
  const watcher = K8s(kind.ConfigMap)
    .InNamespace(namespace)
    .Watch((object, phase) => {
      if (phase === 'DELETED') return void cache.delete(object.metadata!.name!);
      cache.set(object.metadata!.name!, object);
      seen.push(stateOf(object));
    });
  await watcher.start();
  return () => versions(cache.values());
};

const run = async ({library, kubeconfig, module = ''}: Followed): Promise<void> => {
  process.on('uncaughtException', error => console.error(library, error.message));
  process.on('unhandledRejection', error => console.error(library, String(error)));
  const cache = await (library === 'plat'
    ? withPlat(kubeconfig)
    : library === 'client-node'
      ? withClientNode(kubeconfig)
      : withFluent(kubeconfig, module));
  process.on('message', () => {
    process.send!({...measure(), cache: cache(), seen} satisfies FollowerAnswer);
    seen = [];
  });
  process.once('disconnect', () => process.exit(0));
  process.send!('ready');
};

const [, , argument] = process.argv;
if (argument && process.send) await run(JSON.parse(argument) as Followed);
