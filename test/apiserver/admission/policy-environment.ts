import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {Authorizer} from '#src/api/authorization.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createPlugins, type PluginContext} from '#src/apiserver/admission-plugins.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {policySource} from '#src/apiserver/admission/policy/source.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {ServerOptions} from '#test/fixtures/server.js';
import {startEnvironment} from '#test/resources/environment.js';
import {aPluginContext} from './context.js';

export type ValidatingSpec = NonNullable<ObjectOf<typeof kinds.validatingAdmissionPolicies>['spec']>;
export type MutatingSpec = NonNullable<ObjectOf<typeof kinds.mutatingAdmissionPolicies>['spec']>;
type ValidatingBindingSpec = NonNullable<ObjectOf<typeof kinds.validatingAdmissionPolicyBindings>['spec']>;
type MutatingBindingSpec = NonNullable<ObjectOf<typeof kinds.mutatingAdmissionPolicyBindings>['spec']>;

/** Matches the config maps that are made and changed. */
export const configMaps: NonNullable<ValidatingSpec['matchConstraints']> = {
  resourceRules: [{operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
};

/** Records audit annotations and warnings. */
const listening = (noted: Map<string, string>, warnings: string[]): AdmissionPlugin => ({
  name: 'Listening',
  validate(attributes) {
    Object.assign(attributes, {annotate: (key: string, text: string) => noted.set(key, text), warn: (text: string) => warnings.push(text)});
  },
});

/** The plugins of both kinds of policies over a registry, as a server has them. */
export const policyPlugins = (
  registry: Registry,
  own: Partial<PluginContext> & {readonly clock: VirtualClock; readonly metrics: MetricsRegistry},
): readonly AdmissionPlugin[] => {
  const {metrics, ...more} = own;
  const reader = registryReader(registry);
  const context = aPluginContext({
    reader,
    random: seededRandom(7),
    findNamespace: name => reader.get(kinds.namespaces, '', name),
    policies: {
      registry,
      meter: metrics,
      sourceOf: (policies, bindings) => policySource(registry, {policies, bindings}, new AbortController().signal),
    },
    gate: () => true,
    ...more,
  });
  return createPlugins({enable: [], disable: [], exactly: ['MutatingAdmissionPolicy', 'ValidatingAdmissionPolicy']}, context);
};

/** A server with policies in force, which records their annotations, warnings and metrics. */
export const startPolicyEnvironment = async (
  own: {readonly authorizer?: Authorizer; readonly after?: readonly AdmissionPlugin[]} & ServerOptions = {},
) => {
  const {authorizer, after = [], ...server} = own;
  const clock = new VirtualClock();
  const metrics = new MetricsRegistry();
  const noted = new Map<string, string>();
  const warnings: string[] = [];
  const env = await startEnvironment({
    ...server,
    clock,
    admission: registry => [
      listening(noted, warnings),
      ...policyPlugins(registry, {clock, metrics, ...(authorizer && {authorizer})}),
      ...after,
    ],
  });
  const admin = {name: 'admin', groups: ['system:masters']};
  const make = async (kind: Kind, name: string, spec: object) => {
    await env.of(kind, admin).create({metadata: {name}, spec} as never);
  };
  const mutations = (list: readonly string[], patchType: 'ApplyConfiguration' | 'JSONPatch') =>
    list.map(expression =>
      patchType === 'JSONPatch' ? {patchType, jsonPatch: {expression}} : {patchType, applyConfiguration: {expression}},
    );
  const bind = (name: string, spec: Partial<ValidatingBindingSpec> = {}) =>
    make(kinds.validatingAdmissionPolicyBindings as Kind, name, {policyName: 'p', validationActions: ['Deny'], ...spec});
  const bindMutating = (name: string, spec: Partial<MutatingBindingSpec> = {}) =>
    make(kinds.mutatingAdmissionPolicyBindings as Kind, name, {policyName: 'p', ...spec});
  return {
    ...env,
    admin,
    noted,
    warnings,
    metrics,
    make,
    /** Creates a validating policy for config maps, with a binding `b` by default. */
    async validating(spec: Partial<ValidatingSpec>, binding: Partial<ValidatingBindingSpec> | null = {}, name = 'p') {
      await make(kinds.validatingAdmissionPolicies as Kind, name, {matchConstraints: configMaps, ...spec});
      if (binding) await bind('b', {policyName: name, ...binding});
    },
    bind,
    bindMutating,
    /** Creates a mutating policy for config maps, with a binding `b` by default. */
    async mutating(
      expressions: readonly string[],
      {
        patchType = 'ApplyConfiguration',
        ...spec
      }: Omit<Partial<MutatingSpec>, 'mutations'> & {readonly patchType?: 'ApplyConfiguration' | 'JSONPatch'} = {},
      binding: Partial<MutatingBindingSpec> | null = {},
      name = 'p',
    ) {
      await make(kinds.mutatingAdmissionPolicies as Kind, name, {
        matchConstraints: configMaps,
        reinvocationPolicy: 'Never',
        mutations: mutations(expressions, patchType),
        ...spec,
      });
      if (binding) await bindMutating('b', {policyName: name, ...binding});
    },
    /** Makes a config map. */
    configMap: (name: string, data: Record<string, string> = {}, metadata: object = {}) =>
      env.of(kinds.configMaps).create({metadata: {name, namespace: 'default', ...metadata}, data}),
    /** The lines of a metric. */
    async metricLines(name: string): Promise<string[]> {
      const {body} = await metrics.exposition();
      return body.split('\n').filter(line => line.startsWith(name) && !line.startsWith('#'));
    },
  };
};
