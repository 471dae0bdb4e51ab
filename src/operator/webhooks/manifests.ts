import {apiVersionOf, kinds, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {pathOf, type AdmissionWebhook, type Webhook} from './admission.js';

/** The address of the webhooks for the API server: a Service, or a URL. */
export type WebhookAddress =
  | {readonly service: {readonly namespace: string; readonly name: string; readonly port?: number}}
  | {readonly url: string};

/** The options of webhook configurations. */
export type WebhookConfigurationOptions = WebhookAddress & {
  /** The name of the configurations. */
  readonly name: string;
  /** The webhooks; conversions are configured in the definition of their kind instead. */
  readonly handlers: readonly Webhook[];
  /** The failure policy if the webhooks do not respond. Default `Fail`. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  readonly timeoutSeconds?: number;
  /** The naming of the cluster. Default: that of Kubernetes. */
  readonly naming?: Naming;
};

/**
 * Returns webhook configurations to apply: a MutatingWebhookConfiguration for defaulting webhooks and a
 * ValidatingWebhookConfiguration for validating ones, if there are any. A manager with `configurations: [name]` keeps
 * their `caBundle` up to date.
 */
export const webhookConfigurations = (options: WebhookConfigurationOptions): KubeObject[] => {
  const {name, handlers, failurePolicy = 'Fail', timeoutSeconds = 10, naming = namingOf('kubernetes')} = options;
  const configured = (type: Webhook['type']) =>
    handlers
      .filter((each): each is AdmissionWebhook => each.type === type)
      .map(webhook => ({
        name: `${webhook.kind.plural}.${name}.${type}.${groupOf(webhook.kind, naming) || 'core'}`,
        clientConfig: clientConfigOf(options, pathOf(webhook, naming)),
        rules: [
          {
            operations: webhook.operations,
            apiGroups: [groupOf(webhook.kind, naming)],
            apiVersions: [webhook.kind.version],
            resources: [webhook.kind.plural],
          },
        ],
        failurePolicy,
        timeoutSeconds,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      }));
  const configuration = (kind: Kind, webhooks: readonly object[]) =>
    webhooks.length > 0 ? [{apiVersion: apiVersionOf(naming, kind), kind: kind.kind, metadata: {name}, webhooks}] : [];
  return [
    ...configuration(kinds.mutatingWebhookConfigurations as Kind, configured('defaulting')),
    ...configuration(kinds.validatingWebhookConfigurations as Kind, configured('validating')),
  ];
};

const groupOf = (kind: Kind, naming: Naming): string => {
  const apiVersion = apiVersionOf(naming, kind);
  return apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/')));
};

const clientConfigOf = (address: WebhookAddress, path: string) =>
  'url' in address ? {url: `${address.url.replace(/\/$/, '')}${path}`} : {service: {port: 443, ...address.service, path}};
