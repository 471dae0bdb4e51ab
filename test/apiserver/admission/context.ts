import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {ObjectMeta} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {quotaSource} from '#src/apiserver/admission/resource-quota/quota-source.js';
import {createPlugins, type PluginContext} from '#src/apiserver/admission-plugins.js';
import {conditionsIn} from '#src/apiserver/admission/webhook/conditions.js';
import {registryChange} from '#src/apiserver/registry/write/writer.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {AdmissionPlugin as AdmissionPluginName} from '#src/options/apiserver/admission.js';
import type {ServerOptions} from '#test/fixtures/server.js';
import {refusal, startEnvironment} from '#test/resources/environment.js';

/** The context of webhook plugins without webhooks. */
export const noWebhooks: PluginContext['webhooks'] = {
  registry: {find: () => undefined, served: []},
  callerFor: () => ({call: () => Promise.reject(new Error('no call expected')), close() {}}),
  log: noLog,
  meter: noMeter,
  evaluateConditions: conditionsIn(
    naming('plat'),
    {authorize: ({user: {name}, verb}) => Promise.resolve({decision: name === 'jane' && verb === 'bypass' ? 'allow' : 'noOpinion'})},
    new VirtualClock(),
  ),
  sourceOf: () => ({none: true, current: () => []}),
};

/** A plugin context in which no object exists and everything is allowed. */
export const aPluginContext = (own: Partial<PluginContext> = {}): PluginContext => ({
  naming: naming('plat'),
  authorizer: {authorize: () => ({decision: 'allow'})},
  findNamespace: () => undefined,
  reader: {get: () => undefined, list: () => Promise.resolve([])},
  clock: new VirtualClock(),
  random: seededRandom(1),
  log: noLog,
  webhooks: noWebhooks,
  quotas: {none: true, current: () => new Map()},
  policies: {registry: noWebhooks.registry, meter: noMeter, sourceOf: () => ({none: true, current: () => []})},
  change: () => Promise.reject(new Error('nothing is there to be changed')),
  createNamespace: () => Promise.resolve(),
  kindsOf: () => [],
  minor: 35,
  tolerationSeconds: {notReady: 300, unreachable: 300},
  gate: () => false,
  ...own,
});

/**
 * A server with the namespace `default` and one admission plugin, made as the server makes it; `before` runs before it.
 */
export const startWith = async (
  plugin: AdmissionPluginName,
  own: Partial<PluginContext> = {},
  server: ServerOptions = {},
  before: readonly AdmissionPlugin[] = [],
) => {
  const env = await startEnvironment({
    clock: new VirtualClock(),
    ...server,
    admission: registry => {
      const reader = registryReader(registry);
      const context = aPluginContext({
        reader,
        change: registryChange(registry),
        quotas: quotaSource(registry, new AbortController().signal),
        findNamespace: name => reader.get(kinds.namespaces, '', name),
        kindsOf: (_, wanted) => [...registry.served].map(({kind}) => kind).filter(({kind}) => kind === wanted),
        gate: () => true,
        ...own,
      });
      return [...before, ...createPlugins({enable: [], disable: [], exactly: [plugin]}, context)];
    },
  });
  const pods = env.of(kinds.pods);
  return {...env, pod: (spec: Partial<PodSpec> = {}, metadata: ObjectMeta = {}) => pods.create(aPod(spec, metadata))};
};

export const namespace = 'default';

/** A pod with one container. */
export const aPod = (spec: Partial<PodSpec> = {}, metadata: ObjectMeta = {}): Pod => ({
  metadata: {name: 'p', namespace, ...metadata},
  spec: {containers: [{name: 'c', image: 'i'}], ...spec},
});

/** Why a pod is forbidden. */
export const why = async (act: Promise<unknown>): Promise<string> =>
  (await refusal(act)).message?.replace('pods "p" is forbidden: ', '') ?? '';
