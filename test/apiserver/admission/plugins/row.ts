import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createPlugins, type PluginContext} from '#src/apiserver/admission-plugins.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {quotaSource} from '#src/apiserver/admission/resource-quota/quota-source.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {registryChange} from '#src/apiserver/registry/write/writer.js';
import type {AdmissionPlugin as PluginName} from '#src/options/apiserver/admission.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {ObjectMeta} from '#src/api/types.js';
import {startEnvironment} from '#test/resources/environment.js';
import {aPluginContext, aPod} from '#test/apiserver/admission/context.js';

/** Has all permissions, for authorizers that allow `root` alone. */
export const root: UserInfo = {name: 'root', groups: ['system:authenticated']};

/** What one plugin lets pass, and what it refuses or changes; in this order, on one server. */
export interface Row {
  /** The dependencies of the plugin that differ from the usual ones. */
  readonly own?: Partial<PluginContext> | ((registry: Registry, env: () => Env) => Partial<PluginContext>);
  /** Runs while the plugin is off. */
  setup?(env: Env): Promise<unknown>;
  /** A request that the plugin admits. It may return what the plugin must have left alone. */
  readonly admits?: readonly [act: (env: Env) => Promise<unknown>, result?: unknown];
  readonly refuses?: readonly [act: (env: Env) => Promise<unknown>, message: string];
  /** A request that the plugin changes, and what comes of it. */
  readonly changes?: readonly [act: (env: Env) => Promise<unknown>, result: unknown];
}

type Base = Awaited<ReturnType<typeof startEnvironment>>;

export interface Env extends Base {
  pod(spec?: Partial<PodSpec>, metadata?: ObjectMeta): Promise<Pod>;
}

/** A server with one plugin, which is off until `enable` is called. */
export const startRow = async (name: PluginName, own: Row['own'] = {}): Promise<{readonly env: Env; enable(): void}> => {
  let isOn = false;
  let started: Env | undefined;
  const clock = new VirtualClock();
  const base = await startEnvironment({
    clock,
    gate: () => true,
    admission: registry => {
      const reader = registryReader(registry);
      const context = aPluginContext({
        clock,
        reader,
        change: registryChange(registry),
        quotas: quotaSource(registry, new AbortController().signal),
        findNamespace: namespace => reader.get(kinds.namespaces, '', namespace),
        kindsOf: (_, wanted) => [...registry.served].map(({kind}) => kind).filter(({kind}) => kind === wanted),
        gate: gate => gate !== 'AllowInsecurePlatletCertificateSigningRequests',
        ...(typeof own === 'function' ? own(registry, () => started!) : own),
      });
      return createPlugins({enable: [], disable: [], exactly: [name]}, context).map((plugin): AdmissionPlugin => ({
        ...plugin,
        ...(plugin.admit ? {admit: attributes => (isOn ? plugin.admit!(attributes) : undefined)} : {}),
        ...(plugin.validate ? {validate: attributes => (isOn ? plugin.validate!(attributes) : undefined)} : {}),
      }));
    },
  });
  started = {...base, pod: (spec = {}, metadata = {}) => base.of(kinds.pods).create(aPod(spec, metadata))};
  return {env: started, enable: () => void (isOn = true)};
};
