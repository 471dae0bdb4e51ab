import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createPlugins, type PluginContext} from '#src/apiserver/admission-plugins.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {hookSource} from '#src/apiserver/admission/webhook/hook-source.js';
import {webhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {encodeRecord, recordObject} from '#src/apiserver/registry/record.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {seededRandom} from '#src/base/random.js';
import type {ServerOptions} from '#test/fixtures/server.js';
import {jane, startEnvironment} from '#test/resources/environment.js';
import {json, startWebhook, type TestWebhook, type WebhookOptions} from '#test/apiserver/webhook-server.js';
import {aPluginContext, noWebhooks} from './context.js';

export type MutatingHook = NonNullable<ObjectOf<typeof kinds.mutatingWebhookConfigurations>['webhooks']>[number];

/** The request of an admission review, as far as tests read it. */
export interface WebhookRequest {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly object: {
    readonly metadata?: {readonly labels?: Readonly<Record<string, string>>};
    readonly data?: Readonly<Record<string, string>>;
    readonly kind?: string;
    readonly apiVersion?: string;
  } | null;
  readonly [field: string]: unknown;
}

/** Returns the response of a review; the uid and other required fields are added. */
export type Answering = (request: WebhookRequest) => object;

export interface HookServer extends AsyncDisposable {
  readonly webhook: TestWebhook;
  readonly requested: WebhookRequest[];
  answer: Answering;
}

/** A webhook server that answers reviews, and allows everything by default. */
export const aHookServer = async (answer: Answering = () => ({allowed: true}), options: WebhookOptions = {}): Promise<HookServer> => {
  const requested: WebhookRequest[] = [];
  const server: {answer: Answering} = {answer};
  const webhook = await startWebhook(({body}, response) => {
    const {kind, apiVersion, request} = JSON.parse(body) as {kind: string; apiVersion: string; request: WebhookRequest};
    requested.push(request);
    json(response, {kind, apiVersion, response: {uid: request.uid, ...server.answer(request)}});
  }, options);
  return Object.assign(server, {webhook, requested, [Symbol.asyncDispose]: () => webhook.close()});
};

/** A patch as webhooks answer it, of operations that are values or texts. */
export const patching = (...operations: readonly (object | string)[]) => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(`[${operations.map(one => (typeof one === 'string' ? one : JSON.stringify(one))).join(',')}]`).toString('base64'),
});

/** A webhook of a configuration, by default for the creation of config maps. */
export const aHook = ({webhook}: Pick<HookServer, 'webhook'>, own: Partial<MutatingHook> = {}): MutatingHook => ({
  name: 'hook.example.com',
  clientConfig: {url: webhook.url, caBundle: webhook.caBundle},
  rules: [{operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...own,
});

/** A server that calls webhooks, and records their annotations, warnings and metrics. */
export const startWebhookEnvironment = async (
  own: Partial<PluginContext> = {},
  options: ServerOptions & {readonly before?: readonly AdmissionPlugin[]} = {},
) => {
  const clock = new VirtualClock();
  const metrics = new MetricsRegistry();
  const caller = webhookCaller({clock, resolve: () => Promise.reject(new Error('service "svc" not found')), userAgent: 'tester'});
  const plugins: AdmissionPlugin[] = [];
  const {before = [], ...server} = options;
  const env = await startEnvironment({
    ...server,
    clock,
    admission(registry: Registry) {
      const reader = registryReader(registry);
      const context = aPluginContext({
        reader,
        clock,
        random: seededRandom(7),
        findNamespace: name => reader.get(kinds.namespaces, '', name),
        webhooks: {
          ...noWebhooks,
          registry,
          log: noLog,
          meter: metrics,
          callerFor: () => caller,
          sourceOf: kind => hookSource(registry, kind, new AbortController().signal),
        },
        ...own,
      });
      plugins.push(
        ...before,
        ...createPlugins({enable: [], disable: [], exactly: ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook']}, context),
      );
      return plugins;
    },
  });
  const put = async <T extends object>(kind: Kind, name: string, webhooks: readonly T[]) => {
    await env.of(kind).create({metadata: {name}, webhooks} as never);
  };
  return {
    ...env,
    plugins,
    jane,
    metrics,
    /** Puts webhooks that may change objects into force. */
    mutating: (name: string, ...webhooks: readonly MutatingHook[]) => put(kinds.mutatingWebhookConfigurations as Kind, name, webhooks),
    /** Puts webhooks that may refuse objects into force. */
    validating: (name: string, ...webhooks: readonly MutatingHook[]) => put(kinds.validatingWebhookConfigurations as Kind, name, webhooks),
    /** Changes a configuration in the store: an earlier release may have accepted fields that are refused now. */
    async rewriteValidating(name: string, change: (hook: MutatingHook) => void) {
      const resource = env.server.registry.of(kinds.validatingWebhookConfigurations as Kind);
      const key = resource.key('', name);
      const {value, revision} = (await env.store.get(key))!;
      const {webhooks, ...object} = recordObject<KubeObject & {webhooks: MutatingHook[]}>(value, revision);
      webhooks.forEach(change);
      delete object.metadata!.resourceVersion;
      await env.store.update(key, encodeRecord({...object, webhooks} as KubeObject), revision);
    },
    /** The lines of a metric. */
    async metricLines(name: string): Promise<string[]> {
      const {body} = await metrics.exposition();
      return body.split('\n').filter(line => line.startsWith(name) && !line.startsWith('#'));
    },
    [Symbol.dispose]: () => caller.close(),
  };
};
