// Creates the admission plugins of an API server from its flags, and reads the configuration file that
// `--admission-control-config-file` names. The plugins themselves are in src/apiserver/admission.

import {readFileSync} from 'node:fs';
import type {Naming} from '#src/api/naming.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import type {ImagePolicy} from '#src/apiserver/admission/pods/image-policy.js';
import {conditionsIn} from '#src/apiserver/admission/webhook/conditions.js';
import type {HookType} from '#src/apiserver/admission/webhook/metrics.js';
import {hookSource} from '#src/apiserver/admission/webhook/hook-source.js';
import {openReviewWebhook, type ReviewWebhookParts} from '#src/apiserver/backends/review-webhook.js';
import type {WebhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import {usersByHost, type WebhookUsers} from '#src/apiserver/backends/webhook-users.js';
import {readIdentities} from '#src/transport/kubeconfig/settings-file.js';
import type {WebhookAdmission} from '#src/apiserver/admission/configuration/webhook-admission.js';
import {readPluginTexts} from '#src/apiserver/admission/configuration/file.js';
import {configurablePlugins, readPluginSettings, type PluginSettings} from '#src/apiserver/admission/configuration/settings.js';
import {policySource} from '#src/apiserver/admission/policy/source.js';
import {quotaSource} from '#src/apiserver/admission/resource-quota/quota-source.js';
import {chosenPlugins, createPlugins, type PluginChoice} from '#src/apiserver/admission-plugins.js';
import {escalationCheck} from '#src/apiserver/authorization/escalation.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {registryChange} from '#src/apiserver/registry/write/writer.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {explained} from './authentication/authentication.js';
import type {Authorizers} from './authorization.js';

export interface AdmissionParts {
  readonly registry: Registry;
  readonly naming: Naming;
  readonly authorizers: Authorizers;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  /** The emulated minor version. */
  readonly minor: number;
  readonly meter: Meter;
  /** Ends the background work of plugins. */
  readonly signal: AbortSignal;
  /** The result of `readAdmission`. */
  readonly configuration: AdmissionConfiguration;
  /** Returns a caller of webhooks with the credentials of one of these users. */
  callerAs(users: WebhookUsers | undefined): WebhookCaller;
  /** A client with the server's own identity. */
  readonly client: Client;
  gate(name: string): boolean;
}

type Options = Pick<
  ApiserverOptions,
  | 'enableAdmissionPlugins'
  | 'disableAdmissionPlugins'
  | 'admissionControl'
  | 'admissionControlConfigFile'
  | 'defaultNotReadyTolerationSeconds'
  | 'defaultUnreachableTolerationSeconds'
>;

/**
 * Returns the plugins of a server in the order in which they run: the default and enabled ones, without disabled ones.
 */
export const admissionPlugins = (
  options: Options,
  {registry, naming, authorizers, log, client, gate, meter, signal, configuration, callerAs, ...parts}: AdmissionParts,
): AdmissionPlugin[] => {
  const {authorizer, rbac} = authorizers;
  const reader = registryReader(registry);
  const {settings, users, imageReviews} = configuration;
  const callerFor = (type: HookType): WebhookCaller => callerAs(users[type]);
  const plugins = createPlugins(choiceOf(options), {
    ...parts,
    naming,
    log,
    meter,
    imageReviews,
    authorizer,
    reader,
    change: registryChange(registry),
    gate,
    policies: {registry, meter, sourceOf: (policies, bindings) => policySource(registry, {policies, bindings}, signal)},
    webhooks: {
      registry,
      callerFor,
      log,
      meter,
      evaluateConditions: conditionsIn(naming, authorizer, parts.clock),
      sourceOf: kind => hookSource(registry, kind, signal),
    },
    quotas: quotaSource(registry, signal),
    findNamespace: name => reader.get(kinds.namespaces, '', name),
    createNamespace: name => client.resource(kinds.namespaces).create({metadata: {name}}),
    kindsOf: (apiVersion, kind) =>
      registry.served
        .map(served => served.kind)
        .filter(one => one.kind === kind && naming.apiVersion(one.group, one.version) === apiVersion),
    tolerationSeconds: {notReady: options.defaultNotReadyTolerationSeconds, unreachable: options.defaultUnreachableTolerationSeconds},
    ...settings,
  });
  return rbac ? [...plugins, escalationCheck({naming, rbac, authorizer})] : [...plugins];
};

const choiceOf = ({
  enableAdmissionPlugins: enable,
  disableAdmissionPlugins: disable,
  admissionControl: exactly,
}: Options): PluginChoice => ({
  enable,
  disable,
  exactly,
});

const flag = 'admission-control-config-file';

/** The content of the configuration file, the plugins it configures, and the credentials for webhooks. */
export interface AdmissionConfiguration {
  readonly settings: PluginSettings;
  /** The server that reviews images, if that plugin is on. */
  readonly imageReviews?: ImagePolicy;
  readonly users: Readonly<Partial<Record<HookType, WebhookUsers>>>;
}

/**
 * Reads the configuration file. Rejects with an error of one line that names the flag. Warns about configuration
 * without effect.
 */
export const readAdmission = async (
  options: Options,
  {naming, log, clock, random, signal}: ReviewWebhookParts & {readonly signal: AbortSignal},
): Promise<AdmissionConfiguration> => {
  const settings = settingsOf(options, naming, log);
  const usersOf = async (plugin: string, configuration: WebhookAdmission | undefined): Promise<WebhookUsers | undefined> =>
    configuration && usersByHost(await readIdentities(configuration.kubeConfigFile, {flag: `--${flag}: ${plugin}: kubeConfigFile`}), clock);
  const {mutatingWebhooks, validatingWebhooks, imagePolicy} = settings;
  const [admit, validating] = [
    await usersOf('MutatingAdmissionWebhook', mutatingWebhooks),
    await usersOf('ValidatingAdmissionWebhook', validatingWebhooks),
  ];
  const users = {...(admit ? {admit} : {}), ...(validating ? {validating} : {})};
  if (!imagePolicy || !chosenPlugins(choiceOf(options)).has('ImagePolicyWebhook')) return {settings, users};
  const {kubeConfigFile: file, retryBackoffMs: firstWaitMs, ...policy} = imagePolicy;
  const webhook = await openReviewWebhook(
    {file, flag: `--${flag}: ImagePolicyWebhook: kubeConfigFile`, timeoutMs: 30_000, firstWaitMs},
    {naming, clock, random, log},
  );
  signal.addEventListener('abort', () => void webhook[Symbol.asyncDispose]());
  return {settings, users, imageReviews: {...policy, webhook}};
};

const settingsOf = ({admissionControlConfigFile: path}: Options, naming: Naming, log: Log): PluginSettings => {
  if (!path) return {};
  return explained(flag, path, () => {
    const texts = readPluginTexts(path, naming, file => readFileSync(file, 'utf8'));
    for (const plugin of texts.keys()) {
      if (!configurablePlugins.has(plugin))
        log.warn({plugin}, `--${flag}: there is no such admission plugin, or it takes no configuration`);
    }
    return readPluginSettings(texts, naming);
  });
};
