// Connects the proxy's program to its API server, and waits for its Node.

import {InformerFactory} from '#informers/factory.js';
import {systemRandom as random} from '#src/base/random.js';
import type {Undo} from '#src/base/undo.js';
import {openConnection, type ServerConnection} from '#src/cli/program/connection.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {gateOf} from '#src/options/parsed-options.js';
import {binaryVersion} from '#src/options/versions.js';
import {addBuildMetrics} from '#src/plane/component/metrics.js';
import type {ModeName} from '#src/proxy/modes/prepare.js';
import {ProxyNode} from '#src/proxy/node/proxy-node.js';
import {Recorder, type EventRecorder} from '#src/runtime/events/events.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import type {ProxyInvocation} from './configuration.js';
import {nodeNameOf} from './machine.js';

/** What the parts of a proxy have in common. */
export interface Opened {
  readonly mode: ModeName;
  readonly nodeName: string;
  readonly connection: ServerConnection;
  readonly informers: InformerFactory;
  readonly node: ProxyNode;
  readonly metrics: MetricsRegistry;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

/** Connects to the API server, and waits for the Node. */
export const openNode = async (given: ProxyInvocation, mode: ModeName, undo: Undo): Promise<Opened> => {
  const {parsed, clock, log, unhandled, version, stopping} = given;
  const {settings, options} = parsed;
  const nodeName = nodeNameOf(settings);
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const {signal} = ending;
  const {showHiddenMetricsForVersion: hidden} = settings;
  const metrics = new MetricsRegistry({process: true, showsHidden: hidden !== '', release: binaryVersion});
  unhandled.countIn(metrics);
  const connection = await openConnection({
    program: 'plat-proxy',
    options,
    version,
    clock,
    meter: metrics,
    log,
    env: process.env,
    settings: await loadSettings({file: options.platconfig, master: options.master, env: process.env}),
    signal: stopping,
    gate: gateOf(parsed),
    host: nodeName,
  });
  undo.defer(() => connection[Symbol.asyncDispose]());
  const {naming} = connection;
  addBuildMetrics(metrics, parsed, naming);
  const component = naming.component('proxy');
  const informers = new InformerFactory({
    client: connection.client('shared-informers'),
    clock,
    random,
    log,
    meter: metrics,
    component,
    minResyncMs: settings.configSyncPeriod,
    signal,
  });
  const needsPodRanges = settings.detectLocalMode === 'NodeCIDR';
  const node = new ProxyNode({informers, nodeName, needsPodRanges, naming, clock, log, signal});
  informers.start();
  await node.open();
  const events = new Recorder({client: connection.client('events'), clock, random, log, component, host: nodeName, signal});
  return {mode, nodeName, connection, informers, node, metrics, events, signal};
};

/** What Events of the proxy are about. */
export const nodeReference = ({nodeName, connection: {naming}}: Pick<Opened, 'nodeName' | 'connection'>) => ({
  apiVersion: naming.apiVersion('', 'v1'),
  kind: 'Node',
  metadata: {name: nodeName},
});
